"""A server over a fixed cache, and a client of it."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient
from pytest_aiohttp import AiohttpClient
from typing_extensions import override

from tests.support.clocks import FakeClock
from tests.support.fake_cache import FakeCache
from webhook.admission.engine import PolicyTable
from webhook.admission.policy import Policy
from webhook.cluster.cache import NotSyncedError
from webhook.cluster.live_reader import LiveReadError
from webhook.kube.meta import Object
from webhook.runtime.metrics import Metrics
from webhook.server.admission import GrantExecutor
from webhook.server.app import Services, build_app
from webhook.server.extender import Extender
from webhook.server.traffic import Traffic
from webhook.state.live_reads import LiveRead, LiveResults
from webhook.state.snapshot import Snapshot

Client: TypeAlias = TestClient[web.Request, web.Application]


class FixedCache(FakeCache):
    def __init__(self, *objects: Object) -> None:
        super().__init__()
        self.objects = objects
        self.is_synced = True
        self.stale: tuple[type[Object], ...] = ()
        self.answers: LiveResults | None = None
        self.live_reads: list[LiveRead] = []
        self.release: asyncio.Event | None = None
        """If it is set, live reads wait for it."""

    @override
    def snapshot(self, live_results: LiveResults | None = None) -> Snapshot:
        if not self.is_synced:
            raise NotSyncedError("the cache is not synced yet")
        return Snapshot.of(self.objects, live_results=live_results, stale=self.stale)

    @property
    @override
    def synced(self) -> bool:
        return self.is_synced

    @override
    async def read_live(self, live_reads: Iterable[LiveRead], seconds: float) -> LiveResults:
        wanted = [*live_reads]
        if self.release is not None:
            await self.release.wait()
        self.live_reads += wanted
        if self.answers is None:
            raise LiveReadError("the API server could not be read: no answer in time")
        return {question: self.answers.get(question) for question in wanted}


class Bench:
    """The parts of a server, which a test may change before it connects."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.cache = FixedCache()
        self.metrics = Metrics()
        self.traffic = Traffic(self.clock, limit=100)
        self.policies: tuple[Policy, ...] = ()
        self.extender: Extender | None = None
        self.authorities = b""
        self.names: frozenset[str] = frozenset()
        self.granter: GrantExecutor | None = None
        self.fast_path = True

    def app(self) -> web.Application:
        services = Services(
            self.cache,
            PolicyTable(self.policies),
            self.metrics,
            self.traffic,
            self.extender,
            self.authorities,
            self.granter,
            self.fast_path,
            self.names,
        )
        return build_app(services, ("admission", "extender"))

    def metric(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"espalier_{name}", labels) or 0.0


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def connect(aiohttp_client: AiohttpClient) -> Callable[[Bench], Awaitable[Client]]:
    """Start the server that a test has put together, and return a client of it."""

    async def start(bench: Bench) -> Client:
        return await aiohttp_client(bench.app())

    return start


def review(**request: Any) -> dict[str, Any]:
    shoots = {"group": "core.gardener.cloud", "version": "v1beta1", "resource": "shoots"}
    asked = {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "resource": shoots,
        "operation": "CREATE",
        "namespace": "garden-core",
        "name": "one",
        "object": {"metadata": {"namespace": "garden-core", "name": "one"}},
        **request,
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": asked}
