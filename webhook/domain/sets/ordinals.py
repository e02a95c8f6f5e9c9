"""The names of a set's replicas, `<set>-<ordinal>`."""

import re
from typing import Final

# An int32 as we write it: without a sign or leading zeros.
_NUMBERED: Final = re.compile(r"(?P<base>.+)-(?P<ordinal>0|[1-9][0-9]{0,9})\Z", re.ASCII)
_HIGHEST: Final = 2**31 - 1


def name_of(base: str, ordinal: int) -> str:
    """Return the name of the replica with an ordinal."""
    return f"{base}-{ordinal}"


def base_of(name: str) -> str | None:
    """Return the part of a name before the ordinal; None for a name without one."""
    found = _NUMBERED.match(name)
    return found["base"] if found and int(found["ordinal"]) <= _HIGHEST else None


def ordinal_of(base: str, name: str) -> int | None:
    """Return the ordinal of a replica of a set; None for any other name."""
    found = _NUMBERED.match(name)
    if found is None or found["base"] != base:
        return None
    ordinal = int(found["ordinal"])
    return ordinal if ordinal <= _HIGHEST else None
