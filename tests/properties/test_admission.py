"""Every body gets a response: it is decoded, decided and encoded, or rejected as no review."""

import base64
import copy
import json
from typing import Any

import jsonpatch
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.admission import NOW, read
from tests.support.reviews import LANDSCAPE, VALID, fuzzed, make_review, valid_reviews
from webhook.admission import engine, review
from webhook.admission.decision import Decision, Needs, Request
from webhook.admission.response import MAX_WARNING, encode
from webhook.admission.review import ReviewError
from webhook.api.kinds import KINDS
from webhook.state.cluster_state import ClusterState
from webhook.state.live_reads import AccessReview, LiveGet, LiveList, LiveResult, LiveResults
from webhook.state.snapshot import Snapshot

CHUNK = 5_000
CHUNKS = 20


def make_state(*raws: dict[str, Any]) -> ClusterState:
    state = ClusterState([kind.model for kind in KINDS])
    for raw in raws:
        obj = read(raw)
        state.store(type(obj)).put(obj.key, obj)
    return state


STATE = make_state(*LANDSCAPE)


ABSENT: dict[type, LiveResult] = {LiveGet: None, LiveList: (), AccessReview: True}


def take_snapshot(results: LiveResults | None = None) -> Snapshot:
    return Snapshot(STATE, NOW, live_results=results)


def decide(verb: str, request: Request) -> Decision:
    """Do what the server does: read what is missing, then decide with the results."""
    results: LiveResults = {}
    while True:
        decision: Decision | Needs = getattr(engine.TABLE, verb)(request, take_snapshot(results))
        if isinstance(decision, Decision):
            return decision
        assert not results.keys() & set(decision.live_reads), "nothing is read twice"
        results = {**results, **{each: ABSENT[type(each)] for each in decision.live_reads}}


def respond(verb: str, body: bytes) -> dict[str, Any] | None:
    """Return the response to a body; None stands for status 400."""
    try:
        request = review.decode(body)
    except ReviewError:
        return None
    encoded = encode(request, decide(verb, request))
    if verb == "validate":
        whole = review.decode_whole(body)
        assert encode(whole, decide(verb, whole)) == encoded, "in one pass or step by step"
    written = msgspec.json.decode(encoded)
    response: dict[str, Any] = written["response"]
    assert response["uid"] == request.uid
    check_response(verb, response, body)
    return response


def check_response(verb: str, response: dict[str, Any], body: bytes) -> None:
    if not response["allowed"]:
        assert response["status"]["code"] in (403, 422)
        assert response["status"]["message"]
    if "patch" in response:
        assert verb == "mutate"
        operations = msgspec.json.decode(base64.b64decode(response["patch"]))
        # An independent library must be able to apply the patch.
        jsonpatch.apply_patch(msgspec.json.decode(body)["request"]["object"], operations)
    for warning in response.get("warnings", ()):
        assert 0 < len(warning) <= MAX_WARNING
        assert warning.isprintable()


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_malformed_reviews_get_a_response(chunk: int) -> None:
    verdicts = set()
    for number, body in enumerate(fuzzed(chunk, CHUNK)):
        verb = ("mutate", "validate")[number % 2]
        response = respond(verb, body)
        verdicts.add(None if response is None else response["allowed"])
    assert verdicts == {None, True, False}


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3)
    ),
    max_leaves=10,
)
paths = [
    (index, path)
    for index, raw in enumerate(VALID)
    for path in [
        ("metadata",),
        ("spec",),
        *((key, inner) for key in ("spec",) for inner in raw[key]),
    ]
]


@settings(max_examples=2_000, deadline=None)
@given(
    target=st.sampled_from(paths), value=json_values, verb=st.sampled_from(("mutate", "validate"))
)
def test_any_value_anywhere_gets_a_response(
    target: tuple[int, tuple[str, ...]], value: Any, verb: str
) -> None:
    index, path = target
    changed = copy.deepcopy(make_review(VALID[index], VALID[index], "UPDATE"))
    parent = changed["request"]["object"]
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    respond(verb, _encode(changed))


def _encode(value: Any) -> bytes:
    """Encode with the standard library, which writes integers of any size."""
    return json.dumps(value).encode()


@pytest.mark.parametrize("body", [msgspec.json.encode(each) for each in valid_reviews()])
def test_mutating_twice_is_mutating_once(body: bytes) -> None:
    request = review.decode(body)
    if request.object_bytes is None:
        return
    once = decide("mutate", request)
    changed = jsonpatch.apply_patch(request.raw(), [*once.patch])
    again = decide("mutate", request.with_object(msgspec.json.encode(changed)))
    assert again.patch == ()


def test_mutating_malformed_objects_twice_is_mutating_them_once() -> None:
    for body in fuzzed(1_000, 3_000):
        try:
            request = review.decode(body)
        except ReviewError:
            continue
        once = decide("mutate", request)
        if once.patch:
            changed = jsonpatch.apply_patch(request.raw(), [*once.patch])
            again = decide("mutate", request.with_object(msgspec.json.encode(changed)))
            assert again.patch == (), body
