"""Durations in the format of kubectl's AGE column."""

from datetime import datetime
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY
_STEPS: Final = (
    (2 * _MINUTE, "s", 1, "", 0),
    (10 * _MINUTE, "m", _MINUTE, "s", 1),
    (3 * _HOUR, "m", _MINUTE, "", 0),
    (8 * _HOUR, "h", _HOUR, "m", _MINUTE),
    (2 * _DAY, "h", _HOUR, "", 0),
    (8 * _DAY, "d", _DAY, "h", _HOUR),
    (2 * _YEAR, "d", _DAY, "", 0),
    (8 * _YEAR, "y", _YEAR, "d", _DAY),
)
"""Upper limit, unit and its length, and the finer unit that is shown with it, if any."""


def age(timestamp: str, now: datetime) -> str:
    """Format the time since a timestamp."""
    try:
        then = datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
    except ValueError:
        return "<invalid>"
    return human_duration((now - then).total_seconds())


def human_duration(elapsed: float) -> str:
    """Format a duration in at most two units; short durations show the finer one."""
    seconds = int(elapsed)
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    for limit, unit, length, finer, part in _STEPS:
        if seconds < limit:
            coarse, rest = divmod(seconds, length)
            fine = rest // part if part else 0
            return f"{coarse}{unit}{fine}{finer}" if fine else f"{coarse}{unit}"
    return f"{seconds // _YEAR}y"
