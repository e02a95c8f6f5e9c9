"""The wire format of extenders: keys in any case in, Go's case out, a response to every request."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.landscape_objects import (
    MULTI_ZONE,
    make_profile,
    make_seed,
    make_shoot,
    raw_shoot,
)
from webhook.api.shoots import Shoot
from webhook.kube.meta import ObjectKey
from webhook.scheduling import extender
from webhook.scheduling.extender import ExtenderBindingArgs, ExtenderError
from webhook.scheduling.seed_table import SeedTable
from webhook.state.live_reads import LiveGet
from webhook.state.snapshot import Snapshot

POD = {"metadata": {"annotations": {"espalier.gardener.cloud/shoot": "garden-dev/shoot"}}}
NAMES = ["full", "good", "better", "away", "nowhere"]


def snapshot(shoot: Shoot | None = None) -> Snapshot:
    seeds = [
        make_seed("full", shoots=1),
        make_seed("good"),
        make_seed("better"),
        make_seed("away", region="us-east-1"),
        make_seed("broken", ready=False),
    ]
    shoots = [
        make_shoot("one", seed="full"),
        *(make_shoot(f"good-{index}", seed="good") for index in range(25)),
    ]
    return Snapshot.of([*seeds, *shoots, make_profile(), shoot or make_shoot()])


def call(function: Any, written: Any, given: Snapshot | None = None) -> Any:
    body = written if isinstance(written, bytes) else json.dumps(written).encode()
    return json.loads(function(body, SeedTable(), given or snapshot()).body)


def test_filter_gives_a_reason_for_every_rejected_name() -> None:
    found = call(
        extender.filter_seeds, {"Pod": POD, "Nodes": None, "NodeNames": [*NAMES, "broken"]}
    )
    assert found == {
        "Nodes": None,
        "NodeNames": ["good", "better"],
        "FailedNodes": {
            "full": "capacity: no capacity left for shoots (status.allocatable)",
            "away": "strategy: is not in the shoot's region",
        },
        "FailedAndUnresolvableNodes": {
            "nowhere": "no such seed",
            "broken": "usable: gardenlet is not ready (condition GardenletReady)",
        },
        "Error": "",
    }


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param(("Pod", "NodeNames"), id="as Go writes them"),
        pytest.param(("pod", "nodenames"), id="as old schedulers wrote them"),
        pytest.param(("pod", "nodeNames"), id="as JSON is usually written"),
        pytest.param(("POD", "NODENAMES"), id="shouted"),
    ],
)
def test_keys_are_read_in_any_case(keys: tuple[str, str]) -> None:
    pod, names = keys
    found = call(extender.filter_seeds, {pod: POD, names: ["good"]})
    assert found["NodeNames"] == ["good"]


def test_the_pod_may_be_a_shoot_itself() -> None:
    found = call(extender.filter_seeds, {"Pod": raw_shoot(ha=MULTI_ZONE), "NodeNames": ["good"]})
    assert found["NodeNames"] == []
    assert "highAvailability" in found["FailedAndUnresolvableNodes"]["good"]


def test_whole_nodes_are_answered_with_whole_nodes() -> None:
    nodes = [{"metadata": {"name": name}, "spec": {"x": 1}} for name in ("good", "full")]
    found = call(extender.filter_seeds, {"Pod": POD, "Nodes": {"items": nodes}, "NodeNames": None})
    assert found["Nodes"] == {"metadata": {}, "items": nodes[:1]}
    assert found["NodeNames"] is None


def test_an_assigned_shoot_fits_its_own_seed_only() -> None:
    given = snapshot(make_shoot(seed="away"))
    found = call(extender.filter_seeds, {"Pod": POD, "NodeNames": NAMES}, given)
    assert found["NodeNames"] == ["away"]
    assert set(found["FailedAndUnresolvableNodes"].values()) == {extender.ASSIGNED_ELSEWHERE}
    scores = call(extender.prioritize, {"Pod": POD, "NodeNames": NAMES}, given)
    assert {score["Host"] for score in scores if score["Score"]} == {"away"}


def test_prioritize_gives_the_highest_score_to_the_chosen_seed_alone() -> None:
    found = call(extender.prioritize, {"Pod": POD, "NodeNames": NAMES})
    assert found == [
        {"Host": "full", "Score": 0},
        {"Host": "good", "Score": 8},
        {"Host": "better", "Score": 10},
        {"Host": "away", "Score": 0},
        {"Host": "nowhere", "Score": 0},
    ]


def test_equal_seeds_do_not_score_equally() -> None:
    seeds = [make_seed(name) for name in ("b", "a", "c")]
    given = Snapshot.of([*seeds, make_profile(), make_shoot()])
    found = call(extender.prioritize, {"Pod": POD, "NodeNames": ["c", "b", "a"]}, given)
    assert [score["Score"] for score in found] == [9, 9, 10]


def test_the_chosen_seed_is_returned_as_soon_as_it_is_known() -> None:
    def choice(function: Any, names: list[str]) -> str | None:
        body = json.dumps({"Pod": POD, "NodeNames": names}).encode()
        response = function(body, SeedTable(), snapshot())
        assert response.shoot == make_shoot()
        seed: str | None = response.seed
        return seed

    assert choice(extender.filter_seeds, ["good", "better"]) is None
    assert choice(extender.filter_seeds, ["good", "full"]) == "good"
    assert choice(extender.prioritize, ["good", "better"]) == "better"


MALFORMED = [
    pytest.param(b"", id="nothing"),
    pytest.param(b"{", id="half of it"),
    pytest.param(b"[]", id="a list"),
    pytest.param(b"\xff\xfe", id="no text"),
    pytest.param(b'{"Pod": 1, "NodeNames": ["good"]}', id="a number for a Pod"),
    pytest.param(b'{"NodeNames": ["good"]}', id="no Pod"),
    pytest.param(b'{"Pod": {}, "NodeNames": ["good"]}', id="a Pod without annotation"),
    pytest.param(
        b'{"Pod": {"metadata": {"annotations": {"espalier.gardener.cloud/shoot": "x"}}},'
        b' "NodeNames": ["good"]}',
        id="an annotation without a name",
    ),
    pytest.param(b'{"Pod": {"kind": "Shoot", "spec": 1}, "NodeNames": ["good"]}', id="no Shoot"),
    pytest.param(json.dumps({"Pod": POD}).encode(), id="no names"),
    pytest.param(json.dumps({"Pod": POD, "NodeNames": [1]}).encode(), id="numbers for names"),
    pytest.param(b"[" * 100_000, id="nested without end"),
]


@pytest.mark.parametrize("body", MALFORMED)
def test_malformed_requests_get_an_error(body: bytes) -> None:
    found = call(extender.filter_seeds, body)
    assert found["Error"]
    assert found["NodeNames"] is None
    scores = call(extender.prioritize, body)
    assert all(score == {"Host": "good", "Score": 0} for score in scores)


def test_a_shoot_that_is_not_in_the_cache_is_read_live() -> None:
    given = Snapshot.of([make_seed("good"), make_profile()])
    body = json.dumps({"Pod": POD, "NodeNames": ["good"]}).encode()
    response = json.loads(extender.filter_seeds(body, SeedTable(), given).body)
    assert response["Error"] == "there is no shoot garden-dev/shoot"
    assert given.live_reads == [LiveGet(Shoot, ObjectKey("garden-dev", "shoot"))]


def test_preempt_has_no_victims() -> None:
    assert json.loads(extender.preempt()) == {"NodeNameToMetaVictims": {}}


def test_bind_arguments() -> None:
    written = {"PodName": "p", "PodNamespace": "ns", "PodUID": "u", "Node": "s"}
    expected = ExtenderBindingArgs(ObjectKey("ns", "p"), "u", "s")
    assert extender.decode_binding(json.dumps(written).encode()) == expected
    lower = {key.lower(): value for key, value in written.items()}
    assert extender.decode_binding(json.dumps(lower).encode()) == expected
    for key in ("PodName", "PodNamespace", "Node"):
        with pytest.raises(ExtenderError, match=f"{key} is missing"):
            extender.decode_binding(json.dumps({**written, key: ""}).encode())
    assert extender.encode_binding() == b'{"Error":""}'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
KEYS = st.sampled_from(["Pod", "pod", "Nodes", "NodeNames", "nodenames", "metadata", "items"])


@given(st.dictionaries(KEYS, JSON | st.dictionaries(KEYS, JSON)) | JSON)
def test_every_request_gets_a_response(written: Any) -> None:
    body = msgspec.json.encode(written)
    given_snapshot = Snapshot.of([make_seed("good")])
    for function in (extender.filter_seeds, extender.prioritize):
        json.loads(function(body, SeedTable(), given_snapshot).body)
