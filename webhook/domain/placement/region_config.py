"""Distances between regions from a region-config ConfigMap of gardener-scheduler."""

from collections.abc import Mapping
from typing import Final

import yaml

_EMPTY: Final[Mapping[str, int]] = {}


class RegionConfigError(ValueError):
    """A malformed table of distances."""


def profiles(annotation: str) -> tuple[str, ...]:
    """Parse the annotation with the names of the CloudProfiles that a table applies to."""
    return tuple(name for part in annotation.split(",") if (name := part.strip()))


def distances(data: Mapping[str, str], region: str) -> Mapping[str, int] | None:
    """Return the distances of other regions from `region`; None if the table does not have it.

    The distance of a region to itself is 0 unless the table sets another.
    """
    if not data.get(region):
        return None
    return {region: 0, **_parse(region, data[region])}


def errors(data: Mapping[str, str]) -> list[str]:
    """Return a message for every malformed part of a table."""
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
