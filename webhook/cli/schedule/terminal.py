"""The timeline of schedules as text: a bar for each schedule, then the combined floors."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from webhook.cli.schedule.timeline import MAX_STEPS, Bar, Lane, describe, steps

MIN_WIDTH: Final = 60
_OPEN: Final = "█"
_CLOSED: Final = "·"
_MAX_STEPS: Final = 12


def draw(lanes: Sequence[Lane], since: datetime, until: datetime, width: int) -> str:
    """Draw all lanes on one time axis."""
    if not lanes:
        return "there are no scheduled scalings\n"
    names = [bar.name for lane in lanes for bar in lane.bars]
    label = min(30, max(len(name) for name in names)) + 2
    cells = max(MIN_WIDTH, width) - label - 2
    lines = [
        f"{since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M} UTC, one character is "
        f"{_duration((until - since) / cells)}",
        "",
        " " * (label + 1) + _axis(since, until, cells),
    ]
    for lane in lanes:
        lines += ["", f"{lane.tortoise}"]
        for bar in lane.bars:
            cut = bar.name if len(bar.name) <= label - 2 else f"{bar.name[: label - 3]}…"
            text = bar.remark or describe(bar.floors) + _hidden(bar)
            lines.append(f"  {cut:<{label - 2}} {_cells(bar, since, until, cells)}")
            lines.append(f"  {'':<{label - 2}} {text}")
        lines += [f"  {line}" for line in _steps(lane)]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _hidden(bar: Bar) -> str:
    return f" (gaps of less than {_duration(bar.hidden)} are not shown)" if bar.hidden else ""


def _cells(bar: Bar, since: datetime, until: datetime, cells: int) -> str:
    """Fill every cell that a window touches, so that short windows are visible."""
    cell_width = (until - since) / cells
    drawn = [_CLOSED] * cells
    for window in bar.windows:
        first = int((window.start - since) / cell_width)
        last = int((window.end - since - timedelta(microseconds=1)) / cell_width)
        for cell in range(max(0, first), min(cells - 1, last) + 1):
            drawn[cell] = _OPEN
    return "".join(drawn)


def _axis(since: datetime, until: datetime, cells: int) -> str:
    """Label each day where it starts, if there is room for the label."""
    line = [" "] * cells
    day = (since + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    free = 0
    while day < until:
        cell = int((day - since) / (until - since) * cells)
        name = f"│{day:%a %d}"
        if cell >= free and cell + len(name) <= cells:
            line[cell : cell + len(name)] = name
            free = cell + len(name) + 1
        day += timedelta(days=1)
    return "".join(line)


def _steps(lane: Lane) -> Iterator[str]:
    found = [*steps(lane)]
    for window, floors in found[:_MAX_STEPS]:
        yield f"{window.start:%a %d %b %H:%M} to {window.end:%a %d %b %H:%M}  {describe(floors)}"
    if len(found) == MAX_STEPS:
        yield f"and at least {len(found) - _MAX_STEPS} more"
    elif len(found) > _MAX_STEPS:
        yield f"and {len(found) - _MAX_STEPS} more until {found[-1].window.end:%a %d %b %H:%M}"


def _duration(span: timedelta) -> str:
    minutes = max(1, round(span.total_seconds() / 60))
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
