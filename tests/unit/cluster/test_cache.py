"""The cache: when it is synced, what is stale, and what its snapshots show."""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.clocks import FakeClock, settle
from tests.support.scripted_server import (
    ScriptedServer,
    bookmark,
    event,
    fail,
    scripted,
    stall,
    stream,
)
from tests.unit.cluster.reflector_rig import PATH, TIMING, make_shoot
from webhook.api.core import APIService, CustomResourceDefinition
from webhook.api.kinds import kind_of_model
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.cache import ASSUMED_FOR, STALE_AFTER, Cache, NotSyncedError
from webhook.cluster.pacing import WatchTiming
from webhook.cluster.requests import Selection
from webhook.kube.meta import Object, ObjectKey
from webhook.state.live_reads import LiveGet
from webhook.state.snapshot import StaleSnapshotError

SEEDS = "/apis/core.gardener.cloud/v1beta1/seeds"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
OAK = ObjectKey("garden", "oak")

MISSING = fail(404, "NotFound")


def listed(*objects: dict[str, Any], version: str = "10", more: Iterable[object] = ()) -> Any:
    events = [event("ADDED", each) for each in objects]
    return stream(*events, bookmark(version, ends_list=True), *more, hang=True)


@dataclass
class Running:
    cache: Cache
    server: ScriptedServer
    clock: FakeClock

    def status(self, name: str):
        return next(each for each in self.cache.statuses() if each.name.startswith(name))

    async def until(self, name: str, **expected: object) -> None:
        def holds() -> bool:
            status = self.status(name)
            return all(getattr(status, what) == value for what, value in expected.items())

        await self.server.until(holds)
        await settle()


@asynccontextmanager
async def running(
    *models: type[Object], timing: WatchTiming = TIMING, **scripts: Iterable[Any]
) -> AsyncIterator[Running]:
    paths = {"shoots": PATH, "seeds": SEEDS, "definitions": DEFINITIONS, "services": SERVICES}
    async with scripted() as (server, client):
        for name, acts in scripts.items():
            server.respond(paths[name], *acts)
        clock = FakeClock()
        kinds = [kind_of_model(model) for model in models]
        cache = Cache(client, kinds, clock, timing=timing)
        cache.on_change = server.activity.set
        task = asyncio.create_task(cache.run())
        try:
            yield Running(cache, server, clock)
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            gc.unfreeze()


async def test_a_cache_is_synced_when_every_kind_is() -> None:
    async with running(Shoot, Seed, shoots=[listed(make_shoot("oak"))]) as run:
        await run.until("shoots", synced=True)
        await run.until("seeds", served=False)
        assert run.cache.synced
    hanging = stream(hang=True)
    async with running(Shoot, Seed, shoots=[listed()], seeds=[hanging]) as run:
        await run.until("shoots", synced=True)
        assert not run.cache.synced
        with pytest.raises(NotSyncedError):
            run.cache.snapshot()


async def test_a_kind_that_is_not_served_does_not_delay_the_sync_and_is_reported() -> None:
    async with running(Shoot, Seed, shoots=[listed(make_shoot("oak"))], seeds=[MISSING]) as run:
        await run.cache.wait_synced()
        snapshot = run.cache.snapshot()
        assert snapshot.get(Shoot, OAK) is not None
        assert (snapshot.serves(Shoot), snapshot.serves(Seed)) == (True, False)
        assert not snapshot.is_stale(Seed)
        assert [*snapshot.list(Seed)] == []
        status = run.status("seeds")
        assert (status.synced, status.served, status.staleness) == (False, False, 0.0)
        assert run.cache.lost_for == 0.0


async def test_an_aggregated_api_that_is_down_does_not_delay_the_sync_and_its_kind_is_stale() -> (
    None
):
    down = fail(503, "ServiceUnavailable", "the server is currently unable to handle the request")
    seeds = [down, down, listed({"metadata": {"name": "alpha"}})]
    async with running(Shoot, Seed, shoots=[listed()], seeds=seeds) as run:
        await run.until("shoots", synced=True)
        await run.server.until(lambda: run.status("seeds").failure != "")
        assert not run.cache.synced  # one failure is not enough
        await run.clock.advance(2)
        await run.cache.wait_synced()
        snapshot = run.cache.snapshot()
        assert snapshot.is_stale(Seed)
        assert snapshot.serves(Seed)
        assert run.cache.stale_kinds == ["seeds.core.gardener.cloud"]
        assert "unable to handle" in run.status("seeds").failure
        await settle()
        await run.clock.advance(4)
        await run.until("seeds", synced=True)
        assert run.cache.stale_kinds == []


async def test_an_aggregated_api_that_never_answers_does_not_delay_the_sync() -> None:
    async with running(Shoot, shoots=[listed()]) as first:
        await first.cache.wait_synced()  # the first request of a process imports modules
    # Long enough for the kind that is served, however busy the machine is.
    timing = WatchTiming(opening=1.0, chance=TIMING.chance)
    async with running(
        Shoot, Seed, timing=timing, shoots=[listed()], seeds=[stall(), stall()]
    ) as run:
        await run.server.until(lambda: run.status("seeds").failure != "")
        await run.until("shoots", synced=True)
        assert not run.cache.synced
        await run.clock.advance(2)
        await run.cache.wait_synced()
        assert run.cache.snapshot().is_stale(Seed)


async def test_a_kind_that_is_throttled_is_waited_for() -> None:
    busy = [fail(429, "TooManyRequests")] * 3
    async with running(Shoot, Seed, shoots=[listed()], seeds=[*busy, listed()]) as run:
        await run.until("shoots", synced=True)
        for times, delay in enumerate((1.2, 2.4, 4.8), start=1):
            await run.until("seeds", restarts={"throttled": times})
            assert not run.cache.synced
            await run.clock.advance(delay + 0.01)
        await run.cache.wait_synced()
        assert run.status("seeds").synced


async def test_a_server_that_refuses_everything_is_not_an_empty_cluster() -> None:
    async with running(Shoot, Seed) as run:
        await run.until("shoots", served=False)
        await run.until("seeds", served=False)
        assert not run.cache.synced


async def test_a_kind_switches_on_when_its_definition_appears() -> None:
    appears = asyncio.Event()
    definition = {"metadata": {"name": "shoots.core.gardener.cloud", "resourceVersion": "11"}}
    later = stream(bookmark("10", ends_list=True), hang=appears)
    async with running(
        *(CustomResourceDefinition, Shoot, Seed),
        definitions=[later, stream(event("ADDED", definition), hang=True)],
        shoots=[MISSING, listed(make_shoot("oak"))],
        seeds=[MISSING, listed()],
    ) as run:
        await run.cache.wait_synced()
        assert not run.cache.snapshot().serves(Shoot)
        appears.set()
        await run.until("shoots", synced=True, objects=1)
        assert run.cache.snapshot().serves(Shoot)
        # The other kind was not retried: the definition was not its own.
        assert [received.path for received in run.server.received].count(SEEDS) == 1


async def test_a_kind_switches_on_when_its_aggregated_api_appears() -> None:
    appears = asyncio.Event()
    service = {"metadata": {"name": "v1beta1.core.gardener.cloud", "resourceVersion": "11"}}
    later = stream(bookmark("10", ends_list=True), hang=appears)
    async with running(
        *(APIService, Shoot),
        services=[later, stream(event("ADDED", service), hang=True)],
        shoots=[MISSING, listed(make_shoot("oak"))],
    ) as run:
        await run.cache.wait_synced()
        appears.set()
        await run.until("shoots", synced=True, objects=1)


async def test_a_lost_watch_makes_its_kind_stale_after_a_while() -> None:
    ends = asyncio.Event()
    brief = stream(
        event("ADDED", make_shoot("oak")), bookmark("10", ends_list=True), hang=ends, cut=True
    )
    down = [fail(503, "ServiceUnavailable")] * 99
    async with running(Shoot, Seed, shoots=[brief, *down], seeds=[listed()]) as run:
        await run.cache.wait_synced()
        assert not run.cache.snapshot().is_stale(Shoot)
        ends.set()
        await run.server.until(lambda: run.status("shoots").failure != "")
        lost_at = run.clock.monotonic()
        run.clock.pass_time(STALE_AFTER)
        assert not run.cache.snapshot().is_stale(Shoot)
        run.clock.pass_time(0.1)
        snapshot = run.cache.snapshot()
        assert snapshot.is_stale(Shoot)
        assert snapshot.get(Shoot, OAK) is not None
        assert snapshot.look_up(Shoot, OAK) is None
        assert snapshot.live_reads == [LiveGet(Shoot, OAK)]
        assert run.status("shoots").staleness == run.clock.monotonic() - lost_at
        assert run.cache.lost_for == 0.0  # the other watch is established


async def test_lost_for_counts_from_the_watch_that_was_lost_last() -> None:
    ends = asyncio.Event()
    brief = stream(bookmark("10", ends_list=True), hang=ends, cut=True)
    down = [fail(503, "ServiceUnavailable")] * 9
    async with running(Shoot, shoots=[brief, *down]) as run:
        await run.cache.wait_synced()
        ends.set()
        await run.server.until(lambda: run.status("shoots").failure != "")
        run.clock.pass_time(70)
        assert run.cache.lost_for == 70


async def test_a_snapshot_expires_with_its_iteration_of_the_event_loop() -> None:
    async with running(Shoot, shoots=[listed(make_shoot("oak"))]) as run:
        await run.cache.wait_synced()
        snapshot = run.cache.snapshot()
        assert snapshot.taken_at == run.clock.now()
        assert snapshot.get(Shoot, OAK) is not None
        await asyncio.sleep(0)
        with pytest.raises(StaleSnapshotError):
            snapshot.get(Shoot, OAK)


async def test_assumed_writes_are_visible_at_once_and_are_replaced_by_the_watch() -> None:
    comes = asyncio.Event()
    first = stream(event("ADDED", make_shoot("oak", 5)), bookmark("10", ends_list=True), hang=comes)
    back = stream(event("MODIFIED", make_shoot("oak", 12, "gamma")), hang=True)
    async with running(Shoot, shoots=[first, back]) as run:
        cache = run.cache
        await cache.wait_synced()
        written = make_shoot("oak", 11, "beta")
        cache.assume_written(kind_of_model(Shoot), json.dumps(written).encode())
        assert seed_of(cache) == "beta"
        comes.set()
        async with asyncio.timeout(5):
            await cache.wait_seen(Shoot, "11")
        assert seed_of(cache) == "gamma"


async def test_a_failed_write_is_forgotten_and_one_that_is_never_observed_expires() -> None:
    async with running(Shoot, shoots=[listed(make_shoot("oak", 5))]) as run:
        cache = run.cache
        await cache.wait_synced()
        shown = cache.snapshot().get(Shoot, OAK)
        assert shown is not None
        cache.assume(Shoot(metadata=shown.metadata))
        assert cache.snapshot().get(Shoot, OAK) is not shown
        cache.forget(Shoot, OAK)
        assert cache.snapshot().get(Shoot, OAK) is shown
        cache.assume(Shoot(metadata=shown.metadata))
        cache.confirm(Shoot, OAK, "99")
        assert seed_of(cache) == ""
        run.clock.pass_time(ASSUMED_FOR.total_seconds())
        assert cache.snapshot().get(Shoot, OAK) is shown


def seed_of(cache: Cache) -> str:
    shoot = cache.snapshot().get(Shoot, OAK)
    assert shoot is not None
    return shoot.spec.seed_name


async def test_synced_objects_are_frozen_for_the_garbage_collector() -> None:
    async with running(Shoot, shoots=[listed(make_shoot("oak"))]) as run:
        await run.cache.wait_synced()
        await settle()
        assert gc.get_freeze_count() > 1000


async def test_a_kind_may_be_watched_in_part() -> None:
    async with scripted() as (server, client):
        selection = Selection(kind_of_model(Shoot), namespace="garden")
        server.respond("/apis/core.gardener.cloud/v1beta1/namespaces/garden/shoots", listed())
        cache = Cache(client, [selection], FakeClock())
        task = asyncio.create_task(cache.run())
        async with asyncio.timeout(5):
            await cache.wait_synced()
        assert cache.snapshot().serves(Shoot)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        gc.unfreeze()
