"""Seeds that can give the shoot the availability it asks for."""

from typing import Final

from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Mask, Rejection
from webhook.scheduling.framework import Filter, Narrow
from webhook.scheduling.landscape import Landscape
from webhook.scheduling.subjects import Subject

_UPSTREAM_ZONES: Final = 3

NOT_MULTI_ZONAL: Final = Rejection(
    "is not multi-zonal, the shoot asks for a multi-zone control plane"
)
TOO_FEW_ZONES: Final = Rejection("has fewer zones than failureTolerance of the shoot needs")
KEPT_FOR_OTHERS: Final = Rejection(
    "is multi-zonal and kept for shoots that need it, another seed fits", final=False
)


def _needed(subject: Subject) -> int:
    return subject.availability.zones_needed


def _prepare(needed: int) -> Check:
    def check(candidate: Candidate) -> Rejection | None:
        if not needed:
            return None
        if not candidate.is_multi_zonal:
            return NOT_MULTI_ZONAL
        return TOO_FEW_ZONES if len(candidate.zones) < needed else None

    return check


def _upstream_aspect(subject: Subject) -> bool:
    return subject.is_multi_zone


def _prepare_upstream(multi_zone: bool) -> Check:
    def check(candidate: Candidate) -> Rejection | None:
        if multi_zone and len(candidate.seed.spec.provider.zones) < _UPSTREAM_ZONES:
            return NOT_MULTI_ZONAL
        return None

    return check


def _prefer(subject: Subject, landscape: Landscape, left: Mask) -> tuple[Mask, Rejection]:
    if subject.is_multi_zone:
        return left, KEPT_FOR_OTHERS
    plain = left & ~landscape.choose("multi-zonal", _is_multi_zonal)
    return plain or left, KEPT_FOR_OTHERS


def _is_multi_zonal(candidate: Candidate) -> bool:
    return candidate.is_multi_zonal


AVAILABILITY: Final = Filter("highAvailability", _needed, _prepare)

ZONES: Final = Filter("highAvailability", _upstream_aspect, _prepare_upstream)
"""Gardener's: three zones will do, whatever the label and the tolerance say."""

PLAIN_SEEDS_FIRST: Final = Narrow("highAvailability", _prefer)
