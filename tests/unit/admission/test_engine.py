"""The engine: policies are found by request, and their findings make one decision."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.support.admission import make_request
from webhook.admission.decision import Decision, Finding, Needs, PolicyOutcome, Request
from webhook.admission.engine import SHAPE, PolicyTable
from webhook.admission.policy import Policy
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.options import AdmissionOptions, Mode, Options
from webhook.kube.meta import Draft, ObjectKey
from webhook.state.live_reads import LiveGet
from webhook.state.snapshot import Snapshot

SHOOT: dict[str, Any] = {
    "apiVersion": "core.gardener.cloud/v1beta1",
    "kind": "Shoot",
    "metadata": {"name": "s", "namespace": "garden-dev"},
    "spec": {"region": "here"},
}


def no_region(request: Request, _snapshot: Snapshot) -> Iterator[Finding]:
    if not request.object_as(Shoot).spec.region:
        yield Finding.required("spec.region", "name the region of the shoot")


def no_purpose(request: Request, _snapshot: Snapshot) -> Iterator[Finding]:
    if not request.object_as(Shoot).spec.purpose:
        yield Finding.warning("spec.purpose", "a purpose would be nice")


def never_deleted(_request: Request, _snapshot: Snapshot) -> Iterator[Finding]:
    yield Finding.denied("shoots stay")


def seed_exists(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    if snapshot.look_up(Seed, ObjectKey("", request.object_as(Shoot).spec.seed_name)) is None:
        yield Finding.invalid("spec.seedName", "x", "there is no such seed")


def default_purpose(draft: Draft, _request: Request, _snapshot: Snapshot) -> None:
    draft["spec"].setdefault("purpose", "evaluation")


def default_scheduler(draft: Draft, _request: Request, _snapshot: Snapshot) -> list[str]:
    draft["spec"].setdefault("schedulerName", "x")
    return ["scheduler chosen"]


def policy(name: str, **more: Any) -> Policy:
    given: dict[str, Any] = {"models": (Shoot,), "operations": ("CREATE", "UPDATE"), "why": "test"}
    return Policy(name=name, **{**given, **more})


TABLE = PolicyTable(
    (
        policy("shoot.region", validate=no_region, beside_gardener=True),
        policy("shoot.purpose", validate=no_purpose),
        policy("shoot.deletion", validate=never_deleted, operations=("DELETE",)),
        policy("shoot.a", mutate=default_purpose),
        policy("shoot.b", mutate=default_scheduler),
    )
)


def shoot(**spec: Any) -> dict[str, Any]:
    return {**SHOOT, "spec": spec}


def outcomes(decision: Decision | Needs) -> dict[str, str]:
    assert isinstance(decision, Decision)
    return {outcome.policy: outcome.verdict for outcome in decision.outcomes}


def with_modes(modes: dict[str, Mode], **more: Any) -> Snapshot:
    return Snapshot.of(options=Options(admission=AdmissionOptions(modes=modes), **more))


def test_all_findings_are_collected() -> None:
    decision = TABLE.validate(make_request(shoot()), Snapshot.of())
    assert isinstance(decision, Decision)
    assert not decision.allowed
    assert [finding.field for finding in decision.findings] == ["spec.region", "spec.purpose"]
    assert decision.warnings == ("shoot.purpose: spec.purpose: a purpose would be nice",)
    assert outcomes(decision) == {"shoot.region": "deny", "shoot.purpose": "warn"}
    assert decision.audit == {
        "shoot.region": "deny: spec.region",
        "shoot.purpose": "warn: spec.purpose",
    }


def test_no_findings() -> None:
    decision = TABLE.validate(make_request(shoot(region="r", purpose="p")), Snapshot.of())
    assert decision == Decision(
        outcomes=(PolicyOutcome("shoot.region", "allow"), PolicyOutcome("shoot.purpose", "allow"))
    )


@pytest.mark.parametrize(
    "unmatched",
    [
        pytest.param(make_request(shoot(), subresource="status"), id="another subresource"),
        pytest.param(make_request(old=SHOOT, operation="CONNECT"), id="another operation"),
        pytest.param(
            Request(uid="u", kind=None, operation="CREATE", key=ObjectKey("", "x"), new=b"{}"),
            id="an unknown kind",
        ),
    ],
)
def test_requests_without_a_policy_are_allowed(unmatched: Request) -> None:
    assert TABLE.validate(unmatched, Snapshot.of()) == Decision()
    assert TABLE.mutate(unmatched, Snapshot.of()) == Decision()


def test_deletions_have_their_own_policies() -> None:
    decision = TABLE.validate(make_request(old=SHOOT, operation="DELETE"), Snapshot.of())
    assert outcomes(decision) == {"shoot.deletion": "deny"}


@pytest.mark.parametrize(
    ("modes", "allowed", "verdict"),
    [
        pytest.param({}, False, "deny", id="the row's own mode"),
        pytest.param({"shoot.region": "warn"}, True, "warn", id="warn softens it"),
        pytest.param({"shoot.region": "off"}, True, None, id="off leaves it out"),
    ],
)
def test_modes(modes: dict[str, Mode], allowed: bool, verdict: str | None) -> None:
    decision = TABLE.validate(make_request(shoot()), with_modes(modes))
    assert isinstance(decision, Decision)
    assert decision.allowed is allowed
    assert outcomes(decision).get("shoot.region") == verdict


def test_exceptions_by_namespace() -> None:
    options = AdmissionOptions(
        modes={"shoot.region": "warn"}, exceptions={"garden-dev": {"shoot.region": "deny"}}
    )
    snapshot = Snapshot.of(options=Options(admission=options))
    assert outcomes(TABLE.validate(make_request(shoot()), snapshot))["shoot.region"] == "deny"


def test_beside_a_gardener_only_marked_policies_run() -> None:
    snapshot = with_modes({}, beside_gardener=True)
    assert outcomes(TABLE.validate(make_request(shoot()), snapshot)) == {"shoot.region": "deny"}
    assert TABLE.mutate(make_request(shoot()), snapshot) == Decision()


def test_mutators_edit_one_draft() -> None:
    decision = TABLE.mutate(make_request(shoot(purpose="testing")), Snapshot.of())
    assert decision == Decision(
        warnings=("scheduler chosen",),
        patch=({"op": "add", "path": "/spec/schedulerName", "value": "x"},),
        outcomes=(PolicyOutcome("shoot.a", "allow"), PolicyOutcome("shoot.b", "mutate")),
    )


def test_a_mutator_in_mode_warn_only_warns() -> None:
    decision = TABLE.mutate(make_request(shoot()), with_modes({"shoot.a": "warn"}))
    assert isinstance(decision, Decision)
    assert [operation["path"] for operation in decision.patch] == ["/spec/schedulerName"]
    assert decision.warnings == ("shoot.a: would set spec.purpose", "scheduler chosen")
    assert outcomes(decision) == {"shoot.a": "warn", "shoot.b": "mutate"}


def test_a_mutator_in_mode_warn_does_not_change_the_patch_of_others() -> None:
    def add_labels(draft: Draft, _request: Request, _snapshot: Snapshot) -> None:
        draft["metadata"]["labels"] = {"a": "1"}

    def add_label(draft: Draft, _request: Request, _snapshot: Snapshot) -> None:
        draft["metadata"]["labels"]["b"] = "2"

    table = PolicyTable((policy("shoot.a", mutate=add_labels), policy("shoot.b", mutate=add_label)))
    decision = table.mutate(make_request(shoot()), with_modes({"shoot.b": "warn"}))
    assert isinstance(decision, Decision)
    assert decision.patch == ({"op": "add", "path": "/metadata/labels", "value": {"a": "1"}},)


def test_reads_that_the_snapshot_lacks_are_returned() -> None:
    table = PolicyTable((policy("shoot.seed", validate=seed_exists),))
    request = make_request(shoot(seedName="a"))
    question = LiveGet(Seed, ObjectKey("", "a"))
    assert table.validate(request, Snapshot.of()) == Needs((question,))
    decision = table.validate(request, Snapshot.of(live_results={question: None}))
    assert outcomes(decision) == {"shoot.seed": "deny"}


DELETING = {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["a", "b"]}


def being_deleted(**metadata: Any) -> dict[str, Any]:
    return {**shoot(), "metadata": {**SHOOT["metadata"], **DELETING, **metadata}}


@pytest.mark.parametrize(
    ("old", "new", "passes"),
    [
        pytest.param(being_deleted(), being_deleted(finalizers=["b"]), True, id="loses one"),
        pytest.param(being_deleted(), being_deleted(finalizers=None), True, id="loses all"),
        pytest.param(
            being_deleted(),
            being_deleted(finalizers=[], resourceVersion="7", managedFields=[{"manager": "m"}]),
            True,
            id="bookkeeping may change too",
        ),
        pytest.param(being_deleted(), being_deleted(finalizers=["c"]), False, id="gains another"),
        pytest.param(being_deleted(), being_deleted(), False, id="loses none"),
        pytest.param(
            being_deleted(),
            being_deleted(finalizers=[], labels={"a": "b"}),
            False,
            id="changes a label besides",
        ),
        pytest.param(
            being_deleted(),
            {**being_deleted(finalizers=[]), "spec": {"purpose": "x"}},
            False,
            id="changes the spec besides",
        ),
        pytest.param(
            {**shoot(), "metadata": {"finalizers": ["a"]}},
            {**shoot(), "metadata": {}},
            False,
            id="is not being deleted",
        ),
        pytest.param(
            being_deleted(labels="nonsense"),
            being_deleted(labels="nonsense", finalizers=[]),
            True,
            id="even if it cannot be read",
        ),
    ],
)
def test_updates_that_only_remove_finalizers_are_allowed(
    old: dict[str, Any], new: dict[str, Any], passes: bool
) -> None:
    request = make_request(new, old)
    decision = TABLE.validate(request, Snapshot.of())
    assert isinstance(decision, Decision)
    assert decision.allowed is passes
    mutated = TABLE.mutate(request, Snapshot.of())
    assert isinstance(mutated, Decision)
    assert bool(mutated.patch) is not passes


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        pytest.param(
            {"spec": {"region": 5, "purpose": []}},
            {"spec.region", "spec.purpose"},
            id="wrong types",
        ),
        pytest.param({"spec": []}, {"spec"}, id="a list for an object"),
        pytest.param(
            {"spec": {"provider": {"workers": [{"name": "w", "maximum": 2**40}]}}},
            {"spec.provider.workers[0].maximum"},
            id="an integer beyond what its field holds",
        ),
    ],
)
def test_malformed_objects_are_rejected_by_field(changes: dict[str, Any], fields: set[str]) -> None:
    request = make_request({**shoot(region="r"), **changes})
    decision = TABLE.validate(request, Snapshot.of())
    assert isinstance(decision, Decision)
    assert {finding.field for finding in decision.findings} == fields
    assert outcomes(decision) == {SHAPE: "deny"}
    assert TABLE.mutate(request, Snapshot.of()) == Decision()


HEAD = b'{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Shoot","spec":{"region":"r"},"more":'


@pytest.mark.parametrize(
    ("more", "fields"),
    [
        pytest.param(b"9223372036854775807", [], id="the largest integer"),
        pytest.param(b"9223372036854775808", ["more"], id="one more"),
        pytest.param(b"-9223372036854775808", [], id="the smallest integer"),
        pytest.param(b'{"x":[-9223372036854775809]}', ["more.x[0]"], id="one less"),
        pytest.param(b"9" * 5000, [""], id="more digits than Python converts"),
        pytest.param(b'"9223372036854775808"', [], id="digits in a string are no integer"),
        pytest.param(b"[" * 199 + b"]" * 199, [], id="200 levels"),
        pytest.param(b"[" * 200 + b"]" * 200, ["more" + "[0]" * 199], id="201 levels"),
        pytest.param(b'{"a":' * 900 + b"1" + b"}" * 900, ["more" + ".a" * 199], id="900 levels"),
        pytest.param(b"[" * 5000 + b"]" * 5000, ["more"], id="more levels than Python decodes"),
        pytest.param(
            b'{"b":{"c":1,"d":' + b'{"a":' * 9000 + b"1" + b"}" * 9002,
            ["more.b.d"],
            id="named at the first levels only",
        ),
        pytest.param(b'"' + b"[{" * 300 + b'\\"\\\\"', [], id="brackets in a string"),
        pytest.param(b"[" + b"{}," * 500 + b"{}]", [], id="many brackets, but flat"),
    ],
)
def test_json_limits(more: bytes, fields: list[str]) -> None:
    kind = make_request(SHOOT).kind
    request = Request(
        uid="u", kind=kind, operation="CREATE", key=ObjectKey("", "s"), new=HEAD + more + b"}"
    )
    table = PolicyTable((policy("shoot.region", validate=no_region),))
    decision = table.validate(request, Snapshot.of())
    assert isinstance(decision, Decision)
    assert [finding.field[:200] for finding in decision.findings] == [
        field[:200] for field in fields
    ]


def test_malformed_objects_have_the_mode_of_the_strictest_policy() -> None:
    request = make_request({**SHOOT, "spec": 5})
    warn_only = with_modes({"shoot.region": "warn", "shoot.purpose": "warn"})
    decision = TABLE.validate(request, warn_only)
    assert isinstance(decision, Decision)
    assert decision.allowed
    assert outcomes(decision) == {SHAPE: "warn"}
    off = with_modes({"shoot.region": "off", "shoot.purpose": "off"})
    assert TABLE.validate(request, off) == Decision()


def test_repairing_a_malformed_object_is_allowed() -> None:
    broken = {**SHOOT, "spec": 5}
    decision = TABLE.validate(make_request(shoot(region="r", purpose="p"), broken), Snapshot.of())
    assert isinstance(decision, Decision)
    assert decision.allowed


def test_requests_are_decoded_once() -> None:
    request = make_request(SHOOT, SHOOT)
    assert request.object_as(Shoot) is request.object_as(Shoot)
    assert request.old_as(Shoot) is request.old_as(Shoot)
    assert request.raw() is request.raw()
    assert request.old_raw() is request.old_raw()
    assert request.draft() is not request.raw()
    assert request.draft() == msgspec.json.decode(msgspec.json.encode(SHOOT))
