"""A landscape on a real Gardener: seeds, placed shoots, and pending shoots."""

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from typing import Any, Self

import aiohttp
import msgspec

from tests.support.garden_cluster import make_seed, make_shoot
from webhook.api.kinds import kind_of_model
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster import config, requests
from webhook.cluster.client import Client
from webhook.cluster.requests import Selection
from webhook.dev.planes.certificates import client_context
from webhook.dev.planes.gardener import PROJECT_NAMESPACE, Gardener
from webhook.dev.planes.progress import Progress
from webhook.kube.meta import Draft, ObjectKey

AT_ONCE = 16
ROOM = 1_000
LONGEST_SECONDS = 900
POOLS = 3
CONFIRMED = {"confirmation.gardener.cloud/deletion": "true"}
REVIEWS = ("subjectaccessreviews", "tokenreviews", "selfsubjectaccessreviews", "leases")
"""Requests that do not belong to a placement: between servers, or periodic."""

_SEED = kind_of_model(Seed)
_SHOOT = kind_of_model(Shoot)
_COUNTED = re.compile(r"^apiserver_request_total\{(.*)\} (\S+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    seed_name: str = ""


class _Named(msgspec.Struct, frozen=True):
    name: str = ""


class _Bound(msgspec.Struct):
    metadata: _Named = _Named()
    spec: _Spec = _Spec()


class _Event(msgspec.Struct):
    object: _Bound


class Landscape:
    """What an administrator creates and deletes."""

    def __init__(self, plane: Gardener) -> None:
        self.plane = plane
        self._client: Client | None = None

    async def __aenter__(self) -> Self:
        access = await config.load(str(self.plane.kubeconfig))
        self._client = await Client(access).__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._open.__aexit__(None, None, None)

    @property
    def _open(self) -> Client:
        assert self._client is not None
        return self._client

    async def fill(self, seeds: int, placed: int) -> None:
        """Create seeds that are ready, and the same number of shoots on each."""
        names = [f"seed-{number:04}" for number in range(seeds)]
        await _all("seeds", [self._make_seed(name) for name in names])
        shoots = (
            make_draft(f"p{number:05}", "default-scheduler", names[number % seeds])
            for number in range(placed)
        )
        await _all("placed shoots", [self._make_shoot(draft) for draft in shoots])

    @asynccontextmanager
    async def arrivals(
        self, count: int, scheduler: str
    ) -> AsyncIterator[Coroutine[Any, Any, None]]:
        """Create pending shoots; the block ends when all are bound; then delete them."""
        names = [f"a{number:05}" for number in range(count)]
        drafts = [make_draft(name, scheduler) for name in names]
        page = await self._open.page(Selection(_SHOOT, PROJECT_NAMESPACE), limit=1)
        await _all("arrivals", [self._make_shoot(draft) for draft in drafts])
        yield self._until_bound(set(names), page.version)
        keys = [ObjectKey(PROJECT_NAMESPACE, name) for name in names]
        await _all("arrivals taken away", [self._open.delete(_SHOOT, key) for key in keys])

    async def _make_seed(self, name: str) -> None:
        key = ObjectKey("", name)
        await self._open.create(_SEED, key, make_seed(name))
        await self._open.patch(_SEED, key, {"status": make_status()}, subresource="status")

    async def _make_shoot(self, draft: Draft) -> None:
        key = ObjectKey(PROJECT_NAMESPACE, draft["metadata"]["name"])
        await self._open.create(_SHOOT, key, draft)

    async def _until_bound(self, waiting: set[str], version: str) -> None:
        request = requests.watch(Selection(_SHOOT, PROJECT_NAMESPACE), version, LONGEST_SECONDS)
        limit = float(LONGEST_SECONDS)
        async with self._open.stream(request, opening=30.0, idle=limit, total=limit) as lines:
            async for line in lines:
                event = msgspec.json.decode(line, type=_Event)
                if event.object.spec.seed_name:
                    waiting.discard(event.object.metadata.name)
                if not waiting:
                    return
        raise TimeoutError(f"{len(waiting)} shoots wait still")


def make_draft(name: str, scheduler: str, seed: str = "") -> Draft:
    """Return a shoot of three pools that may be deleted."""
    pool = {"machine": {"type": "local"}, "minimum": 1, "maximum": 6, "zones": ["local-a"]}
    pools = [{"name": f"pool-{number}", **pool} for number in range(POOLS)]
    draft = make_shoot(
        name,
        annotations=CONFIRMED,
        schedulerName=scheduler,
        provider={"type": "local", "workers": pools},
    )
    if seed:
        draft["spec"]["seedName"] = seed
    return draft


def make_status() -> Draft:
    """Return the status that a gardenlet reports for a large seed."""
    stamp = "2026-01-01T00:00:00Z"
    times = {"lastTransitionTime": stamp, "lastUpdateTime": stamp, "reason": "x", "message": "x"}
    operation = {"type": "Reconcile", "state": "Succeeded", "progress": 100, "description": "x"}
    room = {"shoots": str(ROOM)}
    return {
        "conditions": [{"type": "GardenletReady", "status": "True", **times}],
        "lastOperation": {**operation, "lastUpdateTime": stamp},
        "capacity": room,
        "allocatable": room,
    }


async def count_calls(plane: Gardener) -> "Counter[str]":
    """Count the calls that both API servers have answered, by verb and resource, except watches."""
    files = plane.admin.client_files
    gardener = plane.gardener_apiserver
    trusted = gardener.keyring.files.certificate
    servers = (
        (plane.url, plane.admin.context()),
        (f"https://127.0.0.1:{gardener.port}", client_context(trusted, files)),
    )
    counted: Counter[str] = Counter()
    async with aiohttp.ClientSession() as session:
        for url, context in servers:
            async with session.get(f"{url}/metrics", ssl=context) as answer:
                answer.raise_for_status()
                text = await answer.text()
            for labels, value in _COUNTED.findall(text):
                found = dict(_LABEL.findall(labels))
                name = "/".join(filter(None, (found["resource"], found["subresource"])))
                if name and found["verb"] != "WATCH" and found["resource"] not in REVIEWS:
                    counted[f"{found['verb']} {name}"] += int(float(value))
    return counted


async def _all(what: str, works: Iterable[Coroutine[Any, Any, Any]]) -> None:
    """Run calls in parallel, a limited number at a time, and print the progress."""
    works = list(works)
    slots = asyncio.Semaphore(AT_ONCE)
    progress = Progress(f"  {what}")
    done = 0

    async def one(work: Coroutine[Any, Any, Any]) -> None:
        nonlocal done
        async with slots:
            await work
        done += 1
        progress.tick(f"{done} of {len(works)}")

    async with asyncio.TaskGroup() as tasks:
        for work in works:
            tasks.create_task(one(work))
    progress.end(f"{done}")
