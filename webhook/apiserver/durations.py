"""Durations: ages as kubectl shows them, and Go's way of writing them."""

import re
from datetime import datetime
from typing import Final

_MINUTE: Final = 60
_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR
_YEAR: Final = 365 * _DAY
#: Up to a limit: the unit and its length, and the finer unit shown beside it, if any.
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
_GO_DURATION: Final = re.compile(r"(?:\d+(?:\.\d*)?(?:ns|us|ms|s|m|h))+")
_GO_PART: Final = re.compile(r"(\d+(?:\.\d*)?)(ns|us|ms|s|m|h)")
_GO_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": _MINUTE, "h": _HOUR}


def parse(text: str) -> float | None:
    """Read a duration such as `1m30s` as seconds; None for what is none."""
    if not _GO_DURATION.fullmatch(text):
        return None
    return sum(float(number) * _GO_UNITS[unit] for number, unit in _GO_PART.findall(text))


def age(timestamp: str, now: datetime) -> str:
    """Write how long ago something happened."""
    try:
        then = datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
    except ValueError:
        return "<invalid>"
    return human((now - then).total_seconds())


def human(elapsed: float) -> str:
    """Write a duration in at most two units, the finer one only while it matters."""
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
