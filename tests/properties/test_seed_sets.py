"""Random histories of a ManagedSeedSet: what holds at each write, and at the end."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.fake_garden import SET_CONTROLLERS, FakeGarden
from tests.support.set_objects import make_hosted_shoot, make_parent, make_set
from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.errors import NotFoundError
from webhook.domain.options import Options, SeedsOptions
from webhook.domain.seeds import readiness, shoot_counts
from webhook.domain.sets import ordinals, rollout
from webhook.domain.sets.replicas import Replica
from webhook.domain.shoots import health
from webhook.kube.meta import ObjectKey

pytestmark = pytest.mark.timeout(600)

OPTIONS = Options(seeds=SeedsOptions(settle_seconds=2))
PROJECT = "garden-dev"
LEADERS = frozenset(row.name for row in SET_CONTROLLERS)
CALM_SECONDS = 900
EXAMPLES = 2_000 if os.environ.get("ESPALIER_SOAK") else 60


class CrashError(Exception):
    """The leader has crashed."""


class Edit(NamedTuple):
    """A user changes the set's spec."""

    spec: Any


class Mark(NamedTuple):
    """A user annotates a ManagedSeed, or removes the annotation."""

    ordinal: int
    annotation: str
    value: str | None


class Arrive(NamedTuple):
    """A shoot is placed on a seed by hand, whatever the state of the seed."""

    ordinal: int


class Leave(NamedTuple):
    """The oldest shoot is deleted."""


class Fail(NamedTuple):
    """Every shoot on the seeds fails, or recovers."""

    broken: bool


class Remove(NamedTuple):
    """A user deletes a part of a replica by hand."""

    model: type[Any]
    ordinal: int


class Forget(NamedTuple):
    """The set's status is removed."""


class Crash(NamedTuple):
    """The leader crashes after a number of writes, and another one takes over."""

    after: int


Change: TypeAlias = Edit | Mark | Arrive | Leave | Fail | Remove | Forget | Crash


class ChangingGarden(FakeGarden):
    """A garden with a set in it, and checks of every change."""

    def __init__(self) -> None:
        super().__init__(OPTIONS)
        self.highest = -1
        self.making: set[str] = set()
        self.going: set[str] = set()
        self.hosted_shoots = 0
        self.left = -1
        self.api.before_write = self._count
        self.api.add_listener(Shoot, self._check_shoot)
        self.api.add_listener(ManagedSeed, self._check_managed_seed)
        self.api.add_listener(Seed, self._check_seed)
        self.put(make_parent())
        self.put(make_set(replicas=2))

    # What happens.

    async def apply_change(self, change: Change) -> None:
        match change:
            case Edit(spec):
                await self.change(ManagedSeedSet, "leaf", {"spec": spec})
            case Mark(ordinal, annotation, value):
                patch = {"metadata": {"annotations": {annotation: value}}}
                await self._touch(ordinal, patch)
            case Arrive(ordinal):
                seed = self.find(Seed, f"leaf-{ordinal}")
                if seed is not None and not seed.is_deleting:
                    self.hosted_shoots += 1
                    self.put(make_hosted_shoot(f"guest-{self.hosted_shoots}", f"leaf-{ordinal}"))
            case Leave():
                for hosted in self._hosted_shoots()[:1]:
                    await self.delete(Shoot, hosted.name, PROJECT)
            case Fail(broken):
                annotations = {names.SIMULATE: "fail" if broken else None}
                for hosted in self._hosted_shoots():
                    patch = {"metadata": {"annotations": annotations}}
                    await self.change(Shoot, hosted.name, patch, namespace=PROJECT)
            case Remove(model, ordinal):
                if self.find(model, f"leaf-{ordinal}") is not None:
                    await self.delete(model, f"leaf-{ordinal}")
            case Forget():
                key = ObjectKey("garden", "leaf")
                body = self.api.objects[ManagedSeedSet, key]
                self.api.put(kind_of_model(ManagedSeedSet), {**body, "status": {}})
            case Crash(after):
                self.left = after

    async def live(self, turns: int) -> None:
        """Run controllers for some turns; after each a second passes."""
        for _ in range(turns):
            try:
                await self.turn()
            except CrashError:
                self.actor, self.left = "", -1
                self.start()
            self.clock.pass_time(1.0)

    async def calm_down(self, replicas: int, version: str) -> None:
        """Remove every obstacle, and check that the set converges."""
        self.left = -1
        for hosted in self._hosted_shoots():
            await self.delete(Shoot, hosted.name, PROJECT)
        for managed_seed in self.api.memory.store(ManagedSeed).list():
            free = {"metadata": {"annotations": {names.PROTECT_FROM_DELETION: None}}}
            await self.change(ManagedSeed, managed_seed.name, free)
        await self.apply_change(Edit({"replicas": replicas, "paused": False, **_partition(0)}))
        await self.apply_change(_template(version))
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

    # What is checked at every write.

    def _check_shoot(self, old: Shoot | None, new: Shoot | None) -> None:
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
            self._check_creation(new, ordinal)
        elif new.is_deleting and not old.is_deleting:
            assert self.find(Seed, new.name) is None, f"{new.name} loses its Shoot before its Seed"
            self._require_unused(new.name)
        elif new.spec.kubernetes.version != old.spec.kubernetes.version:
            self._check_update(old, new, ordinal)

    def _check_creation(self, shoot: Shoot, ordinal: int) -> None:
        if self.find(ManagedSeed, shoot.name) is not None:
            return  # created again, after a user deleted it
        assert ordinal > self.highest, f"ordinal {ordinal} after {self.highest}"
        self.highest = ordinal
        self.making.add(shoot.name)
        self._require_few_in_flight()

    def _check_update(self, old: Shoot, shoot: Shoot, ordinal: int) -> None:
        if self._is_being_made(old, ordinal):
            self._require_unused(shoot.name)
            return  # it hosts nothing, so it may get a repaired template out of turn
        settings = self._settings()
        assert not settings.paused, f"{shoot.name} is updated while the set is paused"
        assert ordinal >= settings.partition, (
            f"{shoot.name} is below partition {settings.partition}"
        )
        for other in self._replicas():
            if other.name == shoot.name or other.name in self.going | self.making:
                continue
            place = ordinals.ordinal_of("leaf", other.name) or 0
            updated = other.spec.kubernetes.version == shoot.spec.kubernetes.version
            if place > ordinal and not other.is_deleting:
                assert updated, f"{shoot.name} is updated before {other.name}"
            if updated and place > ordinal:
                assert health.is_reconciled(other), f"{other.name} is still being updated"
                self._require_hosted_shoots_ready(other.name, settings.limit)

    def _check_managed_seed(self, old: ManagedSeed | None, new: ManagedSeed | None) -> None:
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

    def _check_seed(self, old: Seed | None, new: Seed | None) -> None:
        if new is not None:
            if readiness.is_seed_ready(new):
                self.making.discard(new.name)
        elif old is not None:
            self._require_unused(old.name)

    def _require_unused(self, seed: str) -> None:
        found = [shoot.name for shoot in self._hosted_shoots() if shoot.spec.seed_name == seed]
        assert not found, f"{seed} is taken for empty while it carries {found}"

    def _require_few_in_flight(self) -> None:
        in_flight = self.making | self.going
        assert len(in_flight) <= self._settings().max_parallel, f"in flight: {sorted(in_flight)}"

    def _require_hosted_shoots_ready(self, seed: str, limit: int | str) -> None:
        hosted = [each for each in self._hosted_shoots() if each.spec.seed_name == seed]
        remaining = [each for each in hosted if not each.is_deleting]
        ready = sum(map(shoot_counts.is_hosted_ready, remaining))
        assert rollout.is_within_limit(limit, shoot_counts.HostedShoots(len(remaining), ready)), (
            f"too many shoots of {seed} are unready"
        )

    # What exists.

    def _is_being_made(self, shoot: Shoot, ordinal: int) -> bool:
        name = shoot.name
        managed_seed, seed = self.find(ManagedSeed, name), self.find(Seed, name)
        return Replica(name, ordinal, shoot, managed_seed, seed).is_creating

    def _settings(self) -> rollout.RolloutSettings:
        return rollout.settings_of(self.get(ManagedSeedSet, "leaf"))

    def _replicas(self) -> Iterator[Shoot]:
        for shoot in self.api.memory.store(Shoot).list():
            if shoot.namespace == "garden":
                yield shoot

    def _hosted_shoots(self) -> list[Shoot]:
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


def _template(version: str) -> Edit:
    return Edit({"shootTemplate": {"spec": {"kubernetes": {"version": version}}}})


ORDINALS = st.integers(0, 6)
VERSIONS = st.sampled_from(["1.35.1", "1.35.2", "1.35.3"])
CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.builds(lambda count: Edit({"replicas": count}), st.integers(0, 5)),
    st.builds(_template, VERSIONS),
    st.builds(lambda number: Edit(_partition(number)), ORDINALS),
    st.builds(lambda paused: Edit({"paused": paused}), st.booleans()),
    st.builds(lambda many: Edit({"maxParallel": many}), st.integers(1, 3)),
    st.builds(Arrive, ORDINALS),
    st.builds(Leave),
    st.builds(Fail, st.booleans()),
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


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(CHANGES, st.integers(0, 8)), min_size=1, max_size=30),
    st.integers(0, 4),
    VERSIONS,
)
def test_no_rule_is_broken_and_the_set_converges(
    history: list[tuple[Change, int]], replicas: int, version: str
) -> None:
    asyncio.run(_live_through(history, replicas, version))


async def _live_through(history: list[tuple[Change, int]], replicas: int, version: str) -> None:
    garden = ChangingGarden()
    await garden.live(6)
    for change, turns in history:
        await garden.apply_change(change)
        await garden.live(turns)
    await garden.calm_down(replicas, version)
