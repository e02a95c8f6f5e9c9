"""Whatever is sent, it is answered: decoded, decided and encoded, or refused as no review."""

import base64
import copy
import json
from typing import Any

import jsonpatch
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.admission import NOW, read
from tests.reviews import LANDSCAPE, VALID, make_review, spoiled, valid_reviews
from webhook.admission import engine, review
from webhook.admission.decision import Decision, Needs, Request
from webhook.admission.response import MAX_WARNING, encode
from webhook.admission.review import ReviewError
from webhook.api.kinds import KINDS
from webhook.state.memory import Memory
from webhook.state.questions import Answer, Answers, Find, Get, MayI
from webhook.state.snapshot import Snapshot

CHUNK = 5_000
CHUNKS = 20


def remember(*raws: dict[str, Any]) -> Memory:
    memory = Memory([kind.model for kind in KINDS])
    for raw in raws:
        obj = read(raw)
        memory.store(type(obj)).put(obj.key, obj)
    return memory


MEMORY = remember(*LANDSCAPE)


ABSENT: dict[type, Answer] = {Get: None, Find: (), MayI: True}


def look(answers: Answers | None = None) -> Snapshot:
    return Snapshot(MEMORY, NOW, answers=answers)


def decide(half: str, request: Request) -> Decision:
    """Do what the server does: ask what is missing, then decide with the answers."""
    answers: Answers = {}
    while True:
        decision: Decision | Needs = getattr(engine, half)(request, look(answers))
        if isinstance(decision, Decision):
            return decision
        assert not answers.keys() & set(decision.questions), "nothing is asked twice"
        answers = {**answers, **{each: ABSENT[type(each)] for each in decision.questions}}


def answer(half: str, body: bytes) -> dict[str, Any] | None:
    """Answer a body; None stands for 400."""
    try:
        request = review.decode(body)
    except ReviewError:
        return None
    encoded = encode(request, decide(half, request))
    if half == "validate":
        whole = review.decode_whole(body)
        assert encode(whole, decide(half, whole)) == encoded, "in one pass or step by step"
    written = msgspec.json.decode(encoded)
    response: dict[str, Any] = written["response"]
    assert response["uid"] == request.uid
    check_answer(half, response, body)
    return response


def check_answer(half: str, response: dict[str, Any], body: bytes) -> None:
    if not response["allowed"]:
        assert response["status"]["code"] in (403, 422)
        assert response["status"]["message"]
    if "patch" in response:
        assert half == "mutate"
        operations = msgspec.json.decode(base64.b64decode(response["patch"]))
        # An independent library must be able to do what we ask for.
        jsonpatch.apply_patch(msgspec.json.decode(body)["request"]["object"], operations)
    for warning in response.get("warnings", ()):
        assert 0 < len(warning) <= MAX_WARNING
        assert warning.isprintable()


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_spoiled_reviews_are_answered(chunk: int) -> None:
    verdicts = set()
    for number, body in enumerate(spoiled(chunk, CHUNK)):
        half = ("mutate", "validate")[number % 2]
        response = answer(half, body)
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
    place=st.sampled_from(paths), value=json_values, half=st.sampled_from(("mutate", "validate"))
)
def test_any_value_anywhere_is_answered(
    place: tuple[int, tuple[str, ...]], value: Any, half: str
) -> None:
    index, path = place
    asked = copy.deepcopy(make_review(VALID[index], VALID[index], "UPDATE"))
    holder = asked["request"]["object"]
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    answer(half, _encode(asked))


def _encode(value: Any) -> bytes:
    """The standard library writes integers of any size."""
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


def test_mutating_spoiled_objects_twice_is_mutating_them_once() -> None:
    for body in spoiled(1_000, 3_000):
        try:
            request = review.decode(body)
        except ReviewError:
            continue
        once = decide("mutate", request)
        if once.patch:
            changed = jsonpatch.apply_patch(request.raw(), [*once.patch])
            again = decide("mutate", request.with_object(msgspec.json.encode(changed)))
            assert again.patch == (), body
