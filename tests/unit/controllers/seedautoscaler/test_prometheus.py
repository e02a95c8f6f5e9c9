"""Samples from Prometheus: queried over HTTP, kept for a while, and used for scaling."""

import asyncio
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from aiohttp import web
from pytest_aiohttp import AiohttpServer

from tests.support.clocks import FakeClock
from tests.support.landscape_objects import raw_seed, read
from tests.support.set_objects import make_autoscaler, make_set
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.controllers.seedautoscaler.plan import plan
from webhook.controllers.seedautoscaler.prometheus import FRESH_SECONDS, Prometheus
from webhook.domain.options import Options, SeedsOptions
from webhook.kube.meta import Draft
from webhook.runtime.actions import Patch
from webhook.runtime.tasks import background
from webhook.state.snapshot import Snapshot

QUERY = "sum by (seed) (persistent_volumes)"
RESOURCE = "persistent-volumes"


class FakePrometheus:
    """The one path of Prometheus's HTTP API that is queried."""

    def __init__(self) -> None:
        self.queries: list[str] = []
        self.status = 200
        self.answer: Any = vector(**{"leaf-0": "30", "leaf-1": "50"})

    async def query(self, request: web.Request) -> web.Response:
        self.queries.append(request.query["query"])
        return web.json_response(self.answer, status=self.status)


def vector(**values: str) -> Draft:
    result = [
        {"metric": {"seed": seed}, "value": [1_700_000_000.5, value]}
        for seed, value in values.items()
    ]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


@pytest.fixture
async def stub(aiohttp_server: AiohttpServer) -> tuple[FakePrometheus, str]:
    found = FakePrometheus()
    app = web.Application()
    app.router.add_get("/prefix/api/v1/query", found.query)
    server = await aiohttp_server(app)
    return found, f"{server.make_url('/prefix')}/"


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110 - waits for a socket, not for an event
            await asyncio.sleep(0.01)


async def test_values_are_sampled_at_intervals_and_expire(
    stub: tuple[FakePrometheus, str],
) -> None:
    server, url = stub
    clock = FakeClock()
    options = SeedsOptions(prometheus=url, queries={RESOURCE: QUERY}, autoscaler_seconds=15)
    prometheus = Prometheus(lambda: options, clock)
    assert prometheus.latest(RESOURCE) is None
    async with background("samples", prometheus.run()):
        await until(lambda: prometheus.latest(RESOURCE) is not None)
        known = {"leaf-0": Decimal(30), "leaf-1": Decimal(50)}
        assert prometheus.latest(RESOURCE) == known
        assert prometheus.latest("shoots") is None
        assert server.queries == [QUERY]
        for fault in ({"status": 503}, {"answer": {"status": "error", "error": "no"}}):
            vars(server).update(fault)
            server.queries.clear()
            await until(lambda: clock._timers)
            clock.pass_time(15)
            await until(lambda: server.queries)
            assert prometheus.latest(RESOURCE) == known
        await until(lambda: clock._timers)
        clock.pass_time(FRESH_SECONDS + 1)
        assert prometheus.latest(RESOURCE) is None
        server.status, server.answer = 200, vector(**{"leaf-0": "1"})
        await until(lambda: clock._timers)
        clock.pass_time(15)
        await until(lambda: prometheus.latest(RESOURCE) == {"leaf-0": Decimal(1)})


class LastSamples:
    """The last samples of Prometheus."""

    def __init__(self, **values: int) -> None:
        self._values = {name.replace("_", "-"): Decimal(value) for name, value in values.items()}

    def latest(self, _resource: str) -> dict[str, Decimal] | None:
        return self._values or None


@pytest.mark.parametrize(
    ("samples", "replicas"),
    [
        pytest.param(LastSamples(leaf_0=80, leaf_1=80), 4, id="above the target: more seeds"),
        pytest.param(LastSamples(leaf_0=40, leaf_1=40), None, id="at the target: unchanged"),
        pytest.param(LastSamples(leaf_0=10, leaf_1=10), 1, id="below the target: fewer"),
        pytest.param(LastSamples(leaf_0=10), None, id="a seed without a sample: not scaled down"),
        pytest.param(LastSamples(), None, id="no samples: unchanged"),
    ],
)
def test_a_set_is_scaled_by_samples(samples: LastSamples, replicas: int | None) -> None:
    found = [
        action.change
        for action in plan(_scaler(), _landscape(), samples).actions
        if isinstance(action, Patch) and action.subresource == "scale"
    ]
    assert found == ([] if replicas is None else [{"spec": {"replicas": replicas}}])


def _scaler() -> SeedAutoscaler:
    metric = {"name": RESOURCE, "target": {"type": "Utilization", "averageUtilization": 40}}
    raw = make_autoscaler(metrics=[{"type": "Resource", "resource": metric}])
    return read(SeedAutoscaler, raw)


def _landscape() -> Snapshot:
    owner = make_set(replicas=2)
    owner["metadata"]["uid"] = "uid-leaf"
    reference = {"kind": "ManagedSeedSet", "name": "leaf", "uid": "uid-leaf", "controller": True}
    objects: list[Any] = [read(ManagedSeedSet, owner), _scaler()]
    for name in ("leaf-0", "leaf-1"):
        metadata = {"name": name, "namespace": "garden", "ownerReferences": [reference]}
        objects.append(read(ManagedSeed, {"metadata": metadata}))
        seed = raw_seed(name, allocatable={RESOURCE: 100})
        well = {"type": "SeedSystemComponentsHealthy", "status": "True"}
        seed["status"]["conditions"].append(well)
        objects.append(read(Seed, seed))
    options = Options(seeds=SeedsOptions(queries={RESOURCE: QUERY}))
    return Snapshot.of(objects, options=options)
