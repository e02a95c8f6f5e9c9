"""A watch may outlive the APIService that it was opened through: it is reconnected."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from tests.support.clocks import FakeClock, settle
from tests.support.scripted_server import (
    ScriptedServer,
    bookmark,
    event,
    fail,
    page,
    scripted,
    stream,
)
from tests.unit.cluster.reflector_rig import PATH, TIMING, make_shoot, run_reflector
from webhook.api.core import APIService
from webhook.api.kinds import kind_of_model
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.cache import Cache
from webhook.kube.meta import ObjectKey

START = (fail(422, "Invalid"), page(make_shoot("oak", 5), version="10"))
MISSING = fail(404, "NotFound")
CORE = "v1beta1.core.gardener.cloud"


async def test_reconnect_replaces_an_established_watch() -> None:
    async with run_reflector(*START) as rig:
        await rig.until_watching(10)
        rig.server.respond(PATH, MISSING, MISSING)
        for _ in range(2):  # two calls at once have the effect of one
            rig.reflector.reconnect()
        await rig.retry(1)
        await rig.until_failed(2)
        assert not rig.reflector.state.served
        assert rig.shown() == {}


async def test_reconnect_to_the_same_server_loses_nothing() -> None:
    async with run_reflector(*START) as rig:
        await rig.until_watching(10)
        received = len(rig.received)
        rig.reflector.reconnect()
        await rig.server.until(lambda: len(rig.received) > received)
        await rig.until_watching(10)
        assert rig.calls == [("added", "oak")]
        assert rig.reflector.state.relists == 0


async def test_reconnect_without_a_connection_does_nothing() -> None:
    async with run_reflector(MISSING) as rig:
        await rig.until_failed()
        rig.reflector.reconnect()
        await settle()
        assert len(rig.received) == 1


@pytest.mark.parametrize("name", [CORE, "v1.core.gardener.cloud"])
async def test_a_deleted_apiservice_makes_its_kinds_reconnect(name: str) -> None:
    async with watching_apiservice(name) as (rig, _):
        await rig.delete_apiservice()
        assert rig.reconnects() == ({"shoots": 1, "seeds": 1} if name == CORE else {})


async def test_watches_reconnect_until_the_aggregator_has_noticed_the_deletion() -> None:
    """A watch that was opened too early is proxied to the removed server: it is opened anew."""
    async with watching_apiservice(CORE) as (rig, clock):
        await rig.delete_apiservice()
        seen = []
        for seconds in (0.9, 0.2, 3.8, 0.2, 24.8, 0.2, 600):
            await rig.advance(clock, seconds)
            seen.append(rig.reconnects()["shoots"])
        assert seen == [1, 2, 2, 3, 3, 4, 4]


async def test_an_apiservice_that_returns_ends_the_reconnects() -> None:
    async with watching_apiservice(CORE) as (rig, clock):
        await rig.delete_apiservice()
        await rig.restore_apiservice()
        await rig.advance(clock, 60)
        assert rig.reconnects() == {"shoots": 1, "seeds": 1}


class ApiServiceRig:
    """A cache of APIServices, Shoots and Seeds over a scripted API server."""

    def __init__(self, server: ScriptedServer, cache: Cache, name: str) -> None:
        self._server, self._cache, self._key = server, cache, ObjectKey("", name)
        self.deleted, self.restored = asyncio.Event(), asyncio.Event()

    async def delete_apiservice(self) -> None:
        self.deleted.set()
        await self._server.until(lambda: self._cache.peek(APIService, self._key) is None)
        await settle()

    async def restore_apiservice(self) -> None:
        self.restored.set()
        await self._server.until(lambda: self._cache.peek(APIService, self._key) is not None)

    async def advance(self, clock: FakeClock, seconds: float) -> None:
        """Move the clock and wait until every watch that it closed is requested again."""
        await clock.advance(seconds)
        await self._server.until(
            lambda: all(self._requests(name) > count for name, count in self.reconnects().items())
        )

    def _requests(self, resource: str) -> int:
        return sum(each.path.endswith(f"/{resource}") for each in self._server.received)

    def reconnects(self) -> dict[str, int]:
        found = {each.name.partition(".")[0]: each.restarts["doubted"]
                 for each in self._cache.statuses()}  # fmt: skip
        return {name: count for name, count in found.items() if count}


@asynccontextmanager
async def watching_apiservice(name: str) -> AsyncIterator[tuple[ApiServiceRig, FakeClock]]:
    service = {"metadata": {"name": name, "resourceVersion": "1"}, "spec": {"service": {}}}
    again = {**service, "metadata": {"name": name, "resourceVersion": "12"}}
    clock = FakeClock()
    async with scripted() as (server, client):
        kinds = [kind_of_model(model) for model in (APIService, Shoot, Seed)]
        cache = Cache(client, kinds, clock, timing=TIMING)
        rig = ApiServiceRig(server, cache, name)
        server.respond(
            "/apis/apiregistration.k8s.io/v1/apiservices",
            stream(event("ADDED", service), bookmark("10", ends_list=True), hang=rig.deleted),
            stream(event("DELETED", service), hang=rig.restored),
            stream(event("ADDED", again), hang=True),
        )
        for resource in ("shoots", "seeds"):
            established = [stream(bookmark("10"), hang=True) for _ in range(6)]
            server.respond(
                f"/apis/core.gardener.cloud/v1beta1/{resource}",
                stream(bookmark("10", ends_list=True), hang=True),
                *established,
            )
        task = asyncio.create_task(cache.run())
        try:
            await cache.wait_synced()
            await settle()
            cache.add_listener(APIService, lambda _old, _new: server.activity.set())
            yield rig, clock
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            gc.unfreeze()
