"""Keep new shoots off the emptiest seeds of a set that is to shrink, so that they drain."""

from collections.abc import Iterator, Sequence
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.seeds import Seed
from webhook.controllers.seedautoscaler.metrics import Member
from webhook.domain import usage
from webhook.domain.replicas import Replica
from webhook.runtime.actions import Patch
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_USAGE

_SEED: Final = kind_of_model(Seed)


def drain(seeds: Sequence[Member], count: int, snapshot: Snapshot) -> Iterator[Patch]:
    """Taint the emptiest seeds, as many as should go, and free those that may stay.

    Seeds that somebody else hid, and protected ones, are left alone.
    """
    able = [each.seed for each in seeds if each.seed is not None and _is_able(each, each.seed)]
    able.sort(key=lambda seed: (_carried(seed, snapshot), not is_drained_by_us(seed), seed.name))
    for place, seed in enumerate(able):
        if place < count and not is_drained_by_us(seed):
            yield _patch(seed, taint=True)
        elif place >= count and is_drained_by_us(seed):
            yield _patch(seed, taint=False)


def release(seeds: Sequence[Member]) -> Iterator[Patch]:
    """Free every seed that we keep shoots off."""
    for each in seeds:
        if each.seed is not None and is_drained_by_us(each.seed):
            yield _patch(each.seed, taint=False)


def empty(seeds: Sequence[Member], snapshot: Snapshot) -> int:
    """Count the seeds that have drained."""
    drained = (each.seed for each in seeds if each.seed is not None)
    return sum(1 for seed in drained if is_drained_by_us(seed) and not _carried(seed, snapshot))


def is_drained_by_us(seed: Seed) -> bool:
    """Tell whether our taint keeps new shoots off a seed."""
    return any(taint.key == names.CORDON_TAINT for taint in seed.spec.taints)


def _is_able(member: Member, seed: Seed) -> bool:
    protected = Replica(seed.name, 0, managed_seed=member.managed_seed).is_protected
    return seed.is_visible and not seed.is_deleting and not protected


def _carried(seed: Seed, snapshot: Snapshot) -> int:
    return int(snapshot.total(SEED_USAGE, seed.name).get(usage.SHOOTS, 0))


def _patch(seed: Seed, *, taint: bool) -> Patch:
    kept = [
        {"key": each.key, **({"value": each.value} if each.value is not None else {})}
        for each in seed.spec.taints
        if each.key != names.CORDON_TAINT
    ]
    taints = [*kept, {"key": names.CORDON_TAINT}] if taint else kept
    change = {"spec": {"taints": taints}}
    return Patch(_SEED, seed.key, change, seed.uid, seed.resource_version)
