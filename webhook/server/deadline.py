"""How long a caller still waits, as it says in its query."""

import re
from functools import lru_cache

LONGEST = 30.0
UNSAID = 10.0
"""What Kubernetes' webhooks are given unless their configuration says otherwise."""

_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_TIMEOUT = re.compile(r"(?:^|&)timeout=([^&]*)")


@lru_cache(maxsize=256)
def budget(query: str) -> float:
    """Say how many seconds there are for an answer; what cannot be read counts as not said.

    API servers send what is left of the request's own deadline, rounded up to whole seconds, and
    the answer has to travel: so a tenth is kept back, a quarter of a second at most.
    """
    found = _TIMEOUT.search(query)
    seconds = parse_duration(found.group(1)) if found else None
    if seconds is None or seconds <= 0:
        seconds = UNSAID
    seconds = min(seconds, LONGEST)
    return seconds - min(0.25, seconds / 10)


def parse_duration(text: str) -> float | None:
    """Read a duration as Go writes it, such as 1m30s; None if it is none."""
    total, position = 0.0, 0
    for part in _PART.finditer(text):
        if part.start() != position:
            return None
        total += float(part.group(1)) * _UNITS[part.group(2)]
        position = part.end()
    return total if position == len(text) and position > 0 else None
