"""Cordons the emptiest seeds of a set that is to shrink, so that they drain, and releases them.

A cordon is a taint on the Seed and, in the same write, an annotation with the SeedAutoscaler that
holds it. `plan_release` removes the cordon of every seed that its autoscaler no longer holds,
whatever the reason, so that no release depends on a step that a killed process has left out.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.controllers.seedautoscaler import demand
from webhook.controllers.seedautoscaler.measurement import MemberSeed
from webhook.kube.meta import Draft, ObjectKey
from webhook.placement import hosted_shoots
from webhook.runtime.actions import NOTHING, Patch, Plan
from webhook.state.indexes import MANAGED_SEEDS_BY_NAME
from webhook.state.snapshot import Snapshot

_SEED: Final = kind_of_model(Seed)


def cordon_emptiest(
    autoscaler: SeedAutoscaler, seeds: Sequence[MemberSeed], count: int, snapshot: Snapshot
) -> Iterator[Patch]:
    """Taint the emptiest seeds, as many as are surplus, and uncordon the others.

    Hidden and protected seeds are ignored.
    """
    candidates = [
        each.seed for each in seeds if each.seed is not None and _can_be_cordoned(each, each.seed)
    ]
    candidates.sort(
        key=lambda seed: (
            hosted_shoots.count(seed.name, snapshot),
            not is_cordoned(seed),
            seed.name,
        )
    )
    holder = str(autoscaler.key)
    for place, seed in enumerate(candidates):
        if place < count and not (is_cordoned(seed) and holder_of(seed) == holder):
            yield _patch(seed, holder)
        elif place >= count and is_cordoned(seed):
            yield _patch(seed)


def uncordon(seeds: Iterable[MemberSeed]) -> Iterator[Patch]:
    """Remove our taint from every seed."""
    for each in seeds:
        if each.seed is not None and is_cordoned(each.seed):
            yield _patch(each.seed)


def count_drained(seeds: Sequence[MemberSeed], snapshot: Snapshot) -> int:
    """Count the cordoned seeds without shoots."""
    drained = (each.seed for each in seeds if each.seed is not None)
    return sum(
        1 for seed in drained if is_cordoned(seed) and not hosted_shoots.count(seed.name, snapshot)
    )


def is_cordoned(seed: Seed) -> bool:
    """Return whether a seed has our taint."""
    return any(taint.key == names.CORDON_TAINT for taint in seed.spec.taints)


def holder_of(seed: Seed) -> str:
    """Return the key of the autoscaler that cordoned a seed; empty if there is none."""
    return seed.metadata.annotations.get(names.CORDONED_BY, "")


def holds(autoscaler: SeedAutoscaler, snapshot: Snapshot) -> bool:
    """Return whether an autoscaler cordons the seeds of its set now."""
    behavior = autoscaler.spec.behavior
    rules = behavior.scale_down if behavior is not None else None
    if rules is None or not rules.cordon or not demand.is_acting(autoscaler):
        return False
    owner = snapshot.get(ManagedSeedSet, demand.target_key(autoscaler))
    return owner is not None and not demand.is_disabled(autoscaler, owner)


def held_seeds(autoscaler: SeedAutoscaler, snapshot: Snapshot) -> Iterator[Seed]:
    """Return the seeds that an autoscaler has cordoned, without those in deletion."""
    holder = str(autoscaler.key)
    seeds = (seed for seed in snapshot.list(Seed) if not seed.is_deleting)
    return (seed for seed in seeds if holder_of(seed) == holder)


def release(autoscaler: SeedAutoscaler, snapshot: Snapshot) -> Iterator[Patch]:
    """Remove the cordons of an autoscaler."""
    return (_patch(seed) for seed in held_seeds(autoscaler, snapshot))


def plan_release(seed: Seed, snapshot: Snapshot) -> Plan:
    """Remove the cordon of a seed that no autoscaler holds any more.

    Version 0.1.0 did not record who holds a cordon, and left cordons behind.
    """
    holder = holder_of(seed)
    is_marked = bool(holder) or is_cordoned(seed)
    if seed.is_deleting or not is_marked or _is_held(seed, holder, snapshot):
        return NOTHING
    return Plan((_patch(seed),))


def _is_held(seed: Seed, holder: str, snapshot: Snapshot) -> bool:
    """Return whether an autoscaler still holds the cordon of a seed of its set."""
    namespace, _, name = holder.partition("/")
    autoscaler = snapshot.get(SeedAutoscaler, ObjectKey(namespace, name))
    if autoscaler is None or not holds(autoscaler, snapshot):
        return False
    owner = snapshot.get(ManagedSeedSet, demand.target_key(autoscaler))
    found = snapshot.by_index(MANAGED_SEEDS_BY_NAME, seed.name)
    return owner is not None and any(_is_owned(each, owner) for each in found)


def _is_owned(managed_seed: ManagedSeed, owner: ManagedSeedSet) -> bool:
    controller = managed_seed.controller
    return controller is not None and controller.uid == owner.uid


def _can_be_cordoned(member: MemberSeed, seed: Seed) -> bool:
    return seed.is_visible and not seed.is_deleting and not member.is_protected


def _patch(seed: Seed, holder: str | None = None) -> Patch:
    """Cordon a seed for an autoscaler, or uncordon it."""
    taints: list[Draft] = [
        {"key": each.key, **({"value": each.value} if each.value is not None else {})}
        for each in seed.spec.taints
        if each.key != names.CORDON_TAINT
    ]
    if holder is not None:
        taints.append({"key": names.CORDON_TAINT})
    change = {
        "metadata": {"annotations": {names.CORDONED_BY: holder}},
        "spec": {"taints": taints},
    }
    return Patch(_SEED, seed.key, change, seed.uid, seed.resource_version)
