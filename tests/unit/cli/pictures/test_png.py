"""PNG files, read back as any viewer would."""

import struct
import zlib
from typing import NamedTuple

import pytest

from webhook.cli.pictures import font, png
from webhook.cli.pictures.shapes import Anchor, Box, Curve, Picture, Shape, Text

RED, BLUE = "#ff0000", "#0000ff"


class Image(NamedTuple):
    width: int
    height: int
    colors: list[list[str]]

    def at(self, color: str) -> set[tuple[int, int]]:
        """Find the pixels of a colour as column and row."""
        return {
            (x, y)
            for y, row in enumerate(self.colors)
            for x, found in enumerate(row)
            if found == color
        }


def read(written: bytes) -> Image:
    assert written[:8] == b"\x89PNG\r\n\x1a\n"
    chunks: dict[bytes, bytes] = {}
    place = 8
    while place < len(written):
        (length,) = struct.unpack_from(">I", written, place)
        name, data = written[place + 4 : place + 8], written[place + 8 : place + 8 + length]
        (checked,) = struct.unpack_from(">I", written, place + 8 + length)
        assert checked == zlib.crc32(name + data), name
        chunks[name] = data
        place += length + 12
    assert [*chunks] == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    width, height, depth, kind, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert (depth, kind, rest) == (8, 3, [0, 0, 0])
    palette = [f"#{chunks[b'PLTE'][at : at + 3].hex()}" for at in range(0, len(chunks[b"PLTE"]), 3)]
    raw = zlib.decompress(chunks[b"IDAT"])
    assert len(raw) == height * (width + 1)
    rows = [raw[at : at + width + 1] for at in range(0, len(raw), width + 1)]
    assert all(row[0] == 0 for row in rows)
    return Image(width, height, [[palette[number] for number in row[1:]] for row in rows])


def draw(*shapes: Shape) -> Image:
    return read(png.write(Picture(20, 10, shapes)))


def test_a_picture_without_shapes_is_white() -> None:
    image = draw()
    assert (image.width, image.height) == (40, 20)
    assert image.at("#ffffff") == {(x, y) for x in range(40) for y in range(20)}


def test_a_box_covers_what_is_below_it_and_ends_at_the_edge() -> None:
    image = draw(Box(0, 0, 20, 10, RED), Box(18, -5, 10, 8, BLUE))
    assert image.at(BLUE) == {(x, y) for x in range(36, 40) for y in range(6)}
    assert image.at(RED) == {(x, y) for x in range(40) for y in range(20)} - image.at(BLUE)


def test_a_curve_has_no_gaps() -> None:
    image = draw(Curve([(1, 1), (15, 4), (15, 8)], RED))
    drawn = image.at(RED)
    assert {x for x, _ in drawn} == {*range(2, 32)}
    assert {y for x, y in drawn if x == 30} >= {*range(8, 18)}


def test_a_curve_of_one_point_is_a_dot() -> None:
    assert draw(Curve([(1, 1)], RED)).at(RED) == {(2, 2), (3, 2), (2, 3), (3, 3)}


@pytest.mark.parametrize(
    ("anchor", "first", "last"),
    [
        pytest.param("start", 20, 29, id="it starts there"),
        pytest.param("middle", 14, 23, id="it is around there"),
        pytest.param("end", 8, 17, id="it ends there"),
    ],
)
def test_a_text_stands_on_its_line_at_its_anchor(anchor: Anchor, first: int, last: int) -> None:
    drawn = draw(Text(10, 9, "L", anchor, color=RED)).at(RED)
    assert (min(x for x, _ in drawn), max(x for x, _ in drawn)) == (first, last)
    assert (min(y for _, y in drawn), max(y for _, y in drawn)) == (4, 17)


def test_bold_letters_are_wider() -> None:
    plain, bold = (draw(Text(1, 9, "I", is_bold=each, color=RED)) for each in (False, True))
    assert plain.at(RED) < bold.at(RED)


def test_every_letter_of_ascii_has_a_shape_of_its_own() -> None:
    shapes = [frozenset(font.dots(chr(code))) for code in range(0x20, 0x7F)]
    assert len({*shapes}) == len(shapes)
    assert shapes[0] == frozenset()


def test_a_letter_without_a_shape_is_a_question_mark() -> None:
    assert [*font.dots("ß")] == [*font.dots("\n")] == [*font.dots("?")]
