"""What a changed template changes on an object that others have written, too."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.domain import threeway

TREES = st.recursive(
    st.integers(0, 3) | st.text("ab", max_size=2),
    lambda deeper: st.dictionaries(st.sampled_from("abcd"), deeper, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abcd"), TREES, max_size=3)


def pools(**pools: Any) -> list[dict[str, Any]]:
    return [{"name": name, **values} for name, values in pools.items()]


@pytest.mark.parametrize(
    ("live", "old", "new", "expected"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, {"a": 3}, {"a": 3, "b": 2}, id="a field changes"),
        pytest.param({"a": 9}, {"a": 1}, {"a": 1}, {"a": 9}, id="what did not change stays"),
        pytest.param({"a": 1, "b": 2}, {"a": 1}, {}, {"b": 2}, id="a field is dropped"),
        pytest.param({"b": 2}, {"a": 1}, {}, {"b": 2}, id="a field is gone already"),
        pytest.param({}, {}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="a field is new"),
        pytest.param(
            {"a": {"c": 2}}, {}, {"a": {"b": 1}}, {"a": {"b": 1, "c": 2}}, id="defaults stay"
        ),
        pytest.param(
            pools(x={"max": 9, "extra": 1}, z={"max": 1}),
            pools(x={"max": 1}, y={"max": 1}),
            pools(x={"max": 1, "zones": 2}, w={"max": 4}),
            pools(x={"max": 9, "extra": 1, "zones": 2}, z={"max": 1}, w={"max": 4}),
            id="pools by name: changed, dropped, added, foreign",
        ),
        pytest.param([1, 2, 9], [1, 2], [1, 3], [1, 3], id="a plain list is replaced"),
        pytest.param(
            {"kubernetes": {"version": "1.35.4"}},
            {"kubernetes": {"version": "1.34.3"}},
            {"kubernetes": {"version": "1.35.3"}},
            {"kubernetes": {"version": "1.35.4"}},
            id="a version that maintenance has lifted stays",
        ),
        pytest.param(
            {"kubernetes": {"version": "1.34.9"}},
            {"kubernetes": {"version": "1.34.3"}},
            {"kubernetes": {"version": "1.35.3"}},
            {"kubernetes": {"version": "1.35.3"}},
            id="one that is still below goes up",
        ),
    ],
)
def test_advance(live: Any, old: Any, new: Any, expected: Any) -> None:
    assert threeway.advance(live, old, new) == expected


@given(OBJECTS, OBJECTS)
def test_what_was_as_recorded_becomes_as_wanted(old: Any, new: Any) -> None:
    assert threeway.advance(old, old, new) == new


@given(OBJECTS, OBJECTS)
def test_templates_that_are_the_same_change_nothing(live: Any, template: Any) -> None:
    assert threeway.advance(live, template, template) == live


@given(OBJECTS, OBJECTS, OBJECTS)
def test_there_and_back_keeps_what_no_template_names(live: Any, old: Any, new: Any) -> None:
    there = threeway.advance(live, old, new)
    kept = {key: value for key, value in live.items() if key not in {*old, *new}}
    assert {key: there[key] for key in kept} == kept


@pytest.mark.parametrize(
    ("live", "template", "expected"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, [], id="defaults do not differ"),
        pytest.param({"a": 1}, {"a": 2}, ["a"], id="another value"),
        pytest.param({}, {"a": {"b": 1}}, ["a.b"], id="a field that is missing"),
        pytest.param({}, {"a": {}, "c": []}, [], id="what asks for nothing"),
        pytest.param(
            {"workers": pools(x={"max": 5})},
            {"workers": pools(x={"max": 2})},
            ["workers[x].max"],
            id="in a pool, by its name",
        ),
        pytest.param(
            {"kubernetes": {"version": "1.35.4"}},
            {"kubernetes": {"version": "1.35.3"}},
            [],
            id="a version above",
        ),
        pytest.param(
            {"kubernetes": {"version": "1.35.2"}},
            {"kubernetes": {"version": "1.35.3"}},
            ["kubernetes.version"],
            id="a version below",
        ),
    ],
)
def test_differences(live: Any, template: Any, expected: list[str]) -> None:
    assert [*threeway.differences(live, template)] == expected


def test_versions_that_would_go_down_are_named_and_can_be_kept() -> None:
    present = {
        "kubernetes": {"version": "1.35.4"},
        "workers": pools(x={"kubernetes": {"version": "1.35.0"}, "max": 3}),
    }
    wanted = {
        "kubernetes": {"version": "1.35.3"},
        "workers": pools(x={"kubernetes": {"version": "1.34.0"}, "max": 1}),
    }
    assert [*threeway.lowered(present, wanted)] == [
        "kubernetes.version",
        "workers[x].kubernetes.version",
    ]
    kept = threeway.keep_versions(present, wanted)
    assert [*threeway.lowered(present, kept)] == []
    assert kept["workers"][0]["max"] == 1
    assert [*threeway.lowered(wanted, present)] == []
