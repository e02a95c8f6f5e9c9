"""A timeline as SVG, without any library."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from xml.sax.saxutils import escape

from webhook.cli.schedule.timeline import Lane, describe, steps
from webhook.domain.windows import Window

WIDTH: Final = 1000
_LEFT: Final = 215
_RIGHT: Final = 20
_TOP: Final = 40
_ROW: Final = 24
_COLORS: Final = ("#1b7837", "#762a83", "#b35806", "#2166ac", "#b2182b", "#4d4d4d")


def draw(lanes: Sequence[Lane], since: datetime, until: datetime) -> str:
    """Draw a row for each schedule, and below them what holds together."""
    rows = sum(len(lane.bars) + 3 for lane in lanes)
    height = _TOP + rows * _ROW + 20
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        *_grid(since, until, height),
    ]
    top = _TOP
    for lane in lanes:
        parts += _lane(lane, since, until, top)
        top += (len(lane.bars) + 3) * _ROW
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _grid(since: datetime, until: datetime, height: int) -> list[str]:
    parts = []
    day = since.replace(hour=0, minute=0, second=0, microsecond=0)
    while (day := day + timedelta(days=1)) < until:
        x = _across(day, since, until)
        parts.append(f'<path d="M{x} 22V{height - 10}" stroke="#ddd" fill="none"/>')
        parts.append(f'<text x="{x + 3}" y="18" fill="#666">{day:%a %d %b}</text>')
    return parts


def _lane(lane: Lane, since: datetime, until: datetime, top: int) -> list[str]:
    parts = [f'<text x="10" y="{top + 16}" font-weight="bold">{escape(str(lane.tortoise))}</text>']
    for number, bar in enumerate(lane.bars):
        y = top + (number + 1) * _ROW
        color = _COLORS[number % len(_COLORS)]
        parts.append(f'<text x="20" y="{y + 15}">{escape(_cut(bar.name))}</text>')
        if bar.remark:
            remark = escape(bar.remark)
            parts.append(f'<text x="{_LEFT}" y="{y + 15}" fill="#999">{remark}</text>')
        for window in bar.windows:
            text = f"{window.start:%d %b %H:%M} to {window.end:%d %b %H:%M}: {describe(bar.floors)}"
            x, wide = _span(window, since, until)
            parts.append(
                f'<rect x="{x}" y="{y + 3}" width="{wide}" height="{_ROW - 8}" rx="2"'
                f' fill="{color}"><title>{escape(text)}</title></rect>'
            )
    return parts + _together(lane, since, until, top + (len(lane.bars) + 1) * _ROW)


def _together(lane: Lane, since: datetime, until: datetime, top: int) -> list[str]:
    """Draw what holds together, as high as the replicas."""
    found = [*steps(lane)]
    most = max((step.floors.replicas or 0 for step in found), default=0)
    parts = [f'<text x="20" y="{top + 18}" fill="#666">together, up to {most} replicas</text>']
    for window, floors in found:
        share = (floors.replicas or 0) / most if most else 0.0
        high = max(3.0, round(share * (_ROW + 4), 1))
        x, wide = _span(window, since, until)
        parts.append(
            f'<rect x="{x}" y="{top + _ROW + 6 - high}" width="{wide}"'
            f' height="{high}" fill="#555" fill-opacity="0.6">'
            f"<title>{escape(describe(floors))}</title></rect>"
        )
    return parts


def _span(window: Window, since: datetime, until: datetime) -> tuple[float, float]:
    """Say where a window begins and how wide it is; the shortest is still seen."""
    x = _across(window.start, since, until)
    return x, max(1.5, round(_across(window.end, since, until) - x, 1))


def _across(instant: datetime, since: datetime, until: datetime) -> float:
    share = (instant - since) / (until - since)
    return round(_LEFT + share * (WIDTH - _LEFT - _RIGHT), 1)


def _cut(name: str) -> str:
    return name if len(name) <= 26 else f"{name[:25]}…"
