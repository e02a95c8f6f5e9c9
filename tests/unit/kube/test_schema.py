from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.kube.schema import Schema

ROOT = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["region"],
            "properties": {
                "region": {"type": "string", "minLength": 2, "maxLength": 5},
                "replicas": {"type": "integer", "format": "int32", "minimum": 0, "default": 1},
                "mode": {"type": "string", "enum": ["on", "off"]},
                "ratio": {"type": "number", "exclusiveMaximum": True, "maximum": 1},
                "port": {"x-kubernetes-int-or-string": True},
                "when": {"type": "string", "format": "date-time"},
                "name": {"type": "string", "pattern": "^[a-z]+$"},
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "maybe": {"type": "string", "nullable": True},
                "zones": {
                    "type": "array",
                    "maxItems": 3,
                    "x-kubernetes-list-type": "set",
                    "items": {"type": "string"},
                },
                "workers": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "max": {"type": "integer", "default": 3, "maximum": 9},
                        },
                    },
                },
                "one": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                },
            },
        },
    },
}
SCHEMA = Schema(ROOT)


def resource(**spec):
    return {"apiVersion": "v1", "kind": "X", "metadata": {}, "spec": {"region": "eu", **spec}}


def messages(errors):
    return [str(error) for error in errors]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [], id="a valid object"),
        pytest.param({"replicas": 0}, [], id="at the minimum"),
        pytest.param(
            {"replicas": -1},
            [
                "spec.replicas: Invalid value: -1: spec.replicas in body should be greater than "
                "or equal to 0"
            ],
            id="below the minimum",
        ),
        pytest.param(
            {"replicas": "3"},
            [
                'spec.replicas: Invalid value: "string": spec.replicas in body must be of type '
                'integer: "string"'
            ],
            id="text for a number",
        ),
        pytest.param(
            {"replicas": 2**31},
            [
                '<nil>: Invalid value: "": Checked value must be of type integer with format '
                "int32 in spec.replicas"
            ],
            id="beyond int32",
        ),
        pytest.param({"replicas": 3.0}, [], id="an integral float is an integer"),
        pytest.param(
            {"replicas": True},
            ['spec.replicas: Invalid value: "": spec.replicas in body must be of type int32: ""'],
            id="true is no integer",
        ),
        pytest.param(
            {"region": "e"},
            [
                'spec.region: Invalid value: "e": spec.region in body should be at least 2 chars '
                "long"
            ],
            id="too short",
        ),
        pytest.param(
            {"region": "europe"},
            ["spec.region: Too long: may not be more than 5 bytes"],
            id="too long",
        ),
        pytest.param({"region": "europ"}, [], id="just short enough"),
        pytest.param(
            {"mode": "auto"},
            ['spec.mode: Unsupported value: "auto": supported values: "on", "off"'],
            id="not in the enumeration",
        ),
        pytest.param(
            {"ratio": 1},
            ["spec.ratio: Invalid value: 1: spec.ratio in body should be less than 1"],
            id="an exclusive maximum",
        ),
        pytest.param({"ratio": 0.99}, [], id="just below the exclusive maximum"),
        pytest.param({"port": "http"}, [], id="int-or-string takes text"),
        pytest.param({"port": 80}, [], id="int-or-string takes a number"),
        pytest.param(
            {"port": True},
            [
                'spec.port: Invalid value: "boolean": spec.port in body must be of type '
                'integer,string: "boolean"'
            ],
            id="int-or-string takes nothing else",
        ),
        pytest.param({"when": "2026-01-02T03:04:05Z"}, [], id="a date-time"),
        pytest.param(
            {"when": "noon"},
            [
                'spec.when: Invalid value: "noon": spec.when in body must be of type date-time: '
                '"noon"'
            ],
            id="not a date-time",
        ),
        pytest.param(
            {"name": "A"},
            ["spec.name: Invalid value: \"A\": spec.name in body should match '^[a-z]+$'"],
            id="a pattern",
        ),
        pytest.param(
            {"labels": {"a": 1}},
            [
                'spec.labels.a: Invalid value: "integer": spec.labels.a in body must be of type '
                'string: "integer"'
            ],
            id="a value of a map",
        ),
        pytest.param({"maybe": None}, [], id="null where nullable"),
        pytest.param(
            {"name": None},
            ['spec.name: Invalid value: "null": spec.name in body must be of type string: "null"'],
            id="null where not nullable",
        ),
        pytest.param(
            {"zones": ["a", "b", "c", "d"]},
            ["spec.zones: Too many: 4: must have at most 3 items"],
            id="too many items",
        ),
        pytest.param(
            {"one": {}},
            [
                '<nil>: Invalid value: "": "spec.one" must validate one and only one schema '
                "(oneOf). Found none valid",
                "spec.one.a: Required value",
            ],
            id="none of the alternatives",
        ),
        pytest.param({"one": {"b": "x"}}, [], id="one of the alternatives"),
    ],
)
def test_validation(spec, expected):
    assert messages(SCHEMA.validate(resource(**spec))) == expected


def test_required_fields_are_named_from_the_root():
    assert messages(SCHEMA.validate({"kind": "X"})) == ["spec: Required value"]


def test_a_prefix_names_the_part_that_is_validated():
    errors = SCHEMA.properties["spec"].validate({"region": 1}, prefix="status")
    assert messages(errors) == [
        'status.region: Invalid value: "integer": region in body must be of type string: "integer"'
    ]


def test_errors_of_unchanged_values_are_ignored():
    old = resource(mode="auto", name="A")
    assert SCHEMA.validate(resource(mode="auto", name="b"), old) == []
    assert len(SCHEMA.validate(resource(mode="never", name="A"), old)) == 1


def test_errors_of_unchanged_entries_of_map_lists_are_ignored():
    old = resource(workers=[{"name": "a", "max": 99}])
    moved = resource(workers=[{"name": "b", "max": 1}, {"name": "a", "max": 99}])
    assert SCHEMA.validate(moved, old) == []
    renamed = resource(workers=[{"name": "c", "max": 99}])
    assert len(SCHEMA.validate(renamed, old)) == 1


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"zones": ["a", "b"]}, [], id="a set without duplicates"),
        pytest.param(
            {"zones": ["a", "b", "a", "a"]},
            ['spec.zones[2]: Duplicate value: "a"'],
            id="a duplicate is reported once",
        ),
        pytest.param(
            {"workers": [{"name": "a"}, {"name": "a", "max": 1}]},
            ['spec.workers[1]: Duplicate value: {"name":"a"}'],
            id="a repeated key",
        ),
    ],
)
def test_lists_that_are_sets_or_maps(spec, expected):
    assert messages(SCHEMA.validate_lists(resource(**spec))) == expected


def test_lists_that_had_duplicates_may_keep_them():
    old = resource(zones=["a", "a"])
    assert SCHEMA.validate_lists(resource(zones=["a", "a", "b"]), old) == []


def test_defaults_replace_absent_values_and_nulls_that_are_not_nullable():
    value = resource(workers=[{"name": "a"}, {"name": "b", "max": 1}], replicas=None, mode=None)
    value["spec"]["maybe"] = None
    SCHEMA.apply_defaults(value)
    assert value["spec"] == {
        "region": "eu",
        "replicas": 1,
        "workers": [{"name": "a", "max": 3}, {"name": "b", "max": 1}],
        "maybe": None,
    }


def test_a_recursive_type_is_applied_at_every_depth():
    raw: dict[str, Any] = {
        "type": "object",
        "properties": {
            "zones": {
                "type": "array",
                "x-kubernetes-list-type": "set",
                "items": {"type": "string", "enum": ["a", "b"]},
            },
            "size": {"type": "integer", "default": 1},
        },
    }
    raw["properties"]["inner"] = raw
    schema = Schema(raw)
    value: dict[str, Any] = {"inner": {"inner": {"zones": ["a", "a", "c"]}}}
    schema.apply_defaults(value)
    assert value["inner"]["inner"]["size"] == 1
    assert messages(schema.validate_lists(value)) == ['inner.inner.zones[1]: Duplicate value: "a"']
    assert len(schema.validate(value)) == 1


def test_pruning_removes_unknown_fields_and_returns_their_paths():
    value = resource(
        colour="red",
        free={"any": {"thing": 1}},
        workers=[{"name": "a", "size": 1}],
        labels={"x": "y"},
    )
    value["extra"] = 1
    assert sorted(SCHEMA.prune(value)) == ["extra", "spec.colour", "spec.workers[0].size"]
    assert value == resource(free={"any": {"thing": 1}}, workers=[{"name": "a"}], labels={"x": "y"})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["region", "zones", "one", "a", "x"]), inner)
        ),
        max_leaves=12,
    )
)
def test_any_value_can_be_validated_and_pruning_twice_removes_nothing_more(spec):
    value = {"spec": spec}
    SCHEMA.apply_defaults(value)
    SCHEMA.prune(value)
    assert SCHEMA.prune(value) == []
    first = messages(SCHEMA.validate(value))
    assert messages(SCHEMA.validate(value)) == first
    assert SCHEMA.validate(value, value) == []
