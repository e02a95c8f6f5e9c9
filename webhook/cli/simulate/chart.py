"""Line charts: values over time, one chart below the other."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from webhook.cli.svg import PALETTE, Anchor, Box, Label, Picture, Polyline, Shape

WIDTH: Final = 900
HEIGHT: Final = 180
_LEFT: Final = 60
_RIGHT: Final = 20
_TOP: Final = 30
_BOTTOM: Final = 25
_GRID: Final = "#dddddd"
_TICKS: Final[Sequence[tuple[float, Anchor]]] = (
    *((0.0, "start"), (0.25, "middle"), (0.5, "middle"), (0.75, "middle"), (1.0, "end")),
)
_MAX_POINTS: Final = 1500


class DataSeries(NamedTuple):
    """A named series of points over time."""

    name: str
    points: Sequence[tuple[float, float]]


class Chart(NamedTuple):
    """One chart: a title and the series drawn in it."""

    title: str
    series: Sequence[DataSeries]


def draw(charts: Sequence[Chart], unit: str = "day") -> Picture:
    """Draw all charts with one legend; `unit` is the unit of the time axis."""
    height = HEIGHT * len(charts) + 30
    shapes: list[Shape] = []
    for number, chart in enumerate(charts):
        shapes += _chart(chart, number * HEIGHT, unit)
    shapes += _legend(charts[0].series if charts else (), height - 12)
    return Picture(WIDTH, height, shapes)


def _chart(chart: Chart, top: int, unit: str) -> Iterator[Shape]:
    points = [point for each in chart.series for point in each.points]
    last = max((day for day, _ in points), default=1.0) or 1.0
    most = _round_up(max((value for _, value in points), default=1.0))
    plot_height = HEIGHT - _TOP - _BOTTOM
    width = WIDTH - _LEFT - _RIGHT

    def across(day: float) -> float:
        return round(_LEFT + day / last * width, 1)

    def down(value: float) -> float:
        return round(top + _TOP + plot_height - value / most * plot_height, 1)

    yield Label(_LEFT, top + 18, chart.title, is_bold=True)
    for share in (0.0, 0.5, 1.0):
        y = down(most * share)
        yield Box(_LEFT, y, width, 1, _GRID)
        yield Label(_LEFT - 6, y + 4, f"{most * share:g}", "end")
    for share, anchor in _TICKS:
        label = f"{unit} {last * share:g}"
        yield Label(across(last * share), top + HEIGHT - 8, label, anchor)
    for number, each in enumerate(chart.series):
        shown = [(across(day), down(value)) for day, value in _thin(each.points)]
        yield Polyline(shown, PALETTE[number % len(PALETTE)])


def _legend(series: Sequence[DataSeries], y: int) -> Iterator[Shape]:
    for number, each in enumerate(series):
        x, color = _LEFT + number * 150, PALETTE[number % len(PALETTE)]
        yield Box(x, y - 9, 10, 10, color)
        yield Label(x + 15, y, each.name)


def _thin(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """Keep no more points than a screen can show: the highest one of each stretch."""
    size = max(1, -(-len(points) // _MAX_POINTS))
    return [
        max(points[start : start + size], key=lambda point: point[1])
        for start in range(0, len(points), size)
    ]


def _round_up(value: float) -> float:
    """Return the next 1, 2, 5 or 10 times a power of ten that is not smaller."""
    if value <= 0:
        return 1.0
    scale = 10 ** (len(str(int(value))) - 1)
    return float(next(step * scale for step in (1, 2, 5, 10) if step * scale >= value))
