"""Field sets, comparison, merge and validation of values with a schema."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.dev.apiserver.fieldownership import fieldsets, merge, typedvalues, validation

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "selector": {
            "type": "object",
            "x-kubernetes-map-type": "atomic",
            "additionalProperties": {"type": "string"},
        },
        "items": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
            },
        },
        "tags": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "args": {"type": "array", "items": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}

_NAMES = st.sampled_from("abcd")
_VALUES = st.fixed_dictionaries(
    {},
    optional={
        "name": _NAMES,
        "labels": st.dictionaries(_NAMES, _NAMES, max_size=3),
        "selector": st.dictionaries(_NAMES, _NAMES, max_size=2),
        "items": st.lists(
            st.fixed_dictionaries({"name": _NAMES}, optional={"size": st.integers(0, 2)}),
            max_size=3,
            unique_by=lambda item: str(item["name"]),  # type: ignore[index]  # the stub has str
        ),
        "tags": st.lists(_NAMES, max_size=3, unique=True),
        "args": st.lists(_NAMES, max_size=2),
        "free": st.dictionaries(_NAMES, st.dictionaries(_NAMES, st.integers(0, 2)), max_size=2),
    },
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param({"name": "x"}, {"f:name": {}}, id="a scalar is one field"),
        pytest.param(
            {"labels": {"a": "b"}},
            {"f:labels": {"f:a": {}}},
            id="the keys of a map are fields, the map is not",
        ),
        pytest.param({"labels": {}}, {"f:labels": {}}, id="an empty map is a field"),
        pytest.param({"labels": None}, {"f:labels": {}}, id="null is a field"),
        pytest.param({"selector": {"a": "b"}}, {"f:selector": {}}, id="an atomic map is one field"),
        pytest.param(
            {"items": [{"name": "a", "size": 1}]},
            {"f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:size": {}}}},
            id="an item of a list map and its fields are fields",
        ),
        pytest.param(
            {"items": [{"name": "a"}, {"name": "a"}]},
            {"f:items": {'k:{"name":"a"}': {}}},
            id="items that share their keys are one field",
        ),
        pytest.param({"tags": ["a"]}, {"f:tags": {'v:"a"': {}}}, id="an item of a set is a field"),
        pytest.param({"args": ["a"]}, {"f:args": {}}, id="a plain list is one field"),
        pytest.param(
            {"free": {"a": {"b": [1]}}},
            {"f:free": {"f:a": {".": {}, "f:b": {}}}},
            id="undeclared objects are granular, undeclared lists are atomic",
        ),
    ],
)
def test_to_field_set(value, expected):
    assert typedvalues.to_field_set(value, SCHEMA) == expected


@given(_VALUES)
def test_a_value_does_not_differ_from_itself(value):
    assert typedvalues.compare(value, value, SCHEMA) == ({}, {}, {})


@given(_VALUES, _VALUES)
def test_comparisons_mirror_each_other(left, right):
    there, back = typedvalues.compare(left, right, SCHEMA), typedvalues.compare(right, left, SCHEMA)
    assert (there.removed, there.modified, there.added) == (back.added, back.modified, back.removed)


@given(_VALUES, _VALUES)
def test_added_fields_are_fields_of_the_new_value(left, right):
    comparison = typedvalues.compare(left, right, SCHEMA)
    added = set(fieldsets.paths(comparison.added))
    everything = set(fieldsets.paths(typedvalues.compare({}, right, SCHEMA).added))
    assert added <= everything


@given(_VALUES, _VALUES)
def test_a_merge_has_all_configured_fields(live, config):
    merged = merge.merge(live, config, SCHEMA)
    again = merge.merge(merged, config, SCHEMA)
    assert typedvalues.compare(again, merged, SCHEMA) == ({}, {}, {})
    assert set(fieldsets.paths(typedvalues.to_field_set(config, SCHEMA))) - set(
        fieldsets.paths(typedvalues.to_field_set(merged, SCHEMA))
    ) <= {(fieldsets.field("labels"),), (fieldsets.field("free"),)}


@given(_VALUES)
def test_merging_nothing_changes_nothing(live):
    assert merge.merge(live, {}, SCHEMA) == live


@pytest.mark.parametrize(
    ("live", "config", "expected"),
    [
        pytest.param("ab", "b", "ab", id="live items keep their position"),
        pytest.param("a", "b", "ab", id="new items follow"),
        pytest.param("abc", "ca", "bca", id="shared items take the configured order"),
        pytest.param("xa", "ba", "xba", id="new items come before the shared one they precede"),
        pytest.param("axb", "ba", "xba", id="live items stay in between"),
    ],
)
def test_order_of_merged_items(live, config, expected):
    merged = merge.merge(
        {"items": [{"name": name} for name in live]},
        {"items": [{"name": name} for name in config]},
        SCHEMA,
    )
    assert "".join(item["name"] for item in merged["items"]) == expected


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param({"name": "x"}, [], id="valid"),
        pytest.param({"other": 1}, [".other: field not declared in schema"], id="unknown field"),
        pytest.param(
            {"free": {"other": 1}}, [], id="unknown field where unknown fields are preserved"
        ),
        pytest.param(
            {"name": 1},
            [".name: expected string, got &value.valueUnstructured{Value:1}"],
            id="number for a string",
        ),
        pytest.param({"labels": ["a"]}, [".labels: expected map, got &{[a]}"], id="list for a map"),
        pytest.param(
            {"items": {"a": 1}}, [".items: expected list, got &{map[a:1]}"], id="map for a list"
        ),
        pytest.param(
            {"items": [{"name": "a", "size": "x"}]},
            ['.items[name="a"].size: expected numeric (int or float), got string'],
            id="string for a number",
        ),
        pytest.param(
            {"items": [{"name": "a"}, {"name": "a"}]},
            ['.items: duplicate entries for key [name="a"]'],
            id="two items with one key",
        ),
        pytest.param(
            {"items": [{"size": 1}]},
            [
                ".items: element 0: associative list with keys has an element that omits all key "
                'fields ["name"] (and doesn\'t have default values for any key fields)'
            ],
            id="an item without a key",
        ),
    ],
)
def test_validation_of_a_configuration(config, expected):
    assert validation.validate(config, SCHEMA) == expected
