"""A server over a fixed memory, and a client that talks to it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, TypeAlias

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tests.clocks import FakeClock
from webhook.admission.engine import Table
from webhook.admission.policy import Policy
from webhook.api.meta import Object
from webhook.cluster.answers import UnanswerableError
from webhook.cluster.cache import NotSyncedError
from webhook.runtime.metrics import Metrics
from webhook.server.admission import Granter
from webhook.server.app import Services, build_app
from webhook.server.extender import Extender
from webhook.server.traffic import Traffic
from webhook.state.questions import Answers, Question
from webhook.state.snapshot import Snapshot

Client: TypeAlias = TestClient[web.Request, web.Application]


class FixedMemory:
    def __init__(self, *objects: Object) -> None:
        self.objects = objects
        self.synced = True
        self.stale: tuple[type[Object], ...] = ()
        self.answers: Answers | None = None
        self.asked: list[Question] = []

    def snapshot(self, answers: Answers | None = None) -> Snapshot:
        if not self.synced:
            raise NotSyncedError("the cache is not filled yet")
        return Snapshot.of(self.objects, answers=answers, stale=self.stale)

    async def answer(self, questions: Sequence[Question], seconds: float) -> Answers:
        self.asked += questions
        if self.answers is None:
            raise UnanswerableError("the API server could not be asked: no answer in time")
        return {question: self.answers.get(question) for question in questions}


class Bench:
    """What a test puts together before it asks for the client."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.memory = FixedMemory()
        self.metrics = Metrics()
        self.traffic = Traffic(self.clock, limit=100)
        self.policies: tuple[Policy, ...] = ()
        self.extender: Extender | None = None
        self.authorities = b""
        self.granter: Granter | None = None

    def app(self) -> web.Application:
        services = Services(
            self.memory,
            Table(self.policies),
            self.metrics,
            self.traffic,
            self.extender,
            self.authorities,
            self.granter,
        )
        return build_app(services, ("admission", "extender"))

    def metric(self, name: str, **labels: str) -> float:
        return self.metrics.registry.get_sample_value(f"espalier_{name}", labels) or 0.0


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
async def connect() -> AsyncIterator[Callable[[Bench], Awaitable[Client]]]:
    clients: list[Client] = []

    async def start(bench: Bench) -> Client:
        client: Client = TestClient(TestServer(bench.app()))
        clients.append(client)
        await client.start_server()
        return client

    yield start
    for client in clients:
        await client.close()


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
