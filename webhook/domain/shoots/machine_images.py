"""Machine images: the version of a new worker pool, and the version that maintenance sets."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final, TypeAlias

from webhook.api.cloudprofiles import CloudProfileSpec, MachineImageVersion, OfferedMachineImage
from webhook.kube.timestamps import TimestampError, parse_time

Version: TypeAlias = tuple[int, ...]

DEFAULT_ARCHITECTURE: Final = "amd64"
_NUMBER: Final = re.compile(r"[0-9]{1,9}")
_KEPT: Final = {"patch": 2, "minor": 1}
"""How many leading numbers of a version each update strategy keeps; `major` keeps none."""


def parse_version(text: str) -> Version:
    """Return the numbers of a version, without a pre-release or build suffix."""
    release = re.split(r"[-+]", text, maxsplit=1)[0]
    return tuple(int(part) for part in _NUMBER.findall(release))


def architecture(offer: CloudProfileSpec, machine_type: str) -> str:
    """Return the architecture of a machine type."""
    found = next((machine for machine in offer.machine_types if machine.name == machine_type), None)
    return found.architecture if found is not None and found.architecture else DEFAULT_ARCHITECTURE


def choose(
    offer: CloudProfileSpec, name: str, machine_architecture: str, now: datetime
) -> tuple[str, str] | None:
    """Choose the named image, or the first that fits, in its newest supported version."""
    for image in offer.machine_images:
        if name and image.name != name:
            continue
        newest = newest_version(image, machine_architecture, now)
        if newest is not None:
            return image.name, newest
    return None


def update(
    offer: CloudProfileSpec, name: str, version: str, machine_architecture: str, now: datetime
) -> str | None:
    """Return the version that maintenance updates an image to; None for no update."""
    image = next((found for found in offer.machine_images if found.name == name), None)
    if image is None:
        return None
    present = parse_version(version)
    newest = newest_version(image, machine_architecture, now, present)
    return newest if newest is not None and parse_version(newest) > present else None


def newest_version(
    image: OfferedMachineImage,
    machine_architecture: str,
    now: datetime,
    present: Version | None = None,
) -> str | None:
    """Return the newest supported version; a deprecated one only if there is no other."""
    kept = _KEPT.get(image.update_strategy, 0) if present is not None else 0
    usable = [
        version
        for version in _usable(image, machine_architecture, now)
        if present is None or parse_version(version.version)[:kept] == present[:kept]
    ]
    supported = [version for version in usable if version.classification != "deprecated"]
    best = max(
        supported or usable, key=lambda version: parse_version(version.version), default=None
    )
    return best.version if best is not None else None


def _usable(
    image: OfferedMachineImage, machine_architecture: str, now: datetime
) -> Iterator[MachineImageVersion]:
    for version in image.versions:
        fits = machine_architecture in (version.architectures or (DEFAULT_ARCHITECTURE,))
        if fits and version.classification != "preview" and not _is_expired(version, now):
            yield version


def _is_expired(version: MachineImageVersion, now: datetime) -> bool:
    if not version.expiration_date:
        return False
    try:
        return parse_time(version.expiration_date) <= now
    except TimestampError:
        return False
