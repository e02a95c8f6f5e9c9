"""Faults that a reflector survives: refusals, noise, silence, lost history.

The same faults run without a server in tests/unit/cluster; here everything except the fault itself
comes from kube-apiserver or from the embedded server.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from aiohttp import web

from tests.faults.interfering_proxy import lists, open_interfering_proxy, streams, watches
from tests.support.scripted_server import (
    Handler,
    bookmark,
    event,
    fail,
    respond_text,
    status,
    stream,
)
from tests.support.waits import eventually
from tests.support.widgets import (
    DEFINITIONS,
    Widget,
    define,
    following,
    install,
    make_kind,
    make_widget,
    talking,
    uninstall,
    until_served,
)
from webhook.api.core import APIService, ConfigMap, Namespace
from webhook.api.kinds import Kind, kind_of_model
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, NotFoundError
from webhook.cluster.pacing import WatchTiming
from webhook.cluster.requests import Selection
from webhook.kube.meta import ObjectKey
from webhook.kube.resource_versions import covers

CONFIG_MAP, SERVICES = kind_of_model(ConfigMap), kind_of_model(APIService)
PROMPT = WatchTiming(chance=lambda: 0.0)
"""No jitter, and the shortest waits."""

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(params=["embedded", "real"])
def server(request):
    return request.getfixturevalue(f"{request.param}_server")


@pytest.fixture
async def client(server) -> AsyncIterator[Client]:
    async with talking(server) as client:
        yield client


@pytest.fixture
async def kind(client) -> AsyncIterator[Kind]:
    kind = make_kind()
    await install(client, kind)
    yield kind
    await uninstall(client, kind)


def names(cache: Cache) -> set[str]:
    return {widget.name for widget in cache.state.store(Widget).list()}


async def create(client: Client, kind: Kind, name: str) -> None:
    await client.create(kind, ObjectKey("default", ""), make_widget(name))


def shows(cache: Cache, name: str) -> bool:
    return name in names(cache)


def restarts(cache: Cache) -> dict[str, int]:
    (found,) = cache.statuses()
    return {**found.restarts}


REFUSALS: dict[str, Handler] = {
    "by a server with the feature off": fail(422, "Invalid", "sendInitialEvents is forbidden"),
    "as a bad request": fail(400, "BadRequest"),
    "by an ERROR event": stream(event("ERROR", status(400, "BadRequest"))),
    "by an ERROR event of an internal error": stream(event("ERROR", status(500, "InternalError"))),
}


async def test_a_stream_that_is_refused_is_read_in_pages(server, client, kind) -> None:
    await create(client, kind, "oak")
    for number, (name, refusal) in enumerate(REFUSALS.items()):
        async with open_interfering_proxy(server) as (proxy, interfered):
            proxy.answer_next(streams, refusal)
            async with following(interfered, kind, timing=PROMPT) as cache:
                assert names(cache) >= {"oak"}, name
                (listed,) = filter(lists, proxy.requests)
                assert listed.query == {"limit": "250"}, "and no resourceVersion"
                await create(client, kind, f"elm-{number}")
                await eventually(partial(shows, cache, f"elm-{number}"))
                assert [request.streams for request in proxy.requests] == [True, False, False]


FAULTS: dict[str, tuple[Handler, str]] = {
    "429": (fail(429, "TooManyRequests", headers={"Retry-After": "1"}), "throttled"),
    "429 as an event": (stream(event("ERROR", status(429, "TooManyRequests"))), "throttled"),
    "500": (fail(500, "InternalError"), "error"),
    "503 of an aggregated API": (fail(503, "ServiceUnavailable"), "error"),
    "a login page": (respond_text("<html>sign in</html>"), "unreadable"),
    "a proxy's 502": (respond_text("<html>bad gateway</html>", status=502), "unreadable"),
    "a proxy's 404": (respond_text("<html>not here</html>", status=404), "unreadable"),
    "plain text": (respond_text("no healthy upstream", "text/plain", 503), "unreadable"),
    "plain text that looks well": (respond_text("ok", "text/plain"), "unreadable"),
    "a page in the stream": (stream("<html>bad gateway</html>\n"), "unreadable"),
    "a connection that breaks": (stream(cut=True), "unreachable"),
    "half an event": (stream('{"type":"ADDED","object":{"meta', cut=True), "unreachable"),
}


async def test_whatever_meets_a_watch_it_resumes_without_a_list(server, client, kind) -> None:
    await create(client, kind, "oak")

    async def survive(number: int, name: str, fault: Handler, reason: str) -> None:
        async with (
            open_interfering_proxy(server) as (proxy, interfered),
            following(interfered, kind, timing=PROMPT) as cache,
        ):
            before = len(proxy.requests)
            proxy.answer_next(watches, fault)
            proxy.cut()
            await eventually(lambda: proxy.is_done)
            await create(client, kind, f"elm-{number}")
            await eventually(partial(shows, cache, f"elm-{number}"))
            after = proxy.requests[before:]
            assert all(request.watches for request in after), name
            assert {request.query["resourceVersion"] for request in after[:2]} == {
                after[0].query["resourceVersion"]
            }, name
            assert restarts(cache).get(reason, 0) >= 1, name

    async with asyncio.TaskGroup() as group:
        for number, (name, (fault, reason)) in enumerate(FAULTS.items()):
            group.create_task(survive(number, name, fault, reason))


@pytest.mark.parametrize("server", ["real"], indirect=True)  # the client waits, not the server
async def test_failures_in_a_row_are_waited_for_longer_each_time(server, kind) -> None:
    async with (
        open_interfering_proxy(server) as (proxy, interfered),
        following(interfered, kind, timing=PROMPT),
    ):
        proxy.answer_next(watches, *[fail(503, "ServiceUnavailable")] * 2)
        before = len(proxy.requests)
        proxy.cut()
        await eventually(lambda: len(proxy.requests) >= before + 3)
        times = [request.at for request in proxy.requests[before:]]
        waits = [late - early for early, late in pairwise(times)]
        # The cut itself was the first failure, so these are the second and the third.
        for wait, least in zip(waits, (1.6, 3.2), strict=False):
            assert wait >= least


async def test_a_silent_watch_is_replaced_and_then_so_is_the_list(server, client, kind) -> None:
    await create(client, kind, "oak")
    async with (
        open_interfering_proxy(server) as (proxy, interfered),
        following(interfered, kind, timing=replace(PROMPT, idle=1.0)) as cache,
    ):
        before = len(proxy.requests)
        proxy.answer_next(watches, stream(hang=True), stream(hang=True))
        proxy.cut()
        await eventually(lambda: len(proxy.requests) > before)
        await client.delete(kind, ObjectKey("default", "oak"))
        await eventually(lambda: proxy.is_done)
        await eventually(lambda: names(cache) == set())
        first, second, third = proxy.requests[before : before + 3]
        assert (first.watches, second.watches, third.streams) == (True, True, True)
        assert first.query["resourceVersion"] == second.query["resourceVersion"]
        assert restarts(cache)["silent"] >= 2


async def test_a_watch_that_never_ends_counts_as_hung(server, client, kind) -> None:
    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        line = json.dumps(bookmark(request.query["resourceVersion"])).encode() + b"\n"
        while True:
            await response.write(line)
            await asyncio.sleep(0.1)

    async with open_interfering_proxy(server) as (proxy, interfered):
        timing = replace(PROMPT, shortest_watch=1, longest_watch=1, grace=0.5, short_watch=0.1)
        async with following(interfered, kind, timing=timing) as cache:
            proxy.answer_next(watches, drip)
            await eventually(lambda: proxy.is_done)
            await create(client, kind, "oak")
            await eventually(lambda: names(cache) == {"oak"})
            assert restarts(cache)["silent"] >= 1


async def test_lost_history_is_a_list_that_replaces_everything(request, server, client, kind):
    reported: list[tuple[str, bool]] = []
    for name in ("oak", "elm"):
        await create(client, kind, name)
    written = asyncio.Event()
    is_real = request.node.callspec.params["server"] == "real"
    async with open_interfering_proxy(server) as (proxy, interfered):

        async def gone(request: web.Request) -> web.StreamResponse:
            """Watch from a version that etcd has compacted: the server itself answers 410."""
            await written.wait()
            if is_real:
                return await proxy.forward(request, {**request.query, "resourceVersion": "1"})
            # The embedded server keeps all of its recent history, so the response is scripted.
            return await stream(event("ERROR", status(410, "Expired")))(request)

        async with following(interfered, kind, timing=PROMPT) as cache:
            cache.add_listener(
                Widget,
                lambda old, new: reported.append(((new or old or Widget()).name, new is not None)),
                replay=False,
            )
            seen: list[set[str]] = []
            cache.on_change = lambda: seen.append(names(cache))
            before = len(proxy.requests)
            proxy.answer_next(watches, fail(503, "ServiceUnavailable"), gone)
            proxy.cut()
            await eventually(lambda: len(proxy.requests) > before)
            await client.delete(kind, ObjectKey("default", "oak"))
            await create(client, kind, "ash")
            written.set()
            await eventually(lambda: names(cache) == {"elm", "ash"})
            assert sorted(reported) == [("ash", True), ("oak", False)]
            assert {frozenset(each) for each in seen} <= {
                frozenset({"oak", "elm"}),
                frozenset({"elm", "ash"}),
            }, "old or new, and nothing between"
            assert restarts(cache)["expired"] == 1
            (found,) = cache.statuses()
            assert found.relists == 1


async def test_a_bookmark_is_where_the_next_watch_begins(server, client, kind) -> None:
    async with open_interfering_proxy(server) as (proxy, interfered):
        timing = replace(PROMPT, shortest_watch=4, longest_watch=4)
        async with following(interfered, kind, timing=timing) as cache:
            began = len(proxy.requests)
            note = await client.create(
                CONFIG_MAP, ObjectKey("default", ""), {"metadata": {"generateName": "note-"}}
            )
            await interfered.page(Selection(kind))  # makes the server send a bookmark
            version = note["metadata"]["resourceVersion"]
            await eventually(
                lambda: any(
                    request.watches and covers(request.query["resourceVersion"], version)
                    for request in proxy.requests[began:]
                )
            )
            assert {*restarts(cache)} == {"ended"}
            key = ObjectKey("default", note["metadata"]["name"])
            await client.delete(CONFIG_MAP, key)


async def test_a_kind_is_asked_for_in_exactly_its_version(server, client) -> None:
    kind = make_kind()
    definition = define(kind)
    preferred = {**definition["spec"]["versions"][0], "name": "v2"}
    definition["spec"]["versions"] = [
        {**definition["spec"]["versions"][0], "storage": False},
        preferred,
    ]
    await client.create(DEFINITIONS, ObjectKey("", ""), definition)
    await until_served(client, kind)
    async with (
        open_interfering_proxy(server) as (proxy, interfered),
        following(interfered, kind, timing=PROMPT) as cache,
    ):
        await create(client, replace(kind, version="v2"), "oak")
        await eventually(lambda: names(cache) == {"oak"})
        assert {request.path for request in proxy.requests} == {f"/apis/{kind.group}/v1/widgets"}
        raw = cache.snapshot().raw(Widget, ObjectKey("default", "oak"))
        assert raw is not None
        assert raw["apiVersion"] == f"{kind.group}/v1"
    await uninstall(client, kind)


async def _is_routed(client: Client, kind: Kind) -> bool:
    """Return whether requests for a kind go to its aggregated API, which has no server."""
    try:
        await client.page(Selection(kind))
    except NotFoundError:
        return False
    except ApiError:
        return True
    return False


async def test_an_aggregated_api_that_is_down_holds_nothing_up(real_server) -> None:
    kind = make_kind()
    service: dict[str, Any] = {
        "metadata": {"name": f"{kind.version}.{kind.group}"},
        "spec": {
            "group": kind.group,
            "version": kind.version,
            "groupPriorityMinimum": 1000,
            "versionPriority": 10,
            "service": {"namespace": "default", "name": "nobody"},
            "insecureSkipTLSVerify": True,
        },
    }
    kinds = (SERVICES, DEFINITIONS, kind_of_model(Namespace), kind)
    async with talking(real_server) as client:
        await client.create(SERVICES, ObjectKey("", ""), service)
        await eventually(lambda: _is_routed(client, kind))
        async with following(client, *kinds, timing=PROMPT) as cache:
            assert cache.snapshot().get(Namespace, ObjectKey("", "default")) is not None
            assert cache.stale_kinds == [kind.resource]
            found = {each.name: each for each in cache.statuses()}[kind.resource]
            assert (found.served, found.synced) == (True, False)
            await client.delete(SERVICES, ObjectKey("", service["metadata"]["name"]))
            await client.create(DEFINITIONS, ObjectKey("", ""), define(kind))
            await eventually(lambda: not cache.stale_kinds, 120)
            await until_served(client, kind)
            await create(client, kind, "oak")
            await eventually(lambda: names(cache) == {"oak"})
        await uninstall(client, kind)
