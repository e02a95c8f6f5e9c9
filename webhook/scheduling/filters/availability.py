"""Seeds with the zones that the high availability of the shoot needs."""

from typing import Final

from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Mask, Rejection
from webhook.scheduling.framework import Filter, GroupFilter
from webhook.scheduling.seed_table import SeedTable
from webhook.scheduling.shoot_info import ShootInfo

_UPSTREAM_ZONES: Final = 3

NOT_MULTI_ZONAL: Final = Rejection(
    "is not multi-zonal, the shoot requires a multi-zone control plane"
)
TOO_FEW_ZONES: Final = Rejection("has fewer zones than failureTolerance of the shoot needs")
KEPT_FOR_OTHERS: Final = Rejection(
    "is multi-zonal and kept for shoots that need it, another seed fits", final=False
)


def _needed(info: ShootInfo) -> int:
    return info.availability.zones_needed


def _prepare(needed: int) -> Check:
    def check(candidate: Candidate) -> Rejection | None:
        if not needed:
            return None
        if not candidate.is_multi_zonal:
            return NOT_MULTI_ZONAL
        return TOO_FEW_ZONES if len(candidate.zones) < needed else None

    return check


def _upstream_aspect(info: ShootInfo) -> bool:
    return info.is_multi_zone


def _prepare_upstream(multi_zone: bool) -> Check:
    def check(candidate: Candidate) -> Rejection | None:
        if multi_zone and len(candidate.seed.spec.provider.zones) < _UPSTREAM_ZONES:
            return NOT_MULTI_ZONAL
        return None

    return check


def _prefer(info: ShootInfo, table: SeedTable, remaining: Mask) -> tuple[Mask, Rejection]:
    if info.is_multi_zone:
        return remaining, KEPT_FOR_OTHERS
    plain = remaining & ~table.select("multi-zonal", _is_multi_zonal)
    return plain or remaining, KEPT_FOR_OTHERS


def _is_multi_zonal(candidate: Candidate) -> bool:
    return candidate.is_multi_zonal


AVAILABILITY: Final = Filter("highAvailability", _needed, _prepare)

ZONES: Final = Filter("highAvailability", _upstream_aspect, _prepare_upstream)
"""Gardener's filter: three zones suffice, regardless of the label and the failure tolerance."""

PLAIN_SEEDS_FIRST: Final = GroupFilter("highAvailability", _prefer)
