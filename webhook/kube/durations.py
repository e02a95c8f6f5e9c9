"""Durations in Go's notation, such as 90m or 1h30m, which Kubernetes uses everywhere."""

import re
from datetime import timedelta
from typing import Final

_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)")
_SECONDS: Final = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,  # the micro sign
    "μs": 1e-6,  # the Greek letter, which Go reads, too
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_MAX_SECONDS: Final = 1e9


def parse_seconds(text: str) -> float | None:
    """Return the seconds of an unsigned duration; None for any other text."""
    total, end = 0.0, 0
    # Each part begins where the last one ends: a search would try every digit of a long number.
    while part := _PART.match(text, end):
        total += float(part[1]) * _SECONDS[part[2]]
        end = part.end()
    return total if text and end == len(text) else None


def sum_parts(text: str) -> float:
    """Return the seconds of all parts in a text, whatever is between them; 0 if it has none."""
    return sum(float(part[1]) * _SECONDS[part[2]] for part in _PART.finditer(text))


def parse(text: str) -> timedelta | None:
    """Return an unsigned duration, capped at about 30 years; None for any other text."""
    seconds = parse_seconds(text)
    return timedelta(seconds=min(seconds, _MAX_SECONDS)) if seconds is not None else None
