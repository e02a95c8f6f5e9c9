"""shoot.ha: high availability of control planes, which is never reduced, and pinned zones."""

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import availability
from webhook.api.cloudprofiles import CloudProfileSpec
from webhook.api.shoots import Shoot, ShootSpec
from webhook.domain.seeds import zones
from webhook.domain.shoots import cloud_profiles, ha
from webhook.state.snapshot import Snapshot

_ZONES_FIELD: Final = "spec.controlPlane.zones"


def validate(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
    """Validate every field for high availability, then the change from the stored shoot."""
    shoot, old = request.object_as(Shoot), request.old_as(Shoot)
    if not ha.is_mentioned(shoot) and (old is None or not ha.is_mentioned(old)):
        return ()
    # Gardener validates pinned zones and hibernated shoots itself.
    if snapshot.options.beside_gardener:
        return _availability(shoot, old)
    hibernated = availability.validate_hibernated(old, shoot) if old is not None else ()
    return (*_availability(shoot, old), *hibernated, *_pinning(shoot, old, request, snapshot))


def _availability(shoot: Shoot, old: Shoot | None) -> Iterator[Finding]:
    yield from availability.validate(shoot)
    if old is not None:
        yield from availability.validate_update(old, shoot)


def _pinning(
    shoot: Shoot, old: Shoot | None, request: Request, snapshot: Snapshot
) -> Iterator[Finding]:
    if old is None and _pinned_zones(shoot.spec):
        profile = cloud_profiles.find(shoot.spec, request.key.namespace, snapshot.look_up)
        yield from _validate_pinning_allowed(profile)
    yield from _validate_pinned(shoot)
    if old is not None:
        yield from _validate_pinned_update(old, shoot)


def _pinned_zones(spec: ShootSpec) -> tuple[str, ...]:
    """Return the zones that the control plane is pinned to."""
    return spec.control_plane.zones if spec.control_plane is not None else ()


def _validate_pinned(shoot: Shoot) -> Iterator[Finding]:
    """Reject a zone that is named twice, and a wrong number of zones."""
    chosen = _pinned_zones(shoot.spec)
    seen: set[str] = set()
    for index, zone in enumerate(chosen):
        if zone in seen:
            yield Finding.duplicate(f"{_ZONES_FIELD}[{index}]", zone, "name each zone once")
        seen.add(zone)
    wanted = zones.MIN_ZONES if _is_multi_zone(shoot) else 1
    if chosen and len(seen) != wanted:
        yield Finding.invalid(
            _ZONES_FIELD,
            list(chosen),
            f"name {wanted}, the number that the failure tolerance needs",
        )


def _validate_pinning_allowed(profile: CloudProfileSpec | None) -> Iterator[Finding]:
    """Reject pinned zones if the cloud profile does not allow them."""
    allowed = profile is None or (
        profile.control_plane is not None and profile.control_plane.allow_zone_pinning
    )
    if not allowed:
        yield Finding.forbidden(
            _ZONES_FIELD, "the cloud profile does not set spec.controlPlane.allowZonePinning"
        )


def _validate_pinned_update(old: Shoot, new: Shoot) -> Iterator[Finding]:
    """Reject changes of pinned zones, except to unpin, or to add zones on becoming multi-zone."""
    before, after = _pinned_zones(old.spec), _pinned_zones(new.spec)
    if before == after or (before and not after):
        return
    grows = len(before) == 1 and set(before) <= set(after) and _is_multi_zone(new)
    if not (grows and not _is_multi_zone(old)):
        yield Finding.forbidden(_ZONES_FIELD, "field is immutable, set it back")


def _is_multi_zone(shoot: Shoot) -> bool:
    return ha.requested(shoot).type == ha.MULTI_ZONE
