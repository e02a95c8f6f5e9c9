"""The timeline of schedules as a picture."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from webhook.cli.schedule.timeline import Lane, describe, steps
from webhook.cli.svg import PALETTE, Box, Label, Picture, Polyline, Shape
from webhook.domain.scaling.recurrence import Window

WIDTH: Final = 1000
_LEFT: Final = 215
_RIGHT: Final = 20
_TOP: Final = 40
_ROW: Final = 24
_GRID: Final = "#dddddd"
_FAINT: Final = "#999999"
_GREY: Final = "#666666"
_DARK: Final = "#555555"


def draw(lanes: Sequence[Lane], since: datetime, until: datetime) -> Picture:
    """Draw a row for each schedule, and below the rows of a Tortoise its combined floors."""
    rows = sum(len(lane.bars) + 3 for lane in lanes)
    height = _TOP + rows * _ROW + 20
    shapes: list[Shape] = [*_grid(since, until, height)]
    top = _TOP
    for lane in lanes:
        shapes += _lane(lane, since, until, top)
        top += (len(lane.bars) + 3) * _ROW
    return Picture(WIDTH, height, shapes)


def _grid(since: datetime, until: datetime, height: int) -> Iterator[Shape]:
    day = since.replace(hour=0, minute=0, second=0, microsecond=0)
    while (day := day + timedelta(days=1)) < until:
        x = _across(day, since, until)
        yield Polyline([(x, 22), (x, height - 10)], _GRID)
        yield Label(x + 3, 18, f"{day:%a %d %b}", color=_GREY)


def _lane(lane: Lane, since: datetime, until: datetime, top: int) -> Iterator[Shape]:
    yield Label(10, top + 16, str(lane.tortoise), is_bold=True)
    for number, bar in enumerate(lane.bars):
        y = top + (number + 1) * _ROW
        color = PALETTE[number % len(PALETTE)]
        yield Label(20, y + 15, _cut(bar.name))
        if bar.remark:
            yield Label(_LEFT, y + 15, bar.remark, color=_FAINT)
        for window in bar.windows:
            text = f"{window.start:%d %b %H:%M} to {window.end:%d %b %H:%M}: {describe(bar.floors)}"
            x, width = _span(window, since, until)
            yield Box(x, y + 3, width, _ROW - 8, color, radius=2, tooltip=text)
    yield from _combined(lane, since, until, top + (len(lane.bars) + 1) * _ROW)


def _combined(lane: Lane, since: datetime, until: datetime, top: int) -> Iterator[Shape]:
    """Draw the combined floors; the height of a box is the number of replicas."""
    found = [*steps(lane)]
    most = max((step.floors.replicas or 0 for step in found), default=0)
    yield Label(20, top + 18, f"together, up to {most} replicas", color=_GREY)
    for window, floors in found:
        share = (floors.replicas or 0) / most if most else 0.0
        height = max(3.0, round(share * (_ROW + 4), 1))
        x, width = _span(window, since, until)
        y = top + _ROW + 6 - height
        yield Box(x, y, width, height, _DARK, opacity=0.6, tooltip=describe(floors))


def _span(window: Window, since: datetime, until: datetime) -> tuple[float, float]:
    """Return where a window starts and how wide it is; the shortest one is still visible."""
    x = _across(window.start, since, until)
    return x, max(1.5, round(_across(window.end, since, until) - x, 1))


def _across(instant: datetime, since: datetime, until: datetime) -> float:
    share = (instant - since) / (until - since)
    return round(_LEFT + share * (WIDTH - _LEFT - _RIGHT), 1)


def _cut(name: str) -> str:
    return name if len(name) <= 26 else f"{name[:25]}…"
