"""Seeds whose taints the shoot tolerates."""

from typing import Final

from webhook.domain.placement import taints
from webhook.domain.placement.taints import Tolerations
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Rejection
from webhook.scheduling.framework import Filter
from webhook.scheduling.shoot_info import ShootInfo

NOT_TOLERATED: Final = Rejection("has taints that spec.tolerations of the shoot do not cover")


def _aspect(info: ShootInfo) -> Tolerations:
    return taints.read(info.shoot.spec.tolerations)


def _prepare(tolerations: Tolerations) -> Check:
    def check(candidate: Candidate) -> Rejection | None:
        tolerated = taints.tolerates(tolerations, candidate.seed.spec.taints)
        return None if tolerated else NOT_TOLERATED

    return check


TAINTS: Final = Filter("taints", _aspect, _prepare)
