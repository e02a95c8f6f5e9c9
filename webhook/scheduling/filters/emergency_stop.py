"""Seeds on which the reconciliation of shoots is not stopped."""

from typing import Final

from webhook.api import names
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Rejection
from webhook.scheduling.framework import Filter
from webhook.scheduling.shoot_info import ShootInfo

STOPPED: Final = Rejection(f"reconciliations are stopped (annotation {names.EMERGENCY_STOP})")


def _aspect(_info: ShootInfo) -> None:
    return None


def _prepare(_aspect: None) -> Check:
    return _check


def _check(candidate: Candidate) -> Rejection | None:
    stopped = candidate.seed.metadata.annotations.get(names.EMERGENCY_STOP) == "true"
    return STOPPED if stopped else None


EMERGENCY_STOP: Final = Filter("emergencyStop", _aspect, _prepare)
