"""Seeds that are ready, visible and not being deleted."""

from typing import Final

from webhook.api import names
from webhook.kube import conditions
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Rejection
from webhook.scheduling.framework import Filter
from webhook.scheduling.shoot_info import ShootInfo

DELETING: Final = Rejection("is being deleted")
INVISIBLE: Final = Rejection("is not visible for scheduling (spec.settings.scheduling.visible)")
NOT_STARTED: Final = Rejection("has not been reconciled yet (status.lastOperation is missing)")
GARDENLET_NOT_READY: Final = Rejection("gardenlet is not ready (condition GardenletReady)")
BACKUP_NOT_READY: Final = Rejection("backup is not ready (condition BackupBucketsReady)")
MALFORMED: Final = Rejection("cannot be read, fix the fields that `espalier explain` names")


def _aspect(_info: ShootInfo) -> None:
    return None


def _prepare(_aspect: None) -> Check:
    return _check


def _check(candidate: Candidate) -> Rejection | None:
    seed = candidate.seed
    if seed.is_deleting:
        return DELETING
    if not seed.is_visible:
        return INVISIBLE
    if seed.status.last_operation is None:
        return NOT_STARTED
    if not conditions.is_true(seed.status.conditions, names.GARDENLET_READY):
        return GARDENLET_NOT_READY
    if seed.spec.backup is not None and not conditions.is_true(
        seed.status.conditions, names.BACKUP_BUCKETS_READY
    ):
        return BACKUP_NOT_READY
    return MALFORMED if candidate.faults else None


USABLE: Final = Filter("usable", _aspect, _prepare)
