"""The CloudProfile or NamespacedCloudProfile of a shoot, and what it offers."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from webhook.api.cloudprofiles import (
    CloudProfile,
    CloudProfileSpec,
    NamespacedCloudProfile,
    OfferedRegion,
)
from webhook.api.shoots import ShootSpec
from webhook.kube.meta import KindKey, Object, ObjectKey

M = TypeVar("M", bound=Object)


class GetObject(Protocol):
    """Gets an object: from the cache, or else by a live read."""

    def __call__(self, model: type[M], key: ObjectKey, /) -> M | None: ...


class UnavailableTypes(NamedTuple):
    """The machine and volume types that a zone does not have."""

    machine_types: frozenset[str] = frozenset()
    volume_types: frozenset[str] = frozenset()


def reference(spec: ShootSpec, namespace: str) -> KindKey | None:
    """Return the profile that a shoot refers to, in `cloudProfile` or `cloudProfileName`."""
    profile = spec.cloud_profile
    if profile is not None and profile.name:
        if profile.kind == "NamespacedCloudProfile":
            return NamespacedCloudProfile, ObjectKey(namespace, profile.name)
        return CloudProfile, ObjectKey("", profile.name)
    if spec.cloud_profile_name:
        return CloudProfile, ObjectKey("", spec.cloud_profile_name)
    return None


def find(spec: ShootSpec, namespace: str, look_up: GetObject) -> CloudProfileSpec | None:
    """Return the spec of a shoot's profile; None if there is no such profile."""
    named = reference(spec, namespace)
    if named is None:
        return None
    model, key = named
    if model is CloudProfile:
        profile = look_up(CloudProfile, key)
        return profile.spec if profile is not None else None
    own = look_up(NamespacedCloudProfile, key)
    return _combined(own, look_up) if own is not None else None


def _combined(own: NamespacedCloudProfile, look_up: GetObject) -> CloudProfileSpec | None:
    """Return the profile in the status or, if it is empty, the parent plus the additions."""
    computed = own.status.cloud_profile_spec
    if computed.regions or computed.machine_types:
        return computed
    parent = look_up(CloudProfile, ObjectKey("", own.spec.parent.name))
    if parent is None:
        return None
    return msgspec.structs.replace(
        parent.spec,
        machine_types=parent.spec.machine_types + own.spec.machine_types,
        volume_types=parent.spec.volume_types + own.spec.volume_types,
        machine_images=parent.spec.machine_images + own.spec.machine_images,
        limits=own.spec.limits or parent.spec.limits,
    )


def region(offer: CloudProfileSpec, name: str) -> OfferedRegion | None:
    """Return a region of a profile."""
    return next((found for found in offer.regions if found.name == name), None)


def zones(offer: CloudProfileSpec, region_name: str) -> frozenset[str]:
    """Return the zones of a region, from `regions` and from document 001's constraints."""
    found = region(offer, region_name)
    own = {zone.name for zone in found.zones} if found is not None else set()
    return frozenset(own | {_text(zone, "name") for zone in _document_zones(offer, region_name)})


def unavailable_types(
    offer: CloudProfileSpec, region_name: str, zone_name: str
) -> UnavailableTypes:
    """Return what a zone lacks, from `regions` and from document 001's constraints."""
    machine_types: set[str] = set()
    volume_types: set[str] = set()
    found = region(offer, region_name)
    for zone in found.zones if found is not None else ():
        if zone.name == zone_name:
            machine_types.update(zone.unavailable_machine_types)
            volume_types.update(zone.unavailable_volume_types)
    for entry in _document_zones(offer, region_name):
        if _text(entry, "name") == zone_name:
            machine_types.update(_names(entry, "unavailableMachineTypes"))
            volume_types.update(_names(entry, "unavailableVolumeTypes"))
    return UnavailableTypes(frozenset(machine_types), frozenset(volume_types))


def _document_zones(offer: CloudProfileSpec, region_name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the zones of `providerConfig.constraints`; any other structure is ignored."""
    for entry in _entries(_at(offer.provider_config, "constraints"), "zones"):
        if _text(entry, "region") == region_name:
            yield from _entries(entry, "zones")


def _names(entry: Mapping[str, Any], key: str) -> Iterator[str]:
    return filter(None, (_text(item, "name") for item in _entries(entry, key)))


def _entries(value: Any, key: str) -> Iterator[Mapping[str, Any]]:
    found = _at(value, key)
    return (item for item in found if isinstance(item, Mapping)) if _is_list(found) else iter(())


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _at(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def _text(value: Any, key: str) -> str:
    found = _at(value, key)
    return found if isinstance(found, str) else ""
