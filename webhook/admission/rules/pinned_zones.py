"""The zones of a seed that a shoot pins its control plane to."""

from collections.abc import Iterator
from typing import Final

from webhook.admission.decision import Finding
from webhook.api.cloudprofiles import CloudProfileSpec
from webhook.api.shoots import Shoot, ShootSpec
from webhook.domain import ha, zones

FIELD: Final = "spec.controlPlane.zones"


def of(spec: ShootSpec) -> tuple[str, ...]:
    """Return the zones that are pinned."""
    return spec.control_plane.zones if spec.control_plane is not None else ()


def judge(shoot: Shoot) -> Iterator[Finding]:
    """Refuse a zone that is named twice, and another number than the control plane uses."""
    pinned = of(shoot.spec)
    for index, zone in enumerate(pinned):
        if zone in pinned[:index]:
            yield Finding.duplicate(f"{FIELD}[{index}]", zone, "name each zone once")
    wanted = zones.FEWEST if _is_spread(shoot) else 1
    if pinned and len(set(pinned)) != wanted:
        yield Finding.invalid(FIELD, list(pinned), f"name {wanted}, as the failure tolerance says")


def judge_offer(offer: CloudProfileSpec | None) -> Iterator[Finding]:
    """Refuse to pin where the cloud profile does not allow it."""
    allowed = offer is None or (
        offer.control_plane is not None and offer.control_plane.allow_zone_pinning
    )
    if not allowed:
        yield Finding.forbidden(
            FIELD, "the cloud profile does not set spec.controlPlane.allowZonePinning"
        )


def judge_change(old: Shoot, new: Shoot) -> Iterator[Finding]:
    """Refuse to move a control plane; it may only let go of its zone, or grow into more."""
    before, after = of(old.spec), of(new.spec)
    if before == after or (before and not after):
        return
    grows = len(before) == 1 and set(before) <= set(after) and _is_spread(new)
    if not (grows and not _is_spread(old)):
        yield Finding.forbidden(FIELD, "field is immutable, set it back")


def _is_spread(shoot: Shoot) -> bool:
    return ha.wanted(shoot).type == ha.MULTI_ZONE
