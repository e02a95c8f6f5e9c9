"""Draw lines over time as SVG, without any library."""

from collections.abc import Sequence
from typing import Final, NamedTuple
from xml.sax.saxutils import escape

WIDTH: Final = 900
HEIGHT: Final = 180
_LEFT: Final = 60
_RIGHT: Final = 20
_TOP: Final = 30
_BOTTOM: Final = 25
_COLORS: Final = ("#1b7837", "#762a83", "#b35806", "#2166ac", "#b2182b", "#4d4d4d")
_MOST_POINTS: Final = 1500


class Line(NamedTuple):
    """A named series of points over time."""

    name: str
    points: Sequence[tuple[float, float]]


class Panel(NamedTuple):
    """One diagram."""

    title: str
    lines: Sequence[Line]


def draw(panels: Sequence[Panel], unit: str = "day") -> str:
    """Draw panels below each other, with one legend; `unit` is what the points are counted in."""
    height = HEIGHT * len(panels) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    for place, panel in enumerate(panels):
        parts += _panel(panel, place * HEIGHT, unit)
    parts += _legend(panels[0].lines if panels else (), height - 12)
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _panel(panel: Panel, top: int, unit: str) -> list[str]:
    points = [point for line in panel.lines for point in line.points]
    last = max((day for day, _ in points), default=1.0) or 1.0
    most = _round_up(max((value for _, value in points), default=1.0))
    inner = HEIGHT - _TOP - _BOTTOM
    wide = WIDTH - _LEFT - _RIGHT

    def across(day: float) -> float:
        return round(_LEFT + day / last * wide, 1)

    def down(value: float) -> float:
        return round(top + _TOP + inner - value / most * inner, 1)

    parts = [f'<text x="{_LEFT}" y="{top + 18}" font-weight="bold">{escape(panel.title)}</text>']
    for share in (0.0, 0.5, 1.0):
        y = down(most * share)
        label = f"{most * share:g}"
        parts.append(f'<path d="M{_LEFT} {y}H{WIDTH - _RIGHT}" stroke="#ddd" fill="none"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{label}</text>')
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = across(last * share), top + HEIGHT - 8
        label = f"{unit} {last * share:g}"
        parts.append(f'<text x="{x}" y="{y}" text-anchor="middle">{label}</text>')
    for number, line in enumerate(panel.lines):
        drawn = " ".join(f"{across(day)},{down(value)}" for day, value in _thin(line.points))
        color = _COLORS[number % len(_COLORS)]
        parts.append(f'<polyline points="{drawn}" fill="none" stroke="{color}"/>')
    return parts


def _legend(lines: Sequence[Line], y: int) -> list[str]:
    parts = []
    for number, line in enumerate(lines):
        x, color = _LEFT + number * 150, _COLORS[number % len(_COLORS)]
        parts.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{color}"/>')
        parts.append(f'<text x="{x + 15}" y="{y}">{escape(line.name)}</text>')
    return parts


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
