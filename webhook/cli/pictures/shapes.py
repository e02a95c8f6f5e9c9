"""What a picture consists of; the first shape is the lowest."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

Anchor: TypeAlias = Literal["start", "middle", "end"]

BLACK = "#000000"


class Box(NamedTuple):
    """A filled rectangle."""

    x: float
    y: float
    width: float
    height: float
    color: str


class Curve(NamedTuple):
    """Straight lines from point to point."""

    points: Sequence[tuple[float, float]]
    color: str


class Text(NamedTuple):
    """A line of text on its baseline; the anchor says which of its ends is at `x`."""

    x: float
    y: float
    text: str
    anchor: Anchor = "start"
    is_bold: bool = False
    color: str = BLACK


Shape: TypeAlias = Box | Curve | Text


@dataclass(frozen=True, slots=True)
class Picture:
    """Shapes on a white ground; colours are written as #rrggbb."""

    width: int
    height: int
    shapes: Sequence[Shape]
