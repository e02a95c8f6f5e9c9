"""Rollouts of Gardener's sets while processes die and users edit the replicas."""

import asyncio

import pytest

from tests.support.garden_cluster import make_set, ready_seed, unique
from tests.support.gardener_sets import SeedSet, most_in_flight, updates
from tests.support.waits import eventually
from webhook.api import names

pytestmark = pytest.mark.timeout(240)

EDITS = range(3, 9)


async def test_a_roll_survives_the_deaths_of_espalier_and_gardener_and_edits_survive_the_roll(
    gardener,
):
    name, parent = unique("m"), unique("seed-")
    await ready_seed(gardener, parent)
    found = SeedSet(gardener, name)
    await gardener.kubectl(
        "create", "-f", "-", input=make_set(name, parent, 2, **{names.ROLLOUT: "true"})
    )
    await found.ready(2)
    first = await found.rolled()

    async with found.watched() as seen:
        await found.label("one")
        await eventually(lambda: updates(seen) == [("1", "one")])
        await gardener.server.kill()
        await gardener.server.start()
        second = await found.rolled(first["currentRevision"])
    assert updates(seen) == [("1", "one"), ("0", "one")]
    assert most_in_flight(seen) == 1

    await found.label("two")
    await eventually(lambda: _has(found, 1, "two"))
    await gardener.plane.gardener_apiserver.kill()
    await gardener.plane.gardener_apiserver.start()
    third = await found.rolled(second["currentRevision"])
    assert await _has(found, 0, "two")

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(_edit(found))
        tasks.create_task(found.label("three"))
    await found.rolled(third["currentRevision"])
    for ordinal in range(2):
        pool = (await found.pools(ordinal))["local"]
        assert (pool["maximum"], pool["labels"]) == (EDITS[-1], {"rolled": "three"})


async def _has(found: SeedSet, ordinal: int, value: str) -> bool:
    return await found.labels(ordinal) == {"rolled": value}


async def _edit(found: SeedSet) -> None:
    """Change a field of the list that is rolled by hand, again and again."""
    for maximum in EDITS:
        change = {"op": "replace", "path": "/spec/provider/workers/0/maximum", "value": maximum}
        for ordinal in range(2):
            await found.patch([change], f"shoot/{found.name}-{ordinal}", "json")
