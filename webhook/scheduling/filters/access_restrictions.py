"""Seeds that support every access restriction of the shoot."""

from typing import Final

from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Rejection
from webhook.scheduling.framework import Filter
from webhook.scheduling.shoot_info import ShootInfo

UNSUPPORTED: Final = Rejection("does not support spec.accessRestrictions of the shoot")


def _aspect(info: ShootInfo) -> tuple[str, ...]:
    return tuple(restriction.name for restriction in info.shoot.spec.access_restrictions)


def _prepare(wanted: tuple[str, ...]) -> Check:
    def check(candidate: Candidate) -> Rejection | None:
        if not wanted:
            return None
        supported = [found.name for found in candidate.seed.spec.access_restrictions]
        # Gardener also compares the numbers, so that a name listed twice needs two.
        if len(wanted) <= len(supported) and set(wanted) <= set(supported):
            return None
        return UNSUPPORTED

    return check


ACCESS_RESTRICTIONS: Final = Filter("accessRestrictions", _aspect, _prepare)
