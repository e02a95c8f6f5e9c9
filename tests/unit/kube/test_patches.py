import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.kube import patches

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 3), st.sampled_from(["", "a", "~", "/", "~1"])
)
KEYS = st.sampled_from(["a", "b", "a/b", "m~n", "~1", "", "0", "-", "é"])
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=5), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=25,
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=6)


def identical(left: Any, right: Any) -> bool:
    """Compare as JSON does, where 1 is not true."""
    return repr(_sorted(left)) == repr(_sorted(right))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return [(key, _sorted(value[key])) for key in sorted(value)]
    return [_sorted(each) for each in value] if isinstance(value, list) else value


@given(OBJECTS, OBJECTS)
def test_applying_a_diff_turns_the_old_document_into_the_new_one(old: Any, new: Any):
    before = copy.deepcopy(old)
    operations = patches.diff(old, new)
    assert identical(patches.apply(old, operations), new)
    assert identical(old, before)


@given(OBJECTS)
def test_equal_documents_have_an_empty_diff(document: Any):
    assert patches.diff(document, copy.deepcopy(document)) == []


@given(OBJECTS, KEYS, JSON)
def test_one_added_member_is_one_operation(document: Any, key: str, value: Any):
    document.pop(key, None)
    operations = patches.diff(document, {**document, key: value})
    assert operations == [{"op": "add", "path": patches.pointer(key), "value": value}]


@given(st.lists(JSON, max_size=6), st.integers(0, 6), JSON)
def test_one_inserted_element_is_one_operation(elements: list[Any], index: int, value: Any):
    changed = [*elements[:index], value, *elements[index:]]
    operations = patches.diff({"list": elements}, {"list": changed})
    assert [operation["op"] for operation in operations] == ["add"]


@given(OBJECTS, OBJECTS)
def test_merging_a_merge_diff_turns_the_old_object_into_the_new_one(old: Any, new: Any):
    patch = patches.merge_diff(old, new)
    assert identical(without_nulls(patches.merge(old, patch)), without_nulls(new))


def without_nulls(value: Any) -> Any:
    """Drop null members, which no merge patch can set; lists are replaced as they are."""
    if not isinstance(value, dict):
        return value
    return {key: without_nulls(each) for key, each in value.items() if each is not None}


@pytest.mark.parametrize(
    ("old", "new", "operations"),
    [
        pytest.param(
            {"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}],
            id="one is not true",
        ),
        pytest.param({"a": 1}, {"a": 1.0}, [], id="one is one"),
        pytest.param(
            {"a/b": {"m~n": 1}}, {"a/b": {}}, [{"op": "remove", "path": "/a~1b/m~0n"}],
            id="keys are escaped",
        ),
        pytest.param(
            {"l": [1, 2, 3, 4]}, {"l": [1, 4]},
            [{"op": "remove", "path": "/l/2"}, {"op": "remove", "path": "/l/1"}],
            id="elements are removed from the back",
        ),
        pytest.param(
            {"l": [{"n": "a", "v": 1}, {"n": "b"}]}, {"l": [{"n": "a", "v": 2}, {"n": "b"}]},
            [{"op": "replace", "path": "/l/0/v", "value": 2}],
            id="only the changed member of an element",
        ),
        pytest.param(
            {"l": [1]}, {"l": [1, 2, 3]},
            [
                {"op": "add", "path": "/l/1", "value": 2},
                {"op": "add", "path": "/l/2", "value": 3},
            ],
            id="appended in order",
        ),
        pytest.param(
            {"a": [1]}, {"a": {"0": 1}}, [{"op": "replace", "path": "/a", "value": {"0": 1}}],
            id="a list is no object",
        ),
        pytest.param(
            {"a": None}, {}, [{"op": "remove", "path": "/a"}], id="null is a value",
        ),
    ],
)  # fmt: skip
def test_diff(old: Any, new: Any, operations: list[Any]):
    assert patches.diff(old, new) == operations


@pytest.mark.parametrize(
    ("operation", "result"),
    [
        pytest.param({"op": "add", "path": "/l/-", "value": 3}, {"l": [1, 2, 3]}, id="append"),
        pytest.param({"op": "add", "path": "", "value": 1}, 1, id="the whole document"),
        pytest.param({"op": "move", "from": "/l/0", "path": "/x"}, {"l": [2], "x": 1}, id="move"),
        pytest.param({"op": "move", "from": "/l", "path": "/l"}, {"l": [1, 2]}, id="move nowhere"),
        pytest.param({"op": "copy", "from": "/l/0", "path": "/l/1"}, {"l": [1, 1, 2]}, id="copy"),
        pytest.param({"op": "test", "path": "/l/1", "value": 2}, {"l": [1, 2]}, id="test"),
        pytest.param({"op": "replace", "path": "/l/0", "value": 9}, {"l": [9, 2]}, id="replace"),
    ],
)
def test_apply(operation: dict[str, Any], result: Any):
    assert patches.apply({"l": [1, 2]}, [operation]) == result


@pytest.mark.parametrize(
    "operation",
    [
        pytest.param({"op": "add", "path": "l", "value": 1}, id="no leading slash"),
        pytest.param({"op": "add", "path": "/l/3", "value": 1}, id="beyond the end"),
        pytest.param({"op": "add", "path": "/l/01", "value": 1}, id="leading zero"),
        pytest.param({"op": "add", "path": "/l/-1", "value": 1}, id="negative index"),
        pytest.param({"op": "add", "path": "/l/99999999999999", "value": 1}, id="huge index"),
        pytest.param({"op": "add", "path": "/a/b", "value": 1}, id="missing parent"),
        pytest.param({"op": "add", "path": "/l/0/x", "value": 1}, id="through a number"),
        pytest.param({"op": "add", "path": "/x"}, id="no value"),
        pytest.param({"op": "remove", "path": "/x"}, id="nothing to remove"),
        pytest.param({"op": "remove", "path": ""}, id="remove everything"),
        pytest.param({"op": "remove", "path": "/l/-"}, id="nothing behind the end"),
        pytest.param({"op": "replace", "path": "/x", "value": 1}, id="nothing to replace"),
        pytest.param({"op": "test", "path": "/l/0", "value": True}, id="test: one is not true"),
        pytest.param({"op": "move", "path": "/x"}, id="no from"),
        pytest.param({"op": "move", "from": "/l", "path": "/l/0"}, id="into itself"),
        pytest.param({"op": "copy", "from": "/x", "path": "/y"}, id="copy of nothing"),
        pytest.param({"op": "frob", "path": "/x"}, id="unknown operation"),
        pytest.param({"op": "add", "value": 1}, id="no path"),
    ],
)
def test_a_patch_that_does_not_apply_raises_and_changes_nothing(operation: dict[str, Any]):
    document = {"l": [1, 2]}
    with pytest.raises(patches.PatchError):
        patches.apply(document, [{"op": "add", "path": "/seen", "value": 1}, operation])
    assert document == {"l": [1, 2]}


@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        pytest.param({"a": "b"}, {"a": "c"}, {"a": "c"}, id="replaced"),
        pytest.param({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}, id="added"),
        pytest.param({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}, id="removed"),
        pytest.param({"a": ["b"]}, {"a": "c"}, {"a": "c"}, id="list to text"),
        pytest.param({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}, id="deep"),
        pytest.param({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}, id="lists are replaced"),
        pytest.param(["a"], {"b": 1}, {"b": 1}, id="not an object before"),
        pytest.param({"e": None}, {"a": 1}, {"e": None, "a": 1}, id="null elsewhere stays"),
        pytest.param({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}, id="nulls never arrive"),
    ],
)
def test_merge(document: Any, patch: Any, result: Any):
    assert patches.merge(document, patch) == result
