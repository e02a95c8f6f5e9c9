"""For any windows, edits and crashes: floors equal the open windows, and nothing is left."""

import copy
import os
from typing import Any, NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.fake_scaling_cluster import (
    AUTOSCALER,
    TORTOISE,
    FakeScalingCluster,
    make_autoscaler,
    make_scaling,
    make_tortoise,
)
from webhook.api import names
from webhook.api.core import HorizontalPodAutoscaler
from webhook.api.kinds import kind_of_model
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.domain.scaling import raised_values, schedules
from webhook.domain.scaling.constraints import constraints_of
from webhook.kube.quantity import parse

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
    """What a user does at a minute: set the policy's memory, or the autoscaler's bounds."""

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
# A user may set a bound to exactly the value that a window has raised it to.
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
    cluster = FakeScalingCluster(make_tortoise(phase=phase), make_autoscaler(), *scalings)
    wished = UserValues(cluster.tortoise["spec"], (3, 20), works)
    edges = {minute for start, length, *_ in windows for minute in (start, start + length)}
    instants = {0, *edges, *(edge - 1 for edge in edges), *(edit.minute for edit in edits)}
    slots = cluster.tortoise["status"]["recommendations"]["horizontal"]
    # Replicas that stay for ten minutes would count as demand, so the Tortoise runs more often.
    for minute in sorted({*instants, *crashes, *range(0, LAST, 8), LAST}):
        cluster.at(minute)
        if minute in crashes:
            cluster.reconcile(crash_after=crashes[minute])
        cluster.reconcile()
        check(cluster, wished)
        for edit in (each for each in edits if each.minute == minute):
            wished.take(edit, cluster)
            cluster.reconcile()
            check(cluster, wished)
        live(cluster)
        cluster.reconcile()
        check(cluster, wished)
    for step in range(1, 15):  # two hours
        live(cluster.at(LAST + 9 * step).reconcile())
    check(cluster, wished)
    assert cluster.tortoise["spec"] == wished.spec
    assert cluster.tortoise["status"]["recommendations"]["horizontal"] == slots
    assert "constraints" not in cluster.tortoise["status"]["recommendations"]
    for raw in (cluster.tortoise, cluster.autoscaler):
        annotations = raw["metadata"].get("annotations", {})
        assert raised_values.ANNOTATION not in annotations
        assert names.SCALING_FLOORS not in annotations


class UserValues:
    """The values that users set, regardless of the floors at the moment."""

    def __init__(self, spec: dict[str, Any], bounds: tuple[int, int], works: bool) -> None:
        self.spec = copy.deepcopy(spec)
        self.bounds = bounds
        self._works = works

    def take(self, edit: Edit, cluster: FakeScalingCluster) -> None:
        """Apply an edit as a user does who applies a whole policy."""
        policy = None
        if edit.memory is not None:
            floor = {"memory": edit.memory}
            policy = [{"containerName": "app", "minAllocatedResources": floor}]
            self.spec["resourcePolicy"] = policy
        else:
            self.spec.pop("resourcePolicy", None)
        change = {"spec": {"resourcePolicy": policy}}
        cluster.write(kind_of_model(Tortoise), TORTOISE, change)
        if not self._works:  # otherwise Tortoise decides
            least, most = edit.bounds
            self.bounds = self._user_value(cluster, edit.bounds)
            bounds = {"spec": {"minReplicas": least, "maxReplicas": most}}
            cluster.write(kind_of_model(HorizontalPodAutoscaler), AUTOSCALER, bounds)

    def _user_value(self, cluster: FakeScalingCluster, bounds: tuple[int, int]) -> tuple[int, int]:
        """Return the value of a user: a value that equals our own floor counts as ours."""
        noted = raised_values.read(cluster.autoscaler)
        applied = {name: note.applied for name, note in noted.values.items()} if noted else {}
        least, most = (
            before if applied.get(name) == wanted else wanted
            for name, before, wanted in zip(
                ("minReplicas", "maxReplicas"), self.bounds, bounds, strict=True
            )
        )
        return least, most


def check(cluster: FakeScalingCluster, wished: UserValues) -> None:
    """Compare everything that floors change with the maximum over the open windows."""
    held = schedules.open_floors(cluster.memory.store(ScheduledScaling).list(), cluster.now)
    found = cluster.memory.store(Tortoise).get(TORTOISE)
    wanted = schedules.effective_floors(found, held, cluster.memory.options.scaling)
    spec = cluster.autoscaler["spec"]
    assert spec["minReplicas"] == max(wished.bounds[0], wanted.replicas or 0)
    assert spec["maxReplicas"] == max(wished.bounds[1], wanted.replicas or 0)
    least = parse(_memory(wished.spec) or "0")
    floor = parse(wanted.resources.get("app", {}).get("memory", "0"))
    assert parse(_memory(cluster.tortoise["spec"]) or "0") == max(least, floor)
    recorded = cluster.tortoise["status"]["recommendations"].get("constraints")
    assert recorded == (constraints_of(held) if held else None)
    assert ("recommenders" in cluster.tortoise["spec"]) == bool(held)


def _memory(spec: dict[str, Any]) -> str | None:
    for entry in spec.get("resourcePolicy") or ():
        memory: str | None = entry.get("minAllocatedResources", {}).get("memory")
        return memory
    return None


def live(cluster: FakeScalingCluster) -> None:
    """Scale as an autoscaler does, up at once and down by 2 % in 90 s, and run Tortoise."""
    least = cluster.autoscaler["spec"]["minReplicas"]
    there = cluster.autoscaler["status"]["currentReplicas"]
    cluster.tortoise_works(max(least, round(there * 0.98**6)))
