"""Durations as Go writes them: 90m, 1h30m."""

import re
from datetime import timedelta
from typing import Final

_PART: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)(ns|us|µs|ms|s|m|h)")
_SECONDS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}


def parse(text: str) -> timedelta | None:
    """Read a duration; None if it is none."""
    total, end = 0.0, 0
    for part in _PART.finditer(text):
        if part.start() != end:
            return None
        total += float(part[1]) * _SECONDS[part[2]]
        end = part.end()
    if not text or end != len(text):
        return None
    return timedelta(seconds=min(total, 1e9))
