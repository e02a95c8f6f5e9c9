"""Write a picture as PNG: one byte a pixel, twice as fine as its coordinates."""

import itertools
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

from webhook.cli.pictures import font
from webhook.cli.pictures.shapes import Anchor, Box, Curve, Picture, Shape, Text

SCALE: Final = 2
_WHITE: Final = "#ffffff"
_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"


def write(picture: Picture) -> bytes:
    """Give the picture as a file."""
    palette = [_WHITE, *dict.fromkeys(shape.color for shape in picture.shapes)]
    canvas = _Canvas(picture.width * SCALE, picture.height * SCALE)
    for shape in picture.shapes:
        _draw(canvas, shape, palette.index(shape.color, 1))
    header = struct.pack(">IIBBBBB", canvas.width, canvas.height, 8, 3, 0, 0, 0)
    colors = b"".join(bytes.fromhex(color.removeprefix("#")) for color in palette)
    chunks = ((b"IHDR", header), (b"PLTE", colors), (b"IDAT", canvas.packed()), (b"IEND", b""))
    return _SIGNATURE + b"".join(_chunk(name, data) for name, data in chunks)


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


class _Canvas:
    """Rows of pixels, each the number of a colour."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._rows = [bytearray(width) for _ in range(height)]

    def fill(self, x: int, y: int, width: int, height: int, color: int) -> None:
        """Fill a rectangle as far as it is on the canvas."""
        left, right = max(0, x), min(self.width, x + width)
        for row in self._rows[max(0, y) : max(0, y + height)]:
            row[left:right] = bytes([color]) * max(0, right - left)

    def packed(self) -> bytes:
        """Give all rows, each after a zero that says that it is not filtered."""
        return zlib.compress(b"".join(b"\0" + row for row in self._rows), 9)


def _draw(canvas: _Canvas, shape: Shape, color: int) -> None:
    match shape:
        case Box(x, y, width, height, _):
            left, top, wide, high = (round(each * SCALE) for each in (x, y, width, height))
            canvas.fill(left, top, wide, high, color)
        case Curve(points, _):
            for x, y in _dots([(round(x * SCALE), round(y * SCALE)) for x, y in points]):
                canvas.fill(x, y, SCALE, SCALE, color)
        case Text(x, y, text, anchor, is_bold, _):
            at = (round(_start(x, text, anchor) * SCALE), round(y * SCALE))
            _print(canvas, text, at, color, is_bold=is_bold)


def _dots(points: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Walk along the lines pixel by pixel."""
    yield from points[:1]
    for (x, y), (onward, down) in itertools.pairwise(points):
        steps = max(abs(onward - x), abs(down - y))
        for step in range(1, steps + 1):
            yield x + round((onward - x) * step / steps), y + round((down - y) * step / steps)


def _start(x: float, text: str, anchor: Anchor) -> float:
    width = len(text) * font.ADVANCE
    return x - {"start": 0.0, "middle": width / 2, "end": float(width)}[anchor]


def _print(canvas: _Canvas, text: str, at: tuple[int, int], color: int, *, is_bold: bool) -> None:
    left, baseline = at
    for place, letter in enumerate(text):
        for column, row in font.dots(letter):
            x = left + (place * font.ADVANCE + column) * SCALE
            y = baseline + (row - font.HEIGHT) * SCALE
            canvas.fill(x, y, SCALE + is_bold, SCALE, color)
