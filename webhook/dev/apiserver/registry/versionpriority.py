"""The priority of API versions, as discovery orders them."""

import re
from typing import Final

_VERSION: Final = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?\Z")
_STABILITY: Final = {None: 2, "beta": 1, "alpha": 0}


def priority(version: str) -> tuple[int, int, int, str]:
    """Return the sort key of a version: stable before beta before alpha, newer first."""
    found = _VERSION.match(version)
    if found is None:
        return (1, 0, 0, version)
    stability = _STABILITY[found[2]]
    return (0, -stability * 1_000_000 - int(found[1]), -int(found[3] or 0), "")
