"""Whatever windows, edits and crashes come: floors equal the open windows, and nothing is left."""

import copy
import os
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.scalings import (
    AUTOSCALER,
    TORTOISE,
    World,
    make_autoscaler,
    make_scaling,
    make_tortoise,
)
from webhook.api import names
from webhook.api.core import HorizontalPodAutoscaler
from webhook.api.kinds import kind_of_model
from webhook.api.quantity import parse
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.domain import notes, schedules
from webhook.domain.constraints import constraints_of

pytestmark = pytest.mark.timeout(0 if os.environ.get("ESPALIER_SOAK") else 120)

LAST = 25
"""No window reaches beyond this minute."""

WINDOWS = st.lists(
    st.tuples(
        st.integers(1, 12),
        st.integers(1, 12),
        st.one_of(st.none(), st.integers(4, 120)),
        st.sampled_from(["", "512Mi", "2G", "5Gi"]),
    ).filter(lambda each: each[2] is not None or each[3]),
    min_size=1,
    max_size=3,
)


class Edit(NamedTuple):
    """What a person does at a minute: sets the policy's memory, or the autoscaler's bounds."""

    minute: int
    memory: str | None
    bounds: tuple[int, int]


EDITS = st.lists(
    st.builds(
        Edit,
        st.integers(0, LAST),
        st.sampled_from([None, "1Gi", "3Gi"]),
        st.tuples(st.integers(1, 6), st.integers(7, 30)),
    ),
    max_size=3,
)
CRASHES = st.dictionaries(st.integers(0, LAST), st.integers(1, 7), max_size=4)


@settings(max_examples=1_000 if os.environ.get("ESPALIER_SOAK") else 25)
@given(WINDOWS, EDITS, CRASHES, st.booleans())
# Somebody asks for exactly what a window has raised a bound to.
@example([(1, 1, 4, ""), (1, 1, 21, "")], [Edit(1, None, (1, 21))], {}, False)
def test_floors_equal_the_open_windows_and_nothing_is_left(
    windows: list[tuple[int, int, int | None, str]],
    edits: list[Edit],
    crashes: dict[int, int],
    works: bool,
) -> None:
    scalings = [
        make_scaling(f"s{number}", start, length, replicas, memory)
        for number, (start, length, replicas, memory) in enumerate(windows)
    ]
    phase = "Working" if works else "PartlyWorking"
    world = World(make_tortoise(phase=phase), make_autoscaler(), *scalings)
    wished = Wishes(world.tortoise["spec"], (3, 20), works)
    edges = {minute for start, length, *_ in windows for minute in (start, start + length)}
    instants = {0, *edges, *(edge - 1 for edge in edges), *(edit.minute for edit in edits)}
    slots = world.tortoise["status"]["recommendations"]["horizontal"]
    # Replicas that stand still for ten minutes would be demand, so nobody looks away that long.
    for minute in sorted({*instants, *crashes, *range(0, LAST, 8), LAST}):
        world.at(minute)
        if minute in crashes:
            world.reconcile(crash_after=crashes[minute])
        world.reconcile()
        check(world, wished)
        for edit in (each for each in edits if each.minute == minute):
            wished.take(edit, world)
            world.reconcile()
            check(world, wished)
        live(world)
        world.reconcile()
        check(world, wished)
    for step in range(1, 15):  # two hours
        live(world.at(LAST + 9 * step).reconcile())
    check(world, wished)
    assert world.tortoise["spec"] == wished.spec
    assert world.tortoise["status"]["recommendations"]["horizontal"] == slots
    assert "constraints" not in world.tortoise["status"]["recommendations"]
    for raw in (world.tortoise, world.autoscaler):
        annotations = raw["metadata"].get("annotations", {})
        assert notes.ANNOTATION not in annotations
        assert names.SCALING_FLOORS not in annotations


class Wishes:
    """What people want, whatever floors hold just now."""

    def __init__(self, spec: dict[str, Any], bounds: tuple[int, int], works: bool) -> None:
        self.spec = copy.deepcopy(spec)
        self.bounds = bounds
        self._works = works

    def take(self, edit: Edit, world: World) -> None:
        """Make an edit, as a person who applies a whole policy would."""
        policy = None
        if edit.memory is not None:
            floor = {"memory": edit.memory}
            policy = [{"containerName": "app", "minAllocatedResources": floor}]
            self.spec["resourcePolicy"] = policy
        else:
            self.spec.pop("resourcePolicy", None)
        change = {"spec": {"resourcePolicy": policy}}
        world.write(kind_of_model(Tortoise), TORTOISE, change)
        if not self._works:  # else Tortoise itself has the say
            least, most = edit.bounds
            self.bounds = self._wish(world, edit.bounds)
            bounds = {"spec": {"minReplicas": least, "maxReplicas": most}}
            world.write(kind_of_model(HorizontalPodAutoscaler), AUTOSCALER, bounds)

    def _wish(self, world: World, bounds: tuple[int, int]) -> tuple[int, int]:
        """Tell a wish from our own floor: the very value that was applied counts as ours."""
        noted = notes.read(world.autoscaler)
        applied = {name: note.applied for name, note in noted.values.items()} if noted else {}
        least, most = (
            before if applied.get(name) == wanted else wanted
            for name, before, wanted in zip(
                ("minReplicas", "maxReplicas"), self.bounds, bounds, strict=True
            )
        )
        return least, most


def check(world: World, wished: Wishes) -> None:
    """Compare everything that floors touch with the maximum over the windows open now."""
    held = schedules.held(world.memory.store(ScheduledScaling).list(), world.now)
    found = world.memory.store(Tortoise).get(TORTOISE)
    wanted = schedules.effective(found, held, world.memory.options.scaling)
    spec = world.autoscaler["spec"]
    assert spec["minReplicas"] == max(wished.bounds[0], wanted.replicas or 0)
    assert spec["maxReplicas"] == max(wished.bounds[1], wanted.replicas or 0)
    least = parse(_memory(wished.spec) or "0")
    floor = parse(wanted.resources.get("app", {}).get("memory", "0"))
    assert parse(_memory(world.tortoise["spec"]) or "0") == max(least, floor)
    recorded = world.tortoise["status"]["recommendations"].get("constraints")
    assert recorded == (constraints_of(held) if held else None)
    assert ("recommenders" in world.tortoise["spec"]) == bool(held)


def _memory(spec: dict[str, Any]) -> str | None:
    for entry in spec.get("resourcePolicy") or ():
        memory: str | None = entry.get("minAllocatedResources", {}).get("memory")
        return memory
    return None


def live(world: World) -> None:
    """Scale as an autoscaler does, up at once and down by 2 % in 90 s, and let Tortoise watch."""
    least = world.autoscaler["spec"]["minReplicas"]
    there = world.autoscaler["status"]["currentReplicas"]
    world.tortoise_works(max(least, round(there * 0.98**6)))
