"""The distance between two regions, computed from their names like in gardener-scheduler."""

from functools import lru_cache
from typing import Final

_ORIENTATIONS: Final = ("north", "south", "east", "west", "central")
_PLACEHOLDER: Final = ":"
_OTHER_PROVIDER: Final = 2


@lru_cache(maxsize=65536)
def between_names(region: str, other: str) -> int:
    """Return Gardener's distance of two region names: 0 if equal, small if similar.

    Twice the edit distance of the names without their orientation (north, east …), plus 1 if only
    one name has an orientation, plus 2 if both have different ones.
    """
    base, orientation = _split(region)
    other_base, other_orientation = _split(other)
    distance = 2 * _edits(base, other_base)
    if orientation == other_orientation:
        return distance
    return distance + (2 if orientation and other_orientation else 1)


def between(region: str, provider: str, other: str, other_provider: str) -> int:
    """Return the distance of two regions, which is larger for different providers."""
    distance = between_names(region, other)
    return distance if provider == other_provider else distance + _OTHER_PROVIDER


def _split(region: str) -> tuple[str, str]:
    for orientation in _ORIENTATIONS:
        if orientation in region:
            return region.replace(orientation, _PLACEHOLDER, 1), orientation
    return region, ""


def _edits(left: str, right: str) -> int:
    """Return the Levenshtein distance of two texts."""
    row = list(range(len(right) + 1))
    for index, char in enumerate(left, start=1):
        diagonal, row[0] = row[0], index
        for column, other in enumerate(right, start=1):
            diagonal, row[column] = (
                row[column],
                min(row[column] + 1, row[column - 1] + 1, diagonal + (char != other)),
            )
    return row[-1]
