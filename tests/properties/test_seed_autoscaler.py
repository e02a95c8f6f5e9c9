"""Long simulations of a SeedAutoscaler: its bounds always hold, and noise does not move it."""

import os
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.clocks import START
from tests.support.landscape_objects import make_profile, make_shoot, raw_seed, read
from tests.support.set_objects import make_autoscaler, make_set
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.controllers.seedautoscaler.plan import plan
from webhook.domain.options import CapacityOptions, Options
from webhook.kube.meta import Draft, Object
from webhook.kube.patches import merge
from webhook.runtime.actions import Patch
from webhook.state.snapshot import Snapshot

pytestmark = pytest.mark.timeout(300)

DAYS = 1_000 if os.environ.get("ESPALIER_SOAK") else 15
ROOM = 10
"""How many shoots a seed hosts."""
PERIOD = timedelta(seconds=15)
OPTIONS = Options(capacity=CapacityOptions(default=ROOM))
OWNER = {"kind": "ManagedSeedSet", "name": "leaf", "uid": "uid-leaf", "controller": True}


class Days:
    """A set that scales with a delay, shoots that arrive and leave, and the plan between them.

    Shoots stay on their seed, and the set removes only seeds without shoots.
    """

    def __init__(self, replicas: int, making: int, **scaler: Any) -> None:
        self.owner: Draft = make_set(replicas=replicas)
        self.owner["metadata"]["uid"] = OWNER["uid"]
        self.scaler: Draft = make_autoscaler(**scaler)
        self.now: datetime = START
        self.seeds: dict[str, int] = {f"leaf-{ordinal}": 0 for ordinal in range(replicas)}
        """For each seed, in how many periods it becomes ready."""
        self.placed: list[str] = []
        """For each shoot its seed; empty while it has none."""
        self.making = making
        self.made = replicas
        self.history = [replicas]

    @property
    def replicas(self) -> int:
        found: int = self.owner["spec"]["replicas"]
        return found

    @property
    def turns(self) -> int:
        """How often scaling changed its direction."""
        steps = pairwise(self.history)
        moves = [after > before for before, after in steps if after != before]
        return sum(one != other for one, other in pairwise(moves))

    @property
    def ready(self) -> list[str]:
        return [name for name, left in self.seeds.items() if not left]

    @property
    def stuck(self) -> int:
        """The number of ready seeds that cannot be removed."""
        return len({*self.placed} & {*self.ready})

    def is_on_target(self, target: int) -> bool:
        """Return whether the load is within the tolerance of 10 percent."""
        percent = 100 * len(self.placed) / (ROOM * len(self.ready)) if self.ready else 0
        return 0.9 * target <= percent <= 1.1 * target

    def live(self, shoots: int, leave: int = 0) -> None:
        """Simulate one period with a number of shoots; `leave` selects those that are deleted."""
        self.now += PERIOD
        self._scale()
        while len(self.placed) > shoots:
            self.placed.pop(leave % len(self.placed))
        self.placed += [""] * (shoots - len(self.placed))
        self._place()
        for action in plan(read(SeedAutoscaler, self.scaler), self._snapshot()).actions:
            if not isinstance(action, Patch):
                continue
            assert isinstance(action.change, dict)
            if action.subresource == "scale":
                self.owner = merge(self.owner, action.change)
            elif action.subresource == "status":
                # A new leader finds everything in the object: no state is kept elsewhere.
                self.scaler = merge(self.scaler, action.change)
        self.history.append(self.replicas)

    def _scale(self) -> None:
        """Create missing seeds, and remove surplus ones that host no shoots."""
        self.seeds = {name: max(0, left - 1) for name, left in self.seeds.items()}
        while len(self.seeds) < self.replicas:
            self.seeds[f"leaf-{self.made}"] = self.making
            self.made += 1
        for name in [*self.seeds]:
            if len(self.seeds) > self.replicas and name not in self.placed:
                del self.seeds[name]

    def _place(self) -> None:
        for index, seed in enumerate(self.placed):
            room = [name for name in self.ready if self.placed.count(name) < ROOM]
            if not seed and room:
                self.placed[index] = min(room, key=self.placed.count)

    def _snapshot(self) -> Snapshot:
        objects: list[Object] = [make_profile(), read(ManagedSeedSet, self.owner)]
        objects.append(read(SeedAutoscaler, self.scaler))
        for name, left in self.seeds.items():
            metadata = {"name": name, "namespace": "garden", "ownerReferences": [OWNER]}
            objects.append(read(ManagedSeed, {"metadata": metadata}))
            if left:
                continue
            seed = raw_seed(name, shoots=ROOM)
            well = {"type": "SeedSystemComponentsHealthy", "status": "True"}
            seed["status"]["conditions"].append(well)
            objects.append(read(Seed, seed))
        objects += [make_shoot(f"shoot-{n}", seed=seed) for n, seed in enumerate(self.placed)]
        known = Snapshot.of(objects, options=OPTIONS)
        return Snapshot(known._state, self.now)


@settings(max_examples=DAYS)
@given(
    st.lists(st.integers(0, 70), min_size=5, max_size=40),
    st.integers(0, 3),
    st.integers(3, 8),
    st.integers(0, 10),
    st.integers(1, 8),
)
def test_a_set_never_leaves_its_bounds(
    arrivals: list[int], low: int, high: int, replicas: int, making: int
) -> None:
    days = Days(replicas, making, minReplicas=low, maxReplicas=high)
    for number, shoots in enumerate(arrivals):
        days.live(shoots, leave=7 * number)
        if replicas == 0 < low:
            assert days.replicas == 0, "a set that was scaled to 0 by hand is left alone"
        else:
            assert low <= days.replicas <= high


@settings(max_examples=DAYS)
@given(
    st.lists(st.integers(0, 60), min_size=5, max_size=30),
    st.lists(st.integers(0, 8), min_size=30, max_size=30),
    st.integers(0, 99),
    st.sampled_from([50, 80]),
)
def test_seeds_on_target_that_cannot_be_removed_are_wanted(
    arrivals: list[int], by_hand: list[int], leave: int, target: int
) -> None:
    """Somebody scales the set at any time, whatever its seeds host; 0 is nobody."""
    days = Days(1, 1, utilization=target, most=20)
    for shoots, hand in zip(arrivals, by_hand, strict=False):
        if hand:
            days.owner["spec"]["replicas"] = hand
        days.live(shoots, leave)
        if days.is_on_target(target):
            assert days.replicas >= days.stuck, days.history
        assert {*days.placed} <= {"", *days.seeds}, "no seed with shoots was removed"
    for _ in range(40):
        days.live(arrivals[-1], leave)
    assert len({*days.history[-10:]}) == 1, days.history


@settings(max_examples=DAYS)
@given(
    st.integers(8, 60),
    st.lists(st.integers(-1, 1), min_size=60, max_size=60),
    st.integers(1, 6),
    st.sampled_from([50, 60, 80]),
)
def test_noise_does_not_make_a_set_flap(
    base: int, noise: list[int], making: int, target: int
) -> None:
    """Shoots vary around a level by less than the tolerance; seeds become ready with a delay."""
    days = Days(1, making, utilization=target, most=20)
    for wobble in noise:
        days.live(base + wobble * (base // 25))
    assert days.turns <= 1, days.history
    assert len({*days.history[-20:]}) == 1, days.history


@settings(max_examples=DAYS // 3)
@given(st.integers(10, 30), st.integers(1, 4))
def test_a_wave_within_the_window_is_ridden_out(low: int, making: int) -> None:
    """Every other minute half of the shoots are gone: scaling in would have to be reverted."""
    days = Days(1, making, utilization=50, most=20)
    for period in range(80):
        days.live(low * (2 if period // 4 % 2 else 1))
    assert days.turns == 0, days.history
