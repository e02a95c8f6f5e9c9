import io
import json
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from tests.unit.server.conftest import Bench, Client, review
from webhook.admission.decision import Finding, Request
from webhook.admission.policy import Policy
from webhook.api.projects import Quota, SecretBinding
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.kube.meta import Draft, Metadata, ObjectKey
from webhook.server.bodies import MAX_BODY
from webhook.state.live_reads import LiveGet
from webhook.state.snapshot import Snapshot

Connect = Callable[[Bench], Awaitable[Client]]

UID = "705ab4f5-6393-11e8-b7cc-42010a800002"
HEADERS = {"Content-Type": "application/json"}


def validating(validate: Callable[[Request, Snapshot], Iterable[Finding]]) -> Policy:
    return Policy(
        name="shoot.test", models=(Shoot,), operations=("CREATE",), validate=validate, why="a test"
    )


async def ask(client: Client, body: Any, path: str = "/validate") -> dict[str, Any]:
    response = await client.post(path, json=body)
    assert response.status == 200, await response.text()
    assert response.content_type == "application/json"
    answer: dict[str, Any] = await response.json()
    assert answer["apiVersion"] == "admission.k8s.io/v1"
    assert answer["kind"] == "AdmissionReview"
    assert answer["response"]["uid"] == UID
    found: dict[str, Any] = answer["response"]
    return found


@pytest.mark.parametrize("path", ["/mutate", "/validate"])
async def test_without_policies_everything_is_allowed_untouched(
    bench: Bench, connect: Connect, path: str
) -> None:
    client = await connect(bench)
    unknown = {"group": "example.com", "version": "v9", "resource": "things"}
    for body in (review(), review(resource=unknown), review(operation="DELETE", object=None)):
        assert await ask(client, body, path) == {"uid": UID, "allowed": True}


async def test_a_denial_is_200_with_a_code_and_a_log_line(
    bench: Bench, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "webhook.server")
    bench.policies = (validating(lambda *_: [Finding.required("spec.region", "set a region")]),)
    client = await connect(bench)
    answer = await ask(client, review(userInfo={"username": "alice"}))
    assert answer["allowed"] is False
    assert answer["status"]["code"] == 422
    assert [cause["field"] for cause in answer["status"]["details"]["causes"]] == ["spec.region"]
    [line] = [record for record in caplog.records if record.message == "refused"]
    assert (line.levelname, vars(line)["user"], vars(line)["policies"]) == (
        "INFO",
        "alice",
        ["shoot.test"],
    )
    labels = {"path": "/validate", "operation": "CREATE", "kind": "Shoot", "code": "422"}
    assert bench.metric("admission_decisions_total", allowed="false", **labels) == 1
    verdict = {"policy": "shoot.test", "operation": "CREATE", "verdict": "deny"}
    assert bench.metric("admission_verdicts_total", **verdict) == 1


async def test_warn_mode_is_a_warning_an_audit_annotation_and_a_metric(
    bench: Bench, connect: Connect
) -> None:
    def objects(_request: Request, _snapshot: Snapshot) -> Iterable[Finding]:
        yield Finding.forbidden("spec.region", "choose another")

    bench.policies = (replace(validating(objects), name="shoot.new", mode="warn"),)
    client = await connect(bench)
    answer = await ask(client, review())
    assert answer == {
        "uid": answer["uid"],
        "allowed": True,
        "warnings": ["shoot.new: spec.region: choose another"],
        "auditAnnotations": {"shoot.new": "warn: spec.region"},
    }
    verdict = {"policy": "shoot.new", "operation": "CREATE", "verdict": "warn"}
    assert bench.metric("admission_verdicts_total", **verdict) == 1


async def test_an_allowed_review_is_logged_as_debug_only(
    bench: Bench, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "webhook.server")
    client = await connect(bench)
    await ask(client, review())
    assert caplog.records == []
    caplog.set_level(logging.DEBUG, "webhook.server")
    await ask(client, review())
    assert [record.message for record in caplog.records] == ["allowed"]


async def test_a_mutation_is_a_patch(bench: Bench, connect: Connect) -> None:
    def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> None:
        draft["spec"] = {"purpose": "evaluation"}

    policy = Policy(
        name="shoot.test", models=(Shoot,), operations=("CREATE",), mutate=mutate, why="a test"
    )
    bench.policies = (policy,)
    client = await connect(bench)
    answer = await ask(client, review(), "/mutate")
    assert answer["patchType"] == "JSONPatch"
    assert bench.metric("admission_patch_operations_total", kind="Shoot") == 1
    assert "patch" not in await ask(client, review(), "/validate")


SEED = ObjectKey("", "aws-eu1")


def needs_seed(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
    if snapshot.look_up(Seed, SEED) is None:
        yield Finding.denied("there is no such seed")


async def test_a_missing_object_is_read_live_once_and_the_review_decided_again(
    bench: Bench, connect: Connect
) -> None:
    bench.policies = (validating(needs_seed),)
    bench.cache.answers = {LiveGet(Seed, SEED): Seed(metadata=Metadata(name="aws-eu1"))}
    client = await connect(bench)
    assert (await ask(client, review()))["allowed"] is True
    assert bench.cache.live_reads == [LiveGet(Seed, SEED)]
    bench.cache.answers = {}
    assert (await ask(client, review()))["status"]["code"] == 403


async def test_a_failed_live_read_is_503_and_no_denial(bench: Bench, connect: Connect) -> None:
    bench.policies = (validating(needs_seed),)
    client = await connect(bench)
    response = await client.post("/validate", json=review())
    assert (response.status, response.headers["Retry-After"]) == (503, "1")
    assert bench.metric("admission_live_reads_total", result="failed") == 1


async def test_a_live_read_may_lead_to_the_next_and_none_is_repeated(
    bench: Bench, connect: Connect
) -> None:
    binding, quota = ObjectKey("garden-core", "b"), ObjectKey("garden", "q")

    def follows(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
        found = snapshot.look_up(SecretBinding, binding)
        if found is not None and snapshot.look_up(Quota, quota) is None:
            yield Finding.denied("there is no such quota")

    bench.policies = (validating(follows),)
    bench.cache.answers = {
        LiveGet(SecretBinding, binding): SecretBinding(metadata=Metadata(name="b")),
        LiveGet(Quota, quota): Quota(metadata=Metadata(name="q")),
    }
    client = await connect(bench)
    assert (await ask(client, review()))["allowed"] is True
    assert bench.cache.live_reads == [LiveGet(SecretBinding, binding), LiveGet(Quota, quota)]


async def test_endless_live_reads_are_503(bench: Bench, connect: Connect) -> None:
    turns: list[int] = []

    def insatiable(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
        turns.append(1)
        snapshot.look_up(Seed, ObjectKey("", f"seed-{len(turns)}"))
        return []

    bench.policies = (validating(insatiable),)
    bench.cache.answers = {}
    client = await connect(bench)
    response = await client.post("/validate", json=review())
    assert response.status == 503
    assert len(turns) == 5


async def test_no_decision_is_based_on_a_stale_kind(bench: Bench, connect: Connect) -> None:
    def reads_seeds(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
        return [Finding.denied(seed.name) for seed in snapshot.list(Seed)]

    bench.policies = (validating(reads_seeds),)
    bench.cache.stale = (Seed,)
    client = await connect(bench)
    response = await client.post("/validate", json=review())
    assert (response.status, response.headers["Retry-After"]) == (503, "1")
    assert "Seed" in await response.text()


async def test_before_the_cache_is_synced_the_response_is_503(
    bench: Bench, connect: Connect
) -> None:
    bench.cache.is_synced = False
    client = await connect(bench)
    response = await client.post("/validate?timeout=5s", json=review())
    assert (response.status, response.headers["Retry-After"]) == (503, "1")


async def test_overload_sheds_requests(bench: Bench, connect: Connect) -> None:
    client = await connect(bench)
    bench.traffic.lag = 3.0
    response = await client.post("/validate?timeout=2s", json=review())
    assert (response.status, response.headers["Retry-After"]) == (503, "1")
    assert (await client.post("/validate?timeout=9s", json=review())).status == 200
    assert bench.metric("requests_shed_total", path="/validate", reason="late") == 1


async def test_a_bug_is_500_with_a_request_id_and_without_a_traceback(
    bench: Bench, connect: Connect, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
        raise KeyError("secret detail")

    bench.policies = (validating(broken),)
    client = await connect(bench)
    response = await client.post("/validate", json=review())
    text = await response.text()
    assert response.status == 500
    assert text.startswith("internal error, request ")
    assert "secret" not in text
    assert text.split()[-1] in str(vars(caplog.records[0]))
    assert bench.metric("panics_total", path="/validate") == 1
    assert bench.traffic.in_flight == 0


async def test_while_draining_requests_are_served_and_connections_closed(
    bench: Bench, connect: Connect
) -> None:
    client = await connect(bench)
    response = await client.post("/validate", json=review())
    assert "Connection" not in response.headers
    bench.traffic.draining = True
    response = await client.post("/validate", json=review())
    assert (response.status, response.headers["Connection"]) == (200, "close")


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


BAD = [
    pytest.param(b"", 400, id="no body"),
    pytest.param(b"{", 400, id="half a JSON"),
    pytest.param(b"[]", 400, id="a list"),
    pytest.param(b"null", 400, id="null"),
    pytest.param(b'"review"', 400, id="a string"),
    pytest.param(b"{}", 400, id="an empty object"),
    pytest.param(b"\xff\xfe{}", 400, id="invalid UTF-8"),
    pytest.param(json.dumps({**review(), "kind": "Status"}).encode(), 400, id="another kind"),
    pytest.param(
        json.dumps({**review(), "apiVersion": "admission.k8s.io/v1beta1"}).encode(),
        400,
        id="another version",
    ),
    pytest.param(json.dumps({**review(), "request": None}).encode(), 400, id="no request"),
    pytest.param(json.dumps(review(uid="")).encode(), 400, id="no uid"),
    pytest.param(json.dumps(review(uid=7)).encode(), 400, id="a uid that is a number"),
    pytest.param(json.dumps(review(operation="PATCH")).encode(), 400, id="an unknown operation"),
    pytest.param(json.dumps(nested(300)).encode(), 400, id="nesting over 200"),
    pytest.param(json.dumps(nested(900)).encode(), 400, id="nesting over 900"),
    pytest.param(b"[" * 100_000, 400, id="a hundred thousand brackets"),
    pytest.param(
        json.dumps(review(userInfo={"uid": 2**70})).encode(), 400, id="an integer over 64 bits"
    ),
    pytest.param(json.dumps(review(options=nested(250))).encode(), 400, id="nesting in options"),
    pytest.param(json.dumps({**review(), "more": nested(250)}).encode(), 400, id="nesting beside"),
    pytest.param(
        json.dumps(review(options={"a": [-(2**70)]})).encode(), 400, id="such an integer in options"
    ),
    pytest.param(
        json.dumps({**review(), "more": 2**63}).encode(), 400, id="just over 64 bits, beside"
    ),
    pytest.param(
        json.dumps(review(options={"a": "?"}))
        .replace("?", "\udcff")
        .encode("utf-8", "surrogateescape"),
        400,
        id="invalid UTF-8 in options",
    ),
    pytest.param(json.dumps(review()).encode()[:-1], 400, id="cut off"),
    pytest.param(json.dumps(review()).encode() + b"{}", 400, id="two bodies"),
    pytest.param(json.dumps({**review(), "request": []}).encode(), 400, id="a list of requests"),
    pytest.param(b" " * (MAX_BODY + 1), 413, id="one byte too many"),
    pytest.param(b" " * (50 * 2**20), 413, id="50 MB"),
]


@pytest.mark.parametrize(("body", "status"), BAD)
@pytest.mark.parametrize("path", ["/mutate", "/validate"])
async def test_a_body_that_is_no_review_is_400_with_one_sentence(
    bench: Bench, connect: Connect, path: str, body: bytes, status: int
) -> None:
    client = await connect(bench)
    response = await client.post(path, data=io.BytesIO(body), headers=HEADERS)
    text = await response.text()
    assert response.status == status, text
    assert len(text.splitlines()) == 1
    assert "Traceback" not in text
    assert (await client.post(path, json=review())).status == 200, "and the server goes on"


async def test_a_body_without_a_length_is_limited_too(bench: Bench, connect: Connect) -> None:
    async def chunks() -> Any:
        for _ in range(20):
            yield b" " * 2**20

    client = await connect(bench)
    response = await client.post("/validate", data=chunks(), headers=HEADERS)
    assert response.status == 413


async def test_another_content_type_is_named(bench: Bench, connect: Connect) -> None:
    client = await connect(bench)
    response = await client.post("/validate", data=b"{}", headers={"Content-Type": "text/yaml"})
    assert response.status == 400
    assert "send application/json" in await response.text()


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(nested(250), id="nesting over 200"),
        pytest.param({"a": 2**70}, id="an integer over 64 bits"),
        pytest.param({"a": -(2**70)}, id="a negative one"),
        pytest.param("text", id="a text where an object belongs"),
    ],
)
async def test_an_invalid_object_in_a_valid_review_is_422(
    bench: Bench, connect: Connect, spec: Any
) -> None:
    bench.policies = (validating(lambda *_: []),)
    client = await connect(bench)
    bad = {"metadata": {"namespace": "garden-core", "name": "one"}, "spec": spec}
    answer = await ask(client, review(object=bad))
    assert (answer["allowed"], answer["status"]["code"]) == (False, 422)


async def test_other_methods_and_paths_are_http_errors(bench: Bench, connect: Connect) -> None:
    client = await connect(bench)
    assert (await client.get("/validate")).status == 405
    assert (await client.post("/nothing", json={})).status == 404
