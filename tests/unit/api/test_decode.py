import copy
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.full_objects import make_full, walk
from tests.support.steps import count_steps
from webhook.api.decode import convert, decode, malformed_fields
from webhook.api.kinds import KINDS, Kind, kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot, ShootSpec

SHOOT = kind_of_model(Shoot)


def encode(value: Any) -> bytes:
    return json.dumps(value).encode()


def test_only_declared_fields_are_kept():
    shoot = decode(Shoot, encode({"spec": {"region": "r", "foreign": {"deep": [1]}}, "x": 1}))
    assert shoot == Shoot(spec=ShootSpec(region="r"))


def test_null_counts_as_absent():
    data = encode({"metadata": {"labels": None}, "spec": {"region": None, "provider": None}})
    assert decode(Shoot, data) == Shoot()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_null_counts_as_absent_in_every_field(kind: Kind):
    full = make_full(kind)
    assert decode(kind.model, encode(full)) != kind.model()
    for path, _ in walk(full):
        if isinstance(path[-1], str):
            changed = copy.deepcopy(full)
            holder: Any = changed
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = None
            with_null = decode(kind.model, encode(changed))
            del holder[path[-1]]
            assert with_null == decode(kind.model, encode(changed)), path


def test_null_in_what_a_model_does_not_read_costs_nothing():
    def steps(foreign: Any) -> int:
        data = encode({"spec": {"region": None, "provider": {"infrastructureConfig": foreign}}})
        assert decode(Shoot, data) == Shoot()
        return count_steps(lambda: decode(Shoot, data))

    # The garbage collector may take steps of its own meanwhile.
    assert steps([{"a": None}] * 100_000) < steps([{}]) + 10_000


def test_null_within_a_list_is_malformed():
    with pytest.raises(msgspec.ValidationError):
        decode(Shoot, encode({"spec": {"provider": {"workers": [None]}}}))


def test_the_seed_template_is_found_in_both_variants_of_a_managed_seed():
    template = {"spec": {"provider": {"region": "r"}}}
    for spec in ({"seedTemplate": template}, {"gardenlet": {"config": {"seedConfig": template}}}):
        found = convert(ManagedSeed, {"spec": spec}).seed_template
        assert found is not None
        assert found.spec.provider.region == "r"
    assert convert(ManagedSeed, {"spec": {"gardenlet": {}}}).seed_template is None


@pytest.mark.parametrize(
    ("settings", "visible"),
    [
        pytest.param(None, True, id="no settings"),
        pytest.param({}, True, id="empty settings"),
        pytest.param({"scheduling": {}}, True, id="empty scheduling"),
        pytest.param({"scheduling": {"visible": True}}, True, id="set to true"),
        pytest.param({"scheduling": {"visible": False}}, False, id="hidden"),
    ],
)
def test_a_seed_is_visible_by_default(settings: Any, visible: bool):
    assert convert(Seed, {"spec": {"settings": settings}}).is_visible is visible


def test_every_malformed_field_is_returned_with_its_path():
    raw = {
        "metadata": {"name": 1, "labels": {"a": 2}},
        "spec": {
            "region": [],
            "provider": {"workers": [{"name": "a", "minimum": "1", "maximum": 2**40}]},
            "foreign": 1,
        },
        "status": {"conditions": {}},
    }
    assert {fault.path for fault in malformed_fields(SHOOT, raw)} == {
        "metadata.name",
        "metadata.labels.a",
        "spec.region",
        "spec.provider.workers[0].minimum",
        "spec.provider.workers[0].maximum",
        "status.conditions",
    }


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 2**200], ids=["over", "under", "huge"])
def test_numbers_beyond_64_bits_are_malformed(number: int):
    raw = {"spec": {"provider": {"workers": [{"name": "a", "priority": number}]}}}
    with pytest.raises(msgspec.ValidationError):
        decode(Shoot, encode(raw))
    assert [fault.path for fault in malformed_fields(SHOOT, raw)] == [
        "spec.provider.workers[0].priority"
    ]


JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=3),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=3), inner, max_size=2)
    ),
    max_leaves=5,
)


@settings(max_examples=300, deadline=None)
@given(kind=st.sampled_from(KINDS), data=st.data())
def test_every_object_that_does_not_decode_has_a_malformed_field(kind: Kind, data: st.DataObject):
    fields = st.sampled_from([field.encode_name for field in msgspec.structs.fields(kind.model)])
    inner = st.dictionaries(
        st.sampled_from(["replicas", "conditions", "provider", "type", "labels", "name"]), JSON
    )
    raw = data.draw(st.dictionaries(fields, st.one_of(JSON, inner), max_size=4))
    try:
        decode(kind.model, encode(raw))
    except msgspec.ValidationError:
        assert malformed_fields(kind, raw)
