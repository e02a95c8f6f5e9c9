"""Whole lives of a set of seeds, told at random: what must hold at each write, and at the end."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.gardens import OURS, Garden
from tests.sets import make_guest, make_parent, make_set
from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.errors import NotFoundError
from webhook.domain import health, ordinals, rollout
from webhook.domain.options import Options, SeedsOptions
from webhook.domain.replicas import Replica

pytestmark = pytest.mark.timeout(600)

OPTIONS = Options(seeds=SeedsOptions(settle_seconds=2))
PROJECT = "garden-dev"
LEADERS = frozenset(row.name for row in OURS)
CALM_SECONDS = 900
STORIES = 2_000 if os.environ.get("ESPALIER_SOAK") else 60


class CrashError(Exception):
    """The leader is gone."""


class Wish(NamedTuple):
    """Somebody changes the set's spec."""

    spec: Any


class Mark(NamedTuple):
    """Somebody annotates a ManagedSeed, or takes the annotation back."""

    ordinal: int
    annotation: str
    value: str | None


class Arrive(NamedTuple):
    """A shoot comes to a seed, by hand and whatever the seed is about to do."""

    ordinal: int


class Leave(NamedTuple):
    """The oldest shoot goes."""


class Suffer(NamedTuple):
    """Every shoot on the seeds breaks, or gets well."""

    broken: bool


class Remove(NamedTuple):
    """Somebody deletes a part of a replica by hand."""

    model: type[Any]
    ordinal: int


class Forget(NamedTuple):
    """The set's status is wiped."""


class Crash(NamedTuple):
    """The leader dies after so many more writes, and another one takes over."""

    after: int


Happening: TypeAlias = Wish | Mark | Arrive | Leave | Suffer | Remove | Forget | Crash


class Story(Garden):
    """A garden with a set in it, and a judge who sees every change."""

    def __init__(self) -> None:
        super().__init__(OPTIONS)
        self.highest = -1
        self.making: set[str] = set()
        self.going: set[str] = set()
        self.guests = 0
        self.left = -1
        self.api.before_write = self._count
        self.api.add_listener(Shoot, self._judge_shoot)
        self.api.add_listener(ManagedSeed, self._judge_managed_seed)
        self.api.add_listener(Seed, self._judge_seed)
        self.put(make_parent())
        self.put(make_set(replicas=2))

    # What happens.

    async def tell(self, happening: Happening) -> None:
        match happening:
            case Wish(spec):
                await self.change(ManagedSeedSet, "leaf", {"spec": spec})
            case Mark(ordinal, annotation, value):
                change = {"metadata": {"annotations": {annotation: value}}}
                await self._touch(ordinal, change)
            case Arrive(ordinal):
                seed = self.find(Seed, f"leaf-{ordinal}")
                if seed is not None and not seed.is_deleting:
                    self.guests += 1
                    self.put(make_guest(f"guest-{self.guests}", f"leaf-{ordinal}"))
            case Leave():
                for guest in self._guests()[:1]:
                    await self.delete(Shoot, guest.name, PROJECT)
            case Suffer(broken):
                told = {names.SIMULATE: "fail" if broken else None}
                for guest in self._guests():
                    change = {"metadata": {"annotations": told}}
                    await self.change(Shoot, guest.name, change, namespace=PROJECT)
            case Remove(model, ordinal):
                if self.find(model, f"leaf-{ordinal}") is not None:
                    await self.delete(model, f"leaf-{ordinal}")
            case Forget():
                key = ObjectKey("garden", "leaf")
                body = self.api.objects["ManagedSeedSet", key]
                self.api.put(kind_of_model(ManagedSeedSet), {**body, "status": {}})
            case Crash(after):
                self.left = after

    async def live(self, turns: int) -> None:
        """Let controllers take some turns; after each a second passes."""
        for _ in range(turns):
            try:
                await self.turn()
            except CrashError:
                self.actor, self.left = "", -1
                self.start()
            self.clock.pass_time(1.0)

    async def calm_down(self, replicas: int, version: str) -> None:
        """Take every obstacle away, and see the set come to what is wanted."""
        self.left = -1
        for guest in self._guests():
            await self.delete(Shoot, guest.name, PROJECT)
        for managed_seed in self.api.memory.store(ManagedSeed).list():
            free = {"metadata": {"annotations": {names.PROTECT_FROM_DELETION: None}}}
            await self.change(ManagedSeed, managed_seed.name, free)
        await self.tell(Wish({"replicas": replicas, "paused": False, **_partition(0)}))
        await self.tell(_template(version))
        await self.run(CALM_SECONDS, lambda: self._is_settled(replicas, version))
        assert self._is_settled(replicas, version), self.get(ManagedSeedSet, "leaf").status

    async def _touch(self, ordinal: int, change: Any) -> None:
        try:
            await self.change(ManagedSeed, f"leaf-{ordinal}", change)
        except NotFoundError:
            return

    def _count(self) -> None:
        if self.actor in LEADERS and self.left >= 0:
            self.left -= 1
            if self.left < 0:
                raise CrashError

    # What the judge sees.

    def _judge_shoot(self, old: Shoot | None, new: Shoot | None) -> None:
        shoot = new or old
        ordinal = ordinals.ordinal_of("leaf", shoot.name) if shoot is not None else None
        if shoot is None or ordinal is None or shoot.namespace != "garden":
            return
        if new is None:
            self.making.discard(shoot.name)
            self.going.discard(shoot.name)
            return
        if self.actor != "managedseedset":
            return
        if old is None:
            self._judge_birth(new, ordinal)
        elif new.is_deleting and not old.is_deleting:
            assert self.find(Seed, new.name) is None, f"{new.name} loses its Shoot before its Seed"
            self._require_unused(new.name)
        elif new.spec.kubernetes.version != old.spec.kubernetes.version:
            self._judge_update(old, new, ordinal)

    def _judge_birth(self, shoot: Shoot, ordinal: int) -> None:
        if self.find(ManagedSeed, shoot.name) is not None:
            return  # made again: somebody removed it by hand
        assert ordinal > self.highest, f"ordinal {ordinal} after {self.highest}"
        self.highest = ordinal
        self.making.add(shoot.name)
        self._require_few_in_flight()

    def _judge_update(self, old: Shoot, shoot: Shoot, ordinal: int) -> None:
        if self._is_being_made(old, ordinal):
            self._require_unused(shoot.name)
            return  # nobody is on it: it may get a mended template out of turn
        wishes = self._wishes()
        assert not wishes.paused, f"{shoot.name} is updated while the set is paused"
        assert ordinal >= wishes.partition, f"{shoot.name} is below partition {wishes.partition}"
        for other in self._replicas():
            if other.name == shoot.name or other.name in self.going | self.making:
                continue
            place = ordinals.ordinal_of("leaf", other.name) or 0
            updated = other.spec.kubernetes.version == shoot.spec.kubernetes.version
            if place > ordinal and not other.is_deleting:
                assert updated, f"{shoot.name} is updated before {other.name}"
            if updated and place > ordinal:
                assert health.is_reconciled(other), f"{other.name} is still being updated"
                self._require_crowd_well(other.name, wishes.limit)

    def _judge_managed_seed(self, old: ManagedSeed | None, new: ManagedSeed | None) -> None:
        if new is None or self.actor != "managedseedset":
            return
        if names.SCALE_IN in new.metadata.annotations:
            fresh = new.name not in self.going
            self.going.add(new.name)
            if fresh:
                self._require_few_in_flight()
        else:
            self.going.discard(new.name)
        if new.is_deleting and old is not None and not old.is_deleting:
            self._require_unused(new.name)
            assert names.PROTECT_FROM_DELETION not in new.metadata.annotations

    def _judge_seed(self, old: Seed | None, new: Seed | None) -> None:
        if new is not None:
            if health.is_seed_ready(new):
                self.making.discard(new.name)
        elif old is not None:
            self._require_unused(old.name)

    def _require_unused(self, seed: str) -> None:
        found = [shoot.name for shoot in self._guests() if shoot.spec.seed_name == seed]
        assert not found, f"{seed} is taken for empty while it carries {found}"

    def _require_few_in_flight(self) -> None:
        flying = self.making | self.going
        assert len(flying) <= self._wishes().max_parallel, f"in flight: {sorted(flying)}"

    def _require_crowd_well(self, seed: str, limit: int | str) -> None:
        crowd = [each for each in self._guests() if each.spec.seed_name == seed]
        living = [each for each in crowd if not each.is_deleting]
        ready = sum(map(health.is_hosted_ready, living))
        assert rollout.allows(limit, health.Hosted(len(living), ready)), f"{seed} is in trouble"

    # What there is.

    def _is_being_made(self, shoot: Shoot, ordinal: int) -> bool:
        name = shoot.name
        managed_seed, seed = self.find(ManagedSeed, name), self.find(Seed, name)
        return Replica(name, ordinal, shoot, managed_seed, seed).is_creating

    def _wishes(self) -> rollout.Settings:
        return rollout.settings_of(self.get(ManagedSeedSet, "leaf"))

    def _replicas(self) -> Iterator[Shoot]:
        for shoot in self.api.memory.store(Shoot).list():
            if shoot.namespace == "garden":
                yield shoot

    def _guests(self) -> list[Shoot]:
        found = self.api.memory.store(Shoot).list()
        return [shoot for shoot in found if shoot.namespace == PROJECT]

    def _is_settled(self, replicas: int, version: str) -> bool:
        owner = self.get(ManagedSeedSet, "leaf")
        status = owner.status
        counts = (status.replicas, status.ready_replicas, status.updated_replicas)
        return (
            status.observed_generation == owner.metadata.generation
            and counts == (replicas,) * 3
            and all(each.spec.kubernetes.version == version for each in self._replicas())
        )


def _partition(number: int) -> Any:
    return {"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": number}}}


def _template(version: str) -> Wish:
    return Wish({"shootTemplate": {"spec": {"kubernetes": {"version": version}}}})


ORDINALS = st.integers(0, 6)
VERSIONS = st.sampled_from(["1.35.1", "1.35.2", "1.35.3"])
HAPPENINGS: st.SearchStrategy[Happening] = st.one_of(
    st.builds(lambda count: Wish({"replicas": count}), st.integers(0, 5)),
    st.builds(_template, VERSIONS),
    st.builds(lambda number: Wish(_partition(number)), ORDINALS),
    st.builds(lambda paused: Wish({"paused": paused}), st.booleans()),
    st.builds(lambda many: Wish({"maxParallel": many}), st.integers(1, 3)),
    st.builds(Arrive, ORDINALS),
    st.builds(Leave),
    st.builds(Suffer, st.booleans()),
    st.builds(
        Mark,
        ORDINALS,
        st.just(names.PROTECT_FROM_DELETION),
        st.sampled_from(["true", None]),
    ),
    st.builds(Mark, ORDINALS, st.just(names.DELETION_PRIORITY), st.sampled_from(["1", "9"])),
    st.builds(Remove, st.sampled_from([Shoot, ManagedSeed, Seed]), ORDINALS),
    st.builds(Forget),
    st.builds(Crash, st.integers(0, 12)),
)


@settings(max_examples=STORIES, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(HAPPENINGS, st.integers(0, 8)), min_size=1, max_size=30),
    st.integers(0, 4),
    VERSIONS,
)
def test_whatever_happens_no_rule_is_broken_and_the_set_comes_to_what_is_wanted(
    story: list[tuple[Happening, int]], replicas: int, version: str
) -> None:
    asyncio.run(_live_through(story, replicas, version))


async def _live_through(story: list[tuple[Happening, int]], replicas: int, version: str) -> None:
    garden = Story()
    await garden.live(6)
    for happening, turns in story:
        await garden.tell(happening)
        await garden.live(turns)
    await garden.calm_down(replicas, version)
