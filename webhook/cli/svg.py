"""Pictures as SVG: the shapes that commands draw, and the document made of them.

There is no library behind it: commands draw boxes, lines and short texts only. A plotting library
would be the largest part of the image.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias
from xml.sax.saxutils import escape

Anchor: TypeAlias = Literal["start", "middle", "end"]

BLACK: Final = "#000000"
PALETTE: Final = ("#1b7837", "#762a83", "#b35806", "#2166ac", "#b2182b", "#4d4d4d")
"""Colours of series, taken in turn."""


class Box(NamedTuple):
    """A filled rectangle; viewers show its tooltip on hover."""

    x: float
    y: float
    width: float
    height: float
    color: str
    radius: int = 0
    opacity: float = 1.0
    tooltip: str = ""


class Polyline(NamedTuple):
    """Straight lines from point to point."""

    points: Sequence[tuple[float, float]]
    color: str


class Label(NamedTuple):
    """A line of text on its baseline; the anchor is the end of the text that is at `x`."""

    x: float
    y: float
    text: str
    anchor: Anchor = "start"
    is_bold: bool = False
    color: str = BLACK


Shape: TypeAlias = Box | Polyline | Label


@dataclass(frozen=True, slots=True)
class Picture:
    """Shapes on a white background; later shapes cover earlier ones. Colours are #rrggbb."""

    width: int
    height: int
    shapes: Sequence[Shape]


def write(picture: Picture) -> str:
    """Return the picture as an SVG document."""
    width, height = picture.width, picture.height
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *map(_element, picture.shapes),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _element(shape: Shape) -> str:
    match shape:
        case Box():
            return _box(shape)
        case Polyline(points, color):
            listed = " ".join(f"{x},{y}" for x, y in points)
            return f'<polyline points="{listed}" fill="none" stroke="{color}"/>'
        case Label(x, y, text, anchor, is_bold, color):
            more = "" if anchor == "start" else f' text-anchor="{anchor}"'
            more += ' font-weight="bold"' if is_bold else ""
            more += "" if color == BLACK else f' fill="{color}"'
            return f'<text x="{x}" y="{y}"{more}>{escape(text)}</text>'


def _box(box: Box) -> str:
    start = f'<rect x="{box.x}" y="{box.y}" width="{box.width}" height="{box.height}"'
    start += f' rx="{box.radius}"' if box.radius else ""
    start += f' fill="{box.color}"'
    start += f' fill-opacity="{box.opacity}"' if box.opacity < 1 else ""
    return f"{start}><title>{escape(box.tooltip)}</title></rect>" if box.tooltip else f"{start}/>"
