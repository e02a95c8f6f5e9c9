"""The cache with connections that break and servers that die: nothing is ever lost."""

import asyncio
import os
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typing_extensions import override

from tests.faults.breaking_proxy import open_breaking_proxy
from tests.support.control_planes import require_parts
from tests.support.waits import eventually
from tests.support.widgets import (
    Widget,
    following,
    install,
    make_kind,
    make_widget,
    talking,
    uninstall,
)
from webhook.api.kinds import Kind
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.cluster.config import Access, Kubeconfig
from webhook.cluster.errors import ApiError
from webhook.cluster.requests import Selection
from webhook.dev.planes.kubernetes import Kubernetes
from webhook.kube.meta import ObjectKey

SOAK = bool(os.environ.get("ESPALIER_SOAK"))
CAMPAIGNS = range(20 if SOAK else 1)
WRITES = 600 if SOAK else 200

pytestmark = pytest.mark.timeout(0 if SOAK else 400)


@pytest.fixture(params=["embedded", "real"])
def server(request):
    return request.getfixturevalue(f"{request.param}_server")


@pytest.fixture
async def kind(server) -> AsyncIterator[Kind]:
    kind = make_kind()
    async with talking(server) as client:
        await install(client, kind)
        yield kind
        await uninstall(client, kind)


class Detour(Kubeconfig):
    """A kubeconfig whose server is reached through a proxy."""

    def __init__(self, path: str, host: str) -> None:
        super().__init__(path)
        self._host = host

    @override
    async def load(self, *, anew: bool) -> Any:
        configuration = await super().load(anew=anew)
        configuration.host = self._host
        return configuration


async def write(client: Client, kind: Kind, chance: random.Random, times: int) -> None:
    """Create, change and delete widgets at random; writes may fail."""
    for _ in range(times):
        key = ObjectKey("default", f"w-{chance.randrange(20)}")
        try:
            match chance.choice(("create", "patch", "patch", "delete")):
                case "create":
                    await client.create(kind, key, make_widget(key.name))
                case "patch":
                    await client.patch(kind, key, {"spec": {"size": chance.randrange(99)}})
                case _:
                    await client.delete(kind, key)
        except ApiError:
            continue


async def listed(client: Client, kind: Kind) -> set[tuple[str, str]]:
    page = await client.page(Selection(kind), limit=0)
    found = [msgspec.json.decode(item)["metadata"] for item in page.items]
    return {(metadata["name"], metadata["resourceVersion"]) for metadata in found}


def shown(cache: Cache) -> set[tuple[str, str]]:
    return {(widget.name, widget.resource_version) for widget in cache.state.store(Widget).list()}


@pytest.mark.parametrize("campaign", CAMPAIGNS)
async def test_connections_that_break_at_random_lose_nothing(server, kind, campaign) -> None:
    reported: dict[str, str] = {}

    def listen(old: Widget | None, new: Widget | None) -> None:
        if new is not None:
            reported[new.name] = new.resource_version
        elif old is not None:
            del reported[old.name]

    async with (
        talking(server) as client,
        open_breaking_proxy(server.url, campaign) as (proxy, host),
        Client(Access(Detour(str(server.kubeconfig), host))) as detoured,
        following(detoured, kind) as cache,
    ):
        cache.add_listener(Widget, listen)
        chance = random.Random(campaign)
        for _ in range(4):
            await write(client, kind, chance, WRITES // 4)
            proxy.cut()
        proxy.is_calm = True
        expected = await listed(client, kind)
        await eventually(lambda: shown(cache) == expected, 90)
        assert proxy.breaks
        # Listeners have seen every object's last version and every deletion, too.
        assert {*reported.items()} == expected


async def test_a_server_that_is_killed_and_comes_back_is_followed_on(tmp_path: Path) -> None:
    require_parts("etcd", "kubernetes")
    kind = make_kind()
    async with Kubernetes(tmp_path, durable=False) as server, talking(server) as client:
        await install(client, kind)
        async with following(client, kind) as cache:
            chance = random.Random(1)
            await write(client, kind, chance, 60)
            await server.apiserver.kill()
            await eventually(lambda: cache.lost_for > 0)
            await server.apiserver.start()
            await write(client, kind, chance, 60)
            expected = await listed(client, kind)
            await eventually(lambda: shown(cache) == expected, 90)
            await eventually(lambda: cache.lost_for == 0)


async def test_a_server_that_freezes_is_followed_on_when_it_thaws(tmp_path: Path) -> None:
    require_parts("etcd", "kubernetes")
    kind = make_kind()
    async with Kubernetes(tmp_path, durable=False) as server, talking(server) as client:
        await install(client, kind)
        async with following(client, kind) as cache:
            server.apiserver.pause()
            writing = asyncio.create_task(write(client, kind, random.Random(2), 40))
            await asyncio.sleep(3)
            server.apiserver.resume()
            await writing
            expected = await listed(client, kind)
            await eventually(lambda: shown(cache) == expected, 90)
