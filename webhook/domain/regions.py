"""Distances between regions as an operator wrote them into a ConfigMap."""

from collections.abc import Mapping
from typing import Final

import yaml

_EMPTY: Final[Mapping[str, int]] = {}


class RegionConfigError(ValueError):
    """A table of distances that cannot be read."""


def profiles(annotation: str) -> tuple[str, ...]:
    """Read the comma-separated names of the cloud profiles that a table is for."""
    return tuple(name for part in annotation.split(",") if (name := part.strip()))


def distances(data: Mapping[str, str], region: str) -> Mapping[str, int] | None:
    """Return how far other regions are from `region`; None if the table does not know it.

    A region is at distance 0 from itself unless the table says otherwise.
    """
    if not data.get(region):
        return None
    return {region: 0, **_parse(region, data[region])}


def faults(data: Mapping[str, str]) -> list[str]:
    """Name every part of a table that cannot be read."""
    found = []
    for region, text in data.items():
        try:
            _parse(region, text)
        except RegionConfigError as error:
            found.append(str(error))
    return found


def _parse(region: str, text: str) -> Mapping[str, int]:
    try:
        table = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise RegionConfigError(f"data[{region}] is not YAML: {_first_line(error)}") from error
    if table is None:
        return _EMPTY
    if not isinstance(table, dict):
        raise RegionConfigError(f"data[{region}] must map region names to whole numbers")
    for other, distance in table.items():
        if not isinstance(other, str) or type(distance) is not int:
            raise RegionConfigError(
                f"data[{region}] must map region names to whole numbers,"
                f" found {other!r}: {distance!r}"
            )
    return table


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
