"""Seeds whose ManagedSeed is neither being deleted nor chosen for scale-in."""

from typing import Final

from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Rejection
from webhook.scheduling.framework import Filter
from webhook.scheduling.shoot_info import ShootInfo
from webhook.state import indexes

LEAVING: Final = Rejection("its ManagedSeed is being deleted or chosen for scale-in")


def _aspect(info: ShootInfo) -> frozenset[str]:
    leaving = info.snapshot.by_index(indexes.LEAVING_MANAGED_SEEDS, indexes.LEAVING)
    return frozenset(managed_seed.name for managed_seed in leaving)


def _prepare(leaving: frozenset[str]) -> Check:
    def check(candidate: Candidate) -> Rejection | None:
        return LEAVING if candidate.name in leaving else None

    return check


MANAGED: Final = Filter("managedSeed", _aspect, _prepare)
