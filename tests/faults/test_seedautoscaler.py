"""Seeds that an autoscaler drains or a set hides, released by a leader that crashes meanwhile."""

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio

from tests.support.autoscaled_garden import OURS, QUICK, AutoscaledGarden
from tests.support.crashes import CrashingGarden
from tests.support.set_objects import make_parent, make_set
from webhook.api import names
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseed.controller import MANAGED_SEED
from webhook.controllers.managedseedset.plan import ORPHAN
from webhook.kube.meta import Draft

pytestmark = pytest.mark.timeout(600)

DRAINING: Draft = {**QUICK, "scaleDown": {"stabilizationWindowSeconds": 0, "cordon": True}}


class Garden(CrashingGarden, AutoscaledGarden):
    """A garden with a drained and a hidden seed, whose leader crashes."""

    async def cordon(self) -> None:
        """Fill three seeds and empty them but for one shoot each, so that two are drained."""
        await self.grow(behavior=DRAINING)
        await self.add(30)
        await self.run(120)
        assert self.replicas == 3
        kept: set[str] = set()
        for shoot in self.api.memory.store(Shoot).list():
            if shoot.namespace == "garden-dev":
                if shoot.spec.seed_name in kept:
                    await self.delete(Shoot, shoot.name, "garden-dev")
                kept.add(shoot.spec.seed_name)
        await self.run(20)
        assert len(self.cordoned) == 2
        assert names.FINALIZER in self.scaler.metadata.finalizers
        assert self.scaler.status.waiting_for == ", ".join(self.cordoned)

    async def change_scaler(self, **spec: Any) -> None:
        await self.change(SeedAutoscaler, "leaf", {"spec": spec})

    @property
    def held(self) -> list[str]:
        """The seeds with any trace of a cordon."""
        seeds = [self.get(Seed, name) for name in self.names(Seed)]
        marked = [each.name for each in seeds if names.CORDONED_BY in each.metadata.annotations]
        return sorted({*self.cordoned, *marked})

    @property
    def has_finalizer(self) -> bool:
        scaler = self.find(SeedAutoscaler, "leaf")
        return scaler is not None and names.FINALIZER in scaler.metadata.finalizers

    async def hide(self) -> None:
        """Scale a set in by one, up to the time at which its seed is hidden and not deleted."""
        self.put(make_parent())
        self.put(make_set(replicas=2, maxParallel=2))
        await self.run(60, lambda: len(self.names(Seed)) == 3)
        await self.change(ManagedSeedSet, "leaf", {"spec": {"replicas": 1}})
        await self.run(60, lambda: bool(self.hidden))
        assert self.hidden == ["leaf-0"]

    @property
    def hidden(self) -> list[str]:
        return [name for name in self.names(Seed) if not self.get(Seed, name).is_visible]

    @property
    def chosen(self) -> list[str]:
        """The objects with the mark of a removal."""
        found = [
            self.get(model, name)
            for model in (Shoot, ManagedSeed, Seed)
            for name in self.names(model)
            if name.startswith("leaf-")
        ]
        return [
            f"{type(each).__name__} {each.name}"
            for each in found
            if names.SCALE_IN in each.metadata.annotations
        ]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def drained() -> Garden:
    """A garden with two drained seeds, to be copied."""
    garden = Garden()
    await garden.cordon()
    return garden


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def hiding() -> Garden:
    """A garden with a hidden seed, to be copied."""
    garden = Garden()
    await garden.hide()
    return garden


async def end_cordon(garden: Garden) -> None:
    await garden.change_scaler(behavior={"scaleDown": {"cordon": False}})


async def drop_rule(garden: Garden) -> None:
    await garden.change_scaler(behavior={"scaleDown": {"cordon": None}})


async def recommend_only(garden: Garden) -> None:
    await garden.change_scaler(mode="Recommend")


async def delete_scaler(garden: Garden) -> None:
    await garden.delete(SeedAutoscaler, "leaf")


async def scale_another_set(garden: Garden) -> None:
    garden.put(make_set("other", replicas=1))
    await garden.change_scaler(scaleTargetRef={"kind": "ManagedSeedSet", "name": "other"})


async def scale_to_zero(garden: Garden) -> None:
    await garden.change(ManagedSeedSet, "leaf", {"spec": {"replicas": 0}})


async def orphan_the_replicas(garden: Garden) -> None:
    owner = garden.get(ManagedSeedSet, "leaf")
    finalizers = [*owner.metadata.finalizers, ORPHAN]
    await garden.change(ManagedSeedSet, "leaf", {"metadata": {"finalizers": finalizers}})
    await garden.delete(ManagedSeedSet, "leaf")


async def release_the_replicas(garden: Garden) -> None:
    for name in garden.held:
        await garden.change(ManagedSeed, name, {"metadata": {"labels": {"set": "mine"}}})


async def lose_the_finalizer(garden: Garden) -> None:
    await garden.change(SeedAutoscaler, "leaf", {"metadata": {"finalizers": None}})
    await garden.delete(SeedAutoscaler, "leaf")


Way = Callable[[Garden], Awaitable[None]]
WAYS: dict[str, Way] = {
    "cordon: false": end_cordon,
    "the field is removed": drop_rule,
    "mode: Recommend": recommend_only,
    "the autoscaler is deleted": delete_scaler,
    "the autoscaler is deleted without its finalizer": lose_the_finalizer,
    "the autoscaler scales another set": scale_another_set,
    "the set is scaled to 0": scale_to_zero,
    "the set is deleted and its replicas are orphaned": orphan_the_replicas,
    "the replicas leave the set": release_the_replicas,
}


KEEPS_FINALIZER = (scale_another_set, orphan_the_replicas, release_the_replicas)
"""The autoscaler still cordons seeds of its set, or will once there is one."""


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
async def test_drained_seeds_are_released_after_a_crash_at_every_write(
    drained: Garden, way: Way
) -> None:
    after, died = 0, True
    while died:
        why = f"crash after write {after}"
        garden = drained.copy()
        before = garden.held
        garden.arm(after, {row.name for row in OURS})
        await way(garden)
        await garden.live(5)
        assert not {*garden.held} & {*before}, why
        assert garden.has_finalizer == (way in KEEPS_FINALIZER), why
        if way in (delete_scaler, lose_the_finalizer):
            assert garden.find(SeedAutoscaler, "leaf") is None, why
        after, died = after + 1, garden.died
    assert after > 2, "several writes are needed, so several crashes were tried"


async def want_it_again(garden: Garden) -> None:
    await garden.change(ManagedSeedSet, "leaf", {"spec": {"replicas": 2}})


async def relabel(garden: Garden) -> None:
    for model in (Shoot, ManagedSeed):
        await garden.change(model, "leaf-0", {"metadata": {"labels": {"set": "mine"}}})


async def hand_over(garden: Garden) -> None:
    memory = garden.api.memory
    memory.configure(dataclasses.replace(memory.options, beside_gardener=True))


HIDDEN_WAYS: dict[str, Way] = {
    "the replica is wanted again": want_it_again,
    "the replica leaves the set": relabel,
    "the set is deleted and its replicas are orphaned": orphan_the_replicas,
    "Gardener scales the set": hand_over,
}


@pytest.mark.parametrize("way", HIDDEN_WAYS.values(), ids=HIDDEN_WAYS.keys())
async def test_hidden_seeds_are_shown_after_a_crash_at_every_write(
    hiding: Garden, way: Way
) -> None:
    after, died = 0, True
    while died:
        why = f"crash after write {after}"
        garden = hiding.copy()
        # Fields of the Seed that it applied and no longer does would show it as well here.
        garden.rows = [row for row in garden.rows if row is not MANAGED_SEED]
        garden.start()
        garden.arm(after, {row.name for row in OURS})
        await way(garden)
        await garden.live(3)
        assert garden.chosen == [], why
        assert garden.hidden == [], why
        after, died = after + 1, garden.died
    assert after > 2, "several writes are needed, so several crashes were tried"


async def test_a_seed_that_a_user_has_hidden_is_not_marked_as_hidden_by_us(
    hiding: Garden,
) -> None:
    garden = hiding.copy()
    await want_it_again(garden)
    await garden.run(5)
    await garden.change(Seed, "leaf-0", {"spec": {"settings": {"scheduling": {"visible": False}}}})
    await garden.change(ManagedSeedSet, "leaf", {"spec": {"replicas": 1}})
    await garden.run(2)
    assert garden.chosen == ["Shoot leaf-0", "ManagedSeed leaf-0"]
    assert garden.hidden == ["leaf-0"]
