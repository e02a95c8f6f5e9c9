"""A kind of the test, and a cache that watches it on a server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any
from uuid import uuid4

from tests.support.waits import eventually
from webhook.api.core import CustomResourceDefinition
from webhook.api.kinds import Kind, kind_of_model
from webhook.cluster import config, requests
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.cluster.errors import NotFoundError
from webhook.cluster.pacing import WatchTiming
from webhook.cluster.requests import Selection
from webhook.cluster.watch_events import Bookmark, decode
from webhook.kube.clock import SystemClock
from webhook.kube.meta import Model, Object, ObjectKey

DEFINITIONS = kind_of_model(CustomResourceDefinition)


class WidgetSpec(Model):
    """The spec of a widget."""

    size: int = 0


class Widget(Object):
    """An object of the test's own kind."""

    spec: WidgetSpec = WidgetSpec()


def make_kind() -> Kind:
    group = f"w{uuid4().hex[:8]}.example.com"
    return Kind(
        group=group, version="v1", name="Widget", plural="widgets", model=Widget, origin="espalier"
    )


def make_widget(name: str, size: Any = 1, **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": name} | metadata, "spec": {"size": size}}


def define(kind: Kind) -> dict[str, Any]:
    """A CRD that accepts everything."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": kind.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": anything},
    }
    return {
        "metadata": {"name": kind.resource},
        "spec": {
            "group": kind.group,
            "names": {"kind": kind.name, "plural": kind.plural},
            "scope": "Namespaced",
            "versions": [version],
        },
    }


@asynccontextmanager
async def talking(server: Any) -> AsyncIterator[Client]:
    async with Client(await config.load(str(server.kubeconfig))) as client:
        yield client


async def install(client: Client, kind: Kind) -> None:
    """Define a kind and wait until it is served."""
    await client.create(DEFINITIONS, ObjectKey("", ""), define(kind))
    await until_served(client, kind)


async def until_served(client: Client, kind: Kind) -> None:
    """Wait until a kind can be listed and watched."""
    await eventually(lambda: client.page(Selection(kind)))
    await eventually(lambda: _can_be_watched(client, kind))


async def _can_be_watched(client: Client, kind: Kind) -> bool:
    """Stream a list to its end: until the server watches a new kind itself, it refuses."""
    request = requests.stream_list(Selection(kind), 30)
    async with client.stream(request, opening=30, idle=30, total=30) as lines:
        async for line in lines:
            event = decode(line)
            if isinstance(event, Bookmark) and event.ends_list:
                return True
    return False


async def uninstall(client: Client, kind: Kind) -> None:
    with suppress(NotFoundError):
        await client.delete(DEFINITIONS, ObjectKey("", kind.resource))


@asynccontextmanager
async def following(
    client: Client, *kinds: Kind | Selection, timing: WatchTiming | None = None
) -> AsyncIterator[Cache]:
    cache = Cache(client, kinds, SystemClock(), timing=timing)
    task = asyncio.create_task(cache.run())
    try:
        async with asyncio.timeout(90):
            await cache.wait_synced()
        yield cache
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
