"""Draw lines over time."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from webhook.cli.pictures.shapes import Anchor, Box, Curve, Picture, Shape, Text

WIDTH: Final = 900
HEIGHT: Final = 180
_LEFT: Final = 60
_RIGHT: Final = 20
_TOP: Final = 30
_BOTTOM: Final = 25
_COLORS: Final = ("#1b7837", "#762a83", "#b35806", "#2166ac", "#b2182b", "#4d4d4d")
_GRID: Final = "#dddddd"
_MARKS: Final[Sequence[tuple[float, Anchor]]] = (
    *((0.0, "start"), (0.25, "middle"), (0.5, "middle"), (0.75, "middle"), (1.0, "end")),
)
_MOST_POINTS: Final = 1500


class Line(NamedTuple):
    """A named series of points over time."""

    name: str
    points: Sequence[tuple[float, float]]


class Panel(NamedTuple):
    """One diagram."""

    title: str
    lines: Sequence[Line]


def draw(panels: Sequence[Panel], unit: str = "day") -> Picture:
    """Draw panels below each other, with one legend; `unit` is what the points are counted in."""
    height = HEIGHT * len(panels) + 30
    shapes: list[Shape] = []
    for place, panel in enumerate(panels):
        shapes += _panel(panel, place * HEIGHT, unit)
    shapes += _legend(panels[0].lines if panels else (), height - 12)
    return Picture(WIDTH, height, shapes)


def _panel(panel: Panel, top: int, unit: str) -> Iterator[Shape]:
    points = [point for line in panel.lines for point in line.points]
    last = max((day for day, _ in points), default=1.0) or 1.0
    most = _round_up(max((value for _, value in points), default=1.0))
    inner = HEIGHT - _TOP - _BOTTOM
    wide = WIDTH - _LEFT - _RIGHT

    def across(day: float) -> float:
        return round(_LEFT + day / last * wide, 1)

    def down(value: float) -> float:
        return round(top + _TOP + inner - value / most * inner, 1)

    yield Text(_LEFT, top + 18, panel.title, is_bold=True)
    for share in (0.0, 0.5, 1.0):
        y = down(most * share)
        yield Box(_LEFT, y, wide, 1, _GRID)
        yield Text(_LEFT - 6, y + 4, f"{most * share:g}", "end")
    for share, anchor in _MARKS:
        label = f"{unit} {last * share:g}"
        yield Text(across(last * share), top + HEIGHT - 8, label, anchor)
    for number, line in enumerate(panel.lines):
        drawn = [(across(day), down(value)) for day, value in _thin(line.points)]
        yield Curve(drawn, _COLORS[number % len(_COLORS)])


def _legend(lines: Sequence[Line], y: int) -> Iterator[Shape]:
    for number, line in enumerate(lines):
        x, color = _LEFT + number * 150, _COLORS[number % len(_COLORS)]
        yield Box(x, y - 9, 10, 10, color)
        yield Text(x + 15, y, line.name)


def _thin(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """Keep no more points than a screen can show; of each stretch the highest."""
    size = max(1, -(-len(points) // _MOST_POINTS))
    return [
        max(points[start : start + size], key=lambda point: point[1])
        for start in range(0, len(points), size)
    ]


def _round_up(value: float) -> float:
    """Find a friendly number that is not smaller."""
    if value <= 0:
        return 1.0
    scale = 10 ** (len(str(int(value))) - 1)
    return float(next(step * scale for step in (1, 2, 5, 10) if step * scale >= value))
