import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.unit.server.conftest import Bench, Client
from webhook.api.meta import Metadata, ObjectKey
from webhook.api.shoots import Shoot
from webhook.cluster.errors import UnreachableError
from webhook.cluster.requests import Request
from webhook.scheduling.extender import Binding, ExtenderError
from webhook.server.authentication import TOKEN_SECONDS, Authenticator
from webhook.server.extender import Extender
from webhook.state.questions import Get, MayI
from webhook.state.snapshot import Snapshot

Connect = Callable[[Bench], Awaitable[Client]]

SHOOT = ObjectKey("garden-core", "one")
BINDING = {"PodName": "one", "PodNamespace": "garden-core", "PodUID": "u", "Node": "aws-eu1"}
BEARER = {"Authorization": "Bearer alice-token"}


class Scheduling:
    def __init__(self) -> None:
        self.bound: list[tuple[ObjectKey, str]] = []

    def filter(self, body: bytes, snapshot: Snapshot) -> bytes:
        found = snapshot.look_up(Shoot, SHOOT)
        return json.dumps({"Error": "" if found else "no shoot"}).encode()

    def prioritize(self, body: bytes, snapshot: Snapshot) -> bytes:
        return b'[{"Host":"aws-eu1","Score":7}]'

    def explain(self, shoot: ObjectKey, snapshot: Snapshot) -> Any | None:
        return {"shoot": str(shoot)} if shoot == SHOOT else None

    async def find_shoot(self, binding: Binding, seconds: float) -> ObjectKey:
        return binding.pod

    async def bind(self, shoot: ObjectKey, binding: Binding, seconds: float) -> None:
        if binding.seed == "full":
            raise ExtenderError("seed full has no room left")
        self.bound.append((shoot, binding.seed))


class Tokens:
    """An API server that knows one token."""

    def __init__(self) -> None:
        self.reviews = 0
        self.away = False

    async def document(self, request: Request, timeout: float) -> dict[str, Any]:
        self.reviews += 1
        if self.away:
            raise UnreachableError("nobody there")
        token = json.loads(request.body or b"{}")["spec"]["token"]
        if token != "alice-token":
            return {"status": {"authenticated": False}}
        return {"status": {"authenticated": True, "user": {"username": "alice", "groups": ["a"]}}}


@pytest.fixture
def scheduling() -> Scheduling:
    return Scheduling()


@pytest.fixture
def tokens() -> Tokens:
    return Tokens()


@pytest.fixture
def ready(bench: Bench, scheduling: Scheduling, tokens: Tokens) -> Bench:
    authenticator = Authenticator(tokens, bench.memory, bench.clock)
    bench.extender = Extender(bench.memory, scheduling, authenticator)
    return bench


def may(username: str, answer: bool) -> dict[Any, bool]:
    question = MayI(
        username,
        "",
        ("a",),
        (),
        "update",
        "core.gardener.cloud",
        "shoots",
        "binding",
        "garden-core",
        "one",
    )
    return {question: answer}


async def test_a_shoot_that_memory_lacks_is_read_live(ready: Bench, connect: Connect) -> None:
    metadata = Metadata(namespace="garden-core", name="one")
    ready.memory.answers = {Get(Shoot, SHOOT): Shoot(metadata=metadata)}
    client = await connect(ready)
    response = await client.post("/scheduler/filter", data=b"{}")
    assert (response.status, await response.json()) == (200, {"Error": ""})


@pytest.mark.parametrize(
    ("verb", "answer"),
    [
        pytest.param("filter", "Error", id="filter says why"),
        pytest.param("prioritize", [{"Host": "a", "Score": 0}], id="prioritize has no opinion"),
        pytest.param("preempt", {"NodeNameToMetaVictims": {}}, id="preempt has no victims"),
    ],
)
async def test_before_memory_is_filled_the_status_is_200_all_the_same(
    ready: Bench, connect: Connect, verb: str, answer: Any
) -> None:
    ready.memory.synced = False
    client = await connect(ready)
    response = await client.post(f"/scheduler/{verb}", data=b'{"NodeNames":["a"],"Pod":{}}')
    found = await response.json()
    assert response.status == 200
    if verb == "filter":
        assert found["Error"] == "the cache is not filled yet"
        assert found["NodeNames"] is None
    else:
        assert found == answer


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer stolen"}, {"Authorization": "Basic x"}]
)
async def test_strangers_can_neither_bind_nor_look(
    ready: Bench, connect: Connect, scheduling: Scheduling, headers: dict[str, str]
) -> None:
    client = await connect(ready)
    response = await client.post("/scheduler/bind", json=BINDING, headers=headers)
    assert response.status == 401
    response = await client.get("/scheduler/explain/garden-core/one", headers=headers)
    assert response.status == 401
    assert scheduling.bound == []


async def test_who_may_not_bind_is_told_so(
    ready: Bench, connect: Connect, scheduling: Scheduling
) -> None:
    ready.memory.answers = may("alice", False)
    client = await connect(ready)
    response = await client.post("/scheduler/bind", json=BINDING, headers=BEARER)
    assert response.status == 200
    assert "may not update shoots/binding" in (await response.json())["Error"]
    assert scheduling.bound == []
    response = await client.get("/scheduler/explain/garden-core/one", headers=BEARER)
    assert response.status == 403


async def test_who_may_bind_does_and_a_token_is_reviewed_once_in_a_while(
    ready: Bench, connect: Connect, scheduling: Scheduling, tokens: Tokens
) -> None:
    ready.memory.answers = may("alice", True)
    client = await connect(ready)
    for _ in range(2):
        response = await client.post("/scheduler/bind", json=BINDING, headers=BEARER)
        assert (response.status, await response.json()) == (200, {"Error": ""})
    assert scheduling.bound == [(SHOOT, "aws-eu1")] * 2
    assert tokens.reviews == 1
    ready.clock.pass_time(TOKEN_SECONDS)
    await client.post("/scheduler/bind", json=BINDING, headers=BEARER)
    assert tokens.reviews == 2
    response = await client.get("/scheduler/explain/garden-core/one", headers=BEARER)
    assert await response.json() == {"shoot": "garden-core/one"}


async def test_faults_of_bind_are_in_its_answer(ready: Bench, connect: Connect) -> None:
    ready.memory.answers = may("alice", True)
    client = await connect(ready)
    for body, error in (
        ({**BINDING, "Node": "full"}, "seed full has no room left"),
        ({**BINDING, "Node": ""}, "Node is missing"),
    ):
        response = await client.post("/scheduler/bind", json=body, headers=BEARER)
        assert (response.status, await response.json()) == (200, {"Error": error})
    response = await client.post("/scheduler/bind", data=b"{", headers=BEARER)
    assert "not JSON" in (await response.json())["Error"]


async def test_a_token_that_cannot_be_checked_is_our_fault(
    ready: Bench, connect: Connect, tokens: Tokens
) -> None:
    tokens.away = True
    client = await connect(ready)
    response = await client.post("/scheduler/bind", json=BINDING, headers=BEARER)
    assert (response.status, response.headers["Retry-After"]) == (503, "1")


async def test_a_shoot_that_is_not_there_cannot_be_explained(
    ready: Bench, connect: Connect
) -> None:
    [(question, _)] = may("alice", True).items()
    ready.memory.answers = {question._replace(name="two"): True}
    client = await connect(ready)
    response = await client.get("/scheduler/explain/garden-core/two", headers=BEARER)
    assert response.status == 404
