import json
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

import pytest

from tests.unit.server.conftest import Bench, Client
from webhook.api.shoots import Shoot
from webhook.cluster.errors import UnreachableError
from webhook.cluster.requests import ApiRequest
from webhook.kube.meta import Metadata, ObjectKey
from webhook.scheduling.extender import ExtenderBindingArgs, ExtenderError, ExtenderResult
from webhook.server.authentication import TOKEN_SECONDS, Authenticator
from webhook.server.extender import ALL_SHOOTS, Extender
from webhook.server.pacing import LARGE
from webhook.state.live_reads import AccessReview, LiveGet
from webhook.state.snapshot import Snapshot

Connect = Callable[[Bench], Awaitable[Client]]

SHOOT = ObjectKey("garden-core", "one")
SHADOWED = ObjectKey("garden-dev", "two")
BINDING = {"PodName": "one", "PodNamespace": "garden-core", "PodUID": "u", "Node": "aws-eu1"}
SCORES = {
    True: b'[{"Host":"aws-eu1","Score":7}]',
    False: b'[{"Host":"aws-eu1","Score":0}]',
}
BEARER = {"Authorization": "Bearer alice-token"}


class Scheduling:
    def __init__(self) -> None:
        self.bound: list[tuple[ObjectKey, str]] = []
        self.recorded: list[ExtenderResult] = []
        self.looked_up: list[ObjectKey] = []
        self.shoot_of_pod: ObjectKey | None = None

    def filter(self, body: bytes, snapshot: Snapshot, *, authorized: bool) -> ExtenderResult:
        found = snapshot.look_up(Shoot, SHOOT)
        return ExtenderResult(json.dumps({"Error": "" if found else "no shoot"}).encode())

    def prioritize(self, body: bytes, snapshot: Snapshot, *, authorized: bool) -> ExtenderResult:
        return ExtenderResult(SCORES[authorized])

    def record(self, result: ExtenderResult) -> None:
        self.recorded.append(result)

    def explain(self, shoot: ObjectKey, snapshot: Snapshot) -> Any | None:
        return {"shoot": str(shoot)} if shoot == SHOOT else None

    async def find_shoot(self, binding: ExtenderBindingArgs, seconds: float) -> ObjectKey:
        self.looked_up.append(binding.pod)
        return self.shoot_of_pod or binding.pod

    async def bind(self, shoot: ObjectKey, binding: ExtenderBindingArgs, seconds: float) -> None:
        if binding.seed == "full":
            raise ExtenderError("seed full has no room left")
        self.bound.append((shoot, binding.seed))


class Tokens:
    """An API server that knows one token."""

    def __init__(self) -> None:
        self.reviews = 0
        self.away = False

    async def document(self, request: ApiRequest, timeout: float) -> dict[str, Any]:
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
    authenticator = Authenticator(tokens, bench.cache, bench.clock)
    bench.extender = Extender(bench.cache, scheduling, authenticator)
    return bench


def may(username: str, answer: bool, shoot: ObjectKey = SHOOT) -> dict[Any, bool]:
    question = AccessReview(
        username,
        "",
        ("a",),
        (),
        "update",
        "core.gardener.cloud",
        "shoots",
        "binding",
        shoot.namespace,
        shoot.name,
    )
    return {question: answer}


async def test_a_shoot_that_is_not_cached_is_read_live(ready: Bench, connect: Connect) -> None:
    metadata = Metadata(namespace="garden-core", name="one")
    ready.cache.answers = {LiveGet(Shoot, SHOOT): Shoot(metadata=metadata)}
    client = await connect(ready)
    response = await client.post("/scheduler/filter", data=b"{}")
    assert (response.status, await response.json()) == (200, {"Error": ""})


@pytest.mark.parametrize(
    ("verb", "answer"),
    [
        pytest.param("filter", "Error", id="filter returns the error"),
        pytest.param("prioritize", [{"Host": "a", "Score": 0}], id="prioritize has no opinion"),
        pytest.param("preempt", {"NodeNameToMetaVictims": {}}, id="preempt has no victims"),
    ],
)
async def test_before_the_cache_is_synced_the_status_is_200_with_an_error(
    ready: Bench, connect: Connect, verb: str, answer: Any
) -> None:
    ready.cache.is_synced = False
    client = await connect(ready)
    response = await client.post(f"/scheduler/{verb}", data=b'{"NodeNames":["a"],"Pod":{}}')
    found = await response.json()
    assert response.status == 200
    if verb == "filter":
        assert found["Error"] == "the cache is not synced yet"
        assert found["NodeNames"] is None
    else:
        assert found == answer


async def test_what_a_scheduler_calls_is_recorded_once_after_the_last_live_read(
    ready: Bench, connect: Connect, scheduling: Scheduling
) -> None:
    metadata = Metadata(namespace="garden-core", name="one")
    shoot: dict[Any, Any] = {LiveGet(Shoot, SHOOT): Shoot(metadata=metadata)}
    ready.cache.answers = {**shoot, **may("alice", True, ALL_SHOOTS)}
    client = await connect(ready)
    await client.post("/scheduler/filter", data=b"{}", headers=BEARER)
    response = await client.post("/scheduler/prioritize", data=b"{}", headers=BEARER)
    assert await response.read() == SCORES[True]
    assert [result.body for result in scheduling.recorded] == [b'{"Error": ""}', SCORES[True]]


@pytest.mark.parametrize(
    ("headers", "permissions"),
    [
        pytest.param({}, {}, id="without credentials"),
        pytest.param({"Authorization": "Bearer stolen"}, {}, id="with an unknown token"),
        pytest.param(BEARER, may("alice", False, ALL_SHOOTS), id="without the permission"),
        pytest.param(BEARER, may("alice", True), id="with a permission for one shoot only"),
    ],
)
async def test_calls_of_untrusted_clients_are_answered_and_not_recorded(
    ready: Bench,
    connect: Connect,
    scheduling: Scheduling,
    headers: dict[str, str],
    permissions: dict[Any, bool],
) -> None:
    ready.cache.answers = permissions
    client = await connect(ready)
    response = await client.post("/scheduler/filter", data=b"{}", headers=headers)
    assert response.status == 200
    response = await client.post("/scheduler/prioritize", data=b"{}", headers=headers)
    assert (response.status, await response.read()) == (200, SCORES[False])
    assert scheduling.recorded == []


async def test_an_identity_that_cannot_be_checked_is_an_error_in_the_body(
    ready: Bench, connect: Connect, scheduling: Scheduling, tokens: Tokens
) -> None:
    tokens.away = True
    client = await connect(ready)
    response = await client.post("/scheduler/filter", data=b"{}", headers=BEARER)
    assert response.status == 200
    assert "the token could not be checked" in (await response.json())["Error"]
    assert scheduling.recorded == []


@pytest.mark.parametrize(
    ("permitted", "looked_up", "error"),
    [
        pytest.param([], [], "garden-core", id="nothing: the Pod is not read"),
        pytest.param([SHADOWED], [], "garden-core", id="the shoot alone: the Pod is not read"),
        pytest.param([SHOOT], [SHOOT], "garden-dev", id="what is named alone"),
        pytest.param([SHOOT, SHADOWED], [SHOOT], "", id="what is named and the shoot of the Pod"),
        pytest.param([ALL_SHOOTS], [SHOOT], "", id="all shoots"),
    ],
)
async def test_bind_looks_nothing_up_before_it_authorizes(
    ready: Bench,
    connect: Connect,
    scheduling: Scheduling,
    permitted: list[ObjectKey],
    looked_up: list[ObjectKey],
    error: str,
) -> None:
    scheduling.shoot_of_pod = SHADOWED
    ready.cache.answers = {review: True for key in permitted for review in may("alice", True, key)}
    client = await connect(ready)
    response = await client.post("/scheduler/bind", json=BINDING, headers=BEARER)
    expected = f"alice may not update shoots/binding in {error}" if error else ""
    assert (await response.json())["Error"] == expected
    assert scheduling.looked_up == looked_up
    assert scheduling.bound == ([] if error else [(SHADOWED, "aws-eu1")])


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": "Bearer stolen"}, {"Authorization": "Basic x"}]
)
async def test_unauthenticated_clients_can_neither_bind_nor_explain(
    ready: Bench, connect: Connect, scheduling: Scheduling, headers: dict[str, str]
) -> None:
    client = await connect(ready)
    response = await client.post("/scheduler/bind", json=BINDING, headers=headers)
    assert response.status == 401
    response = await client.get("/scheduler/explain/garden-core/one", headers=headers)
    assert response.status == 401
    assert scheduling.bound == []


async def test_clients_without_permission_to_bind_are_refused(
    ready: Bench, connect: Connect, scheduling: Scheduling
) -> None:
    ready.cache.answers = may("alice", False)
    client = await connect(ready)
    response = await client.post("/scheduler/bind", json=BINDING, headers=BEARER)
    assert response.status == 200
    assert "may not update shoots/binding" in (await response.json())["Error"]
    assert scheduling.bound == []
    response = await client.get("/scheduler/explain/garden-core/one", headers=BEARER)
    assert response.status == 403


async def test_clients_with_permission_bind_and_their_token_review_is_cached(
    ready: Bench, connect: Connect, scheduling: Scheduling, tokens: Tokens
) -> None:
    ready.cache.answers = may("alice", True)
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


async def test_errors_of_bind_are_in_its_body(ready: Bench, connect: Connect) -> None:
    ready.cache.answers = may("alice", True)
    client = await connect(ready)
    for body, error in (
        ({**BINDING, "Node": "full"}, "seed full has no room left"),
        ({**BINDING, "Node": ""}, "Node is missing"),
    ):
        response = await client.post("/scheduler/bind", json=body, headers=BEARER)
        assert (response.status, await response.json()) == (200, {"Error": error})
    response = await client.post("/scheduler/bind", data=b"{", headers=BEARER)
    assert "not JSON" in (await response.json())["Error"]


async def test_a_failed_token_review_is_503(ready: Bench, connect: Connect, tokens: Tokens) -> None:
    tokens.away = True
    client = await connect(ready)
    response = await client.post("/scheduler/bind", json=BINDING, headers=BEARER)
    assert (response.status, response.headers["Retry-After"]) == (503, "1")


async def test_explain_of_a_missing_shoot_is_404(ready: Bench, connect: Connect) -> None:
    [(question, _)] = may("alice", True).items()
    ready.cache.answers = {question._replace(name="two"): True}
    client = await connect(ready)
    response = await client.get("/scheduler/explain/garden-core/two", headers=BEARER)
    assert response.status == 404


async def test_large_calls_of_strangers_wait_for_each_other_and_for_nobody_else(
    ready: Bench, connect: Connect
) -> None:
    ready.cache.answers = may("alice", True, ALL_SHOOTS)
    ready.traffic.open_pacing._free_at = perf_counter() + 3600.0
    client = await connect(ready)
    path, large = "/scheduler/prioritize?timeout=1s", b" " * LARGE
    response = await client.post(path, data=large, headers=BEARER)
    assert await response.read() == SCORES[True]
    response = await client.post(path, data=large)
    assert await response.read() == b"[]"
    response = await client.post(path, data=b"{}")
    assert await response.read() == SCORES[False]
