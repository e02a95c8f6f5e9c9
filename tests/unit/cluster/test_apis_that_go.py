"""A watch may outlive the API that it was opened through: what goes is asked about again."""

import asyncio
import gc
from contextlib import suppress

import pytest

from tests.clocks import FakeClock, settle
from tests.scripted import bookmark, event, fail, page, scripted, stream
from tests.unit.cluster.rig import PATH, TIMING, following, make_shoot
from webhook.api.core import APIService
from webhook.api.kinds import kind_of_model
from webhook.api.meta import ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster.cache import Cache

START = (fail(422, "Invalid"), page(make_shoot("oak", 5), version="10"))
MISSING = fail(404, "NotFound")
CORE = "v1beta1.core.gardener.cloud"


async def test_a_kind_in_doubt_is_asked_for_again_while_its_watch_still_stands() -> None:
    async with following(*START) as rig:
        await rig.until_watching(10)
        rig.server.play(PATH, MISSING, MISSING)
        for _ in range(2):  # whoever doubts twice at once is heard once
            rig.reflector.doubt()
        await rig.retry(1)
        await rig.until_failed(2)
        assert not rig.reflector.standing.served
        assert rig.shown() == {}


async def test_a_kind_in_doubt_that_is_served_loses_nothing() -> None:
    async with following(*START) as rig:
        await rig.until_watching(10)
        asked = len(rig.asked)
        rig.reflector.doubt()
        await rig.server.until(lambda: len(rig.asked) > asked)
        await rig.until_watching(10)
        assert rig.told == [("added", "oak")]
        assert rig.reflector.standing.relists == 0


async def test_nobody_doubts_what_is_not_being_asked() -> None:
    async with following(MISSING) as rig:
        await rig.until_failed()
        rig.reflector.doubt()
        await settle()
        assert len(rig.asked) == 1


@pytest.mark.parametrize("name", [CORE, "v1.core.gardener.cloud"])
async def test_an_apiservice_that_goes_puts_its_kinds_in_doubt(name: str) -> None:
    service = {"metadata": {"name": name, "resourceVersion": "1"}, "spec": {"service": {}}}
    goes = asyncio.Event()
    paths = {model: f"/apis/core.gardener.cloud/v1beta1/{model.__name__.lower()}s"
             for model in (Shoot, Seed)}  # fmt: skip
    async with scripted() as (server, client):
        server.play(
            "/apis/apiregistration.k8s.io/v1/apiservices",
            stream(event("ADDED", service), bookmark("10", ends_list=True), hang=goes),
            stream(event("DELETED", service), hang=True),
        )
        for path in paths.values():
            server.play(path, stream(bookmark("10", ends_list=True), hang=True))
        kinds = [kind_of_model(model) for model in (APIService, Shoot, Seed)]
        cache = Cache(client, kinds, FakeClock(), timing=TIMING)
        task = asyncio.create_task(cache.run())
        try:
            await cache.wait_synced()
            await settle()
            cache.add_listener(APIService, lambda _old, _new: server.happened.set())
            goes.set()
            await server.until(lambda: cache.peek(APIService, ObjectKey("", name)) is None)
            await settle()
            doubted = {each.name for each in cache.statuses() if each.restarts["doubted"]}
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            gc.unfreeze()
    expected = {kind_of_model(model).resource for model in (Shoot, Seed)}
    assert doubted == (expected if name == CORE else set())
