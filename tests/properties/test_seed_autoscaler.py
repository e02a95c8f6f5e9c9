"""Long days of a SeedAutoscaler: its bounds hold whatever comes, and noise does not move it."""

import os
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clocks import START
from tests.landscapes import make_profile, make_shoot, raw_seed, read
from tests.sets import make_set
from tests.unit.controllers.test_seedautoscaler import make_autoscaler
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Draft, Object
from webhook.api.patches import merge
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.controllers.seedautoscaler.plan import plan
from webhook.domain.options import CapacityOptions, Options
from webhook.runtime.actions import Patch
from webhook.state.snapshot import Snapshot

pytestmark = pytest.mark.timeout(300)

DAYS = 1_000 if os.environ.get("ESPALIER_SOAK") else 15
ROOM = 10
"""Shoots that a seed takes."""
PERIOD = timedelta(seconds=15)
OPTIONS = Options(capacity=CapacityOptions(default=ROOM))
OWNER = {"kind": "ManagedSeedSet", "name": "leaf", "uid": "uid-leaf", "controller": True}


class Days:
    """A set that follows at its own pace, shoots that come and go, and the plan between them."""

    def __init__(self, replicas: int, making: int, **scaler: Any) -> None:
        self.owner: Draft = make_set(replicas=replicas)
        self.owner["metadata"]["uid"] = OWNER["uid"]
        self.scaler: Draft = make_autoscaler(**scaler)
        self.now: datetime = START
        self.ready: list[int] = [0] * replicas
        """For each seed, in how many periods it will be ready."""
        self.making = making
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

    def live(self, shoots: int) -> None:
        """Let one period pass with so many shoots there."""
        self.now += PERIOD
        self.ready = [max(0, left - 1) for left in self.ready[: self.replicas]]
        self.ready += [self.making] * (self.replicas - len(self.ready))
        for action in plan(read(SeedAutoscaler, self.scaler), self._snapshot(shoots)).actions:
            if not isinstance(action, Patch):
                continue
            assert isinstance(action.change, dict)
            if action.subresource == "scale":
                self.owner = merge(self.owner, action.change)
            elif action.subresource == "status":
                # As a leader that takes over finds it: nothing is remembered elsewhere.
                self.scaler = merge(self.scaler, action.change)
        self.history.append(self.replicas)

    def _snapshot(self, shoots: int) -> Snapshot:
        objects: list[Object] = [make_profile(), read(ManagedSeedSet, self.owner)]
        objects.append(read(SeedAutoscaler, self.scaler))
        rooms: list[str] = []
        for ordinal, left in enumerate(self.ready):
            name = f"leaf-{ordinal}"
            metadata = {"name": name, "namespace": "garden", "ownerReferences": [OWNER]}
            objects.append(read(ManagedSeed, {"metadata": metadata}))
            if left:
                continue
            seed = raw_seed(name, shoots=ROOM)
            well = {"type": "SeedSystemComponentsHealthy", "status": "True"}
            seed["status"]["conditions"].append(well)
            objects.append(read(Seed, seed))
            rooms += [name] * ROOM
        rooms += [""] * shoots
        objects += [make_shoot(f"shoot-{n}", seed=rooms[n]) for n in range(shoots)]
        known = Snapshot.of(objects, options=OPTIONS)
        return Snapshot(known._memory, self.now)


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
    for shoots in arrivals:
        days.live(shoots)
        assert low <= days.replicas <= high


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
    """Shoots come and go around a level, by less than the tolerance; seeds take their time."""
    days = Days(1, making, utilization=target, most=20)
    for wobble in noise:
        days.live(base + wobble * (base // 25))
    assert days.turns <= 1, days.history
    assert len({*days.history[-20:]}) == 1, days.history


@settings(max_examples=DAYS // 3)
@given(st.integers(10, 30), st.integers(1, 4))
def test_a_wave_within_the_window_is_ridden_out(low: int, making: int) -> None:
    """Every other minute half of the shoots are gone: fewer seeds would have to come back."""
    days = Days(1, making, utilization=50, most=20)
    for period in range(80):
        days.live(low * (2 if period // 4 % 2 else 1))
    assert days.turns == 0, days.history
