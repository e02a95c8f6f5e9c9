"""Three-way merge of templates into objects that others write, too."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.domain.sets import three_way_merge

TREES = st.recursive(
    st.integers(0, 3) | st.text("ab", max_size=2),
    lambda deeper: st.dictionaries(st.sampled_from("abcd"), deeper, max_size=3),
    max_leaves=8,
)
POOLS = st.dictionaries(
    st.sampled_from("xyz"), st.dictionaries(st.sampled_from("ab"), st.integers(0, 2)), max_size=3
)
OBJECTS = st.dictionaries(st.sampled_from("abcd"), TREES, max_size=3)


def pools(**pools: Any) -> list[dict[str, Any]]:
    return [{"name": name, **values} for name, values in pools.items()]


def keys(*keys: str) -> list[dict[str, Any]]:
    return [{"key": key} for key in keys]


def image(name: str, version: str) -> dict[str, Any]:
    return {"image": {"name": name, "version": version}}


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
        pytest.param(
            {"kubernetes": {"version": "1.35.4"}},
            {},
            {"kubernetes": {"version": "1.35.3"}},
            {"kubernetes": {"version": "1.35.4"}},
            id="one that no template named before stays, too",
        ),
        pytest.param(
            image("gardenlinux", "1592.9"),
            image("gardenlinux", "1592.1"),
            image("gardenlinux", "1592.3"),
            image("gardenlinux", "1592.9"),
            id="an image that maintenance has lifted stays",
        ),
        pytest.param(
            image("gardenlinux", "1592.1.0"),
            image("gardenlinux", "1592.1.0"),
            image("ubuntu", "22.4.0"),
            image("ubuntu", "22.4.0"),
            id="another image has versions of its own",
        ),
        pytest.param(
            image("gardenlinux", "1592.9.0"),
            image("gardenlinux", "1592.1.0"),
            image("ubuntu", "22.4.0"),
            image("ubuntu", "22.4.0"),
            id="whatever the one before was lifted to",
        ),
        pytest.param(
            image("ubuntu", "24.4"),
            image("gardenlinux", "1592.1"),
            image("ubuntu", "22.4"),
            image("ubuntu", "24.4"),
            id="unless the new one is there already, and above",
        ),
        pytest.param(
            image("gardenlinux", "1592.3"),
            image("gardenlinux", "1592.3"),
            image("gardenlinux", "1592.1"),
            image("gardenlinux", "1592.1"),
            id="a version that nobody has lifted is undone",
        ),
        pytest.param(
            image("gardenlinux", "1592.4"),
            image("gardenlinux", "1592.3"),
            image("gardenlinux", "1592.1"),
            image("gardenlinux", "1592.4"),
            id="one that was lifted is not",
        ),
        pytest.param(
            pools(x={"max": 1}),
            pools(x={"max": 1}, y={"max": 1}),
            pools(x={"max": 2}, y={"max": 1}),
            pools(x={"max": 2}),
            id="a pool that somebody took away stays away",
        ),
        pytest.param(
            pools(x={"max": 1}),
            pools(x={"max": 1}, y={"max": 1}),
            pools(x={"max": 1}, y={"max": 2}),
            pools(x={"max": 1}, y={"max": 2}),
            id="until the templates change that very pool",
        ),
        pytest.param(
            pools(x={"max": 9}),
            pools(),
            pools(x={"min": 1}),
            pools(x={"max": 9, "min": 1}),
            id="a pool that is there already gets the values of the templates",
        ),
        pytest.param(
            keys("a", "protected"),
            keys("a"),
            keys("a", "b"),
            keys("a", "protected", "b"),
            id="keyed entries of others stay",
        ),
        pytest.param(
            {"t": keys("protected")},
            {},
            {"t": keys("a")},
            {"t": keys("protected", "a")},
            id="where the list is new to the templates",
        ),
        pytest.param(
            {"t": keys("a", "protected")},
            {"t": keys("a")},
            {},
            {"t": keys("protected")},
            id="and where it leaves them",
        ),
        pytest.param(
            {"t": keys("a")}, {"t": keys("a")}, {}, {}, id="a list without others goes whole"
        ),
        pytest.param(
            [*pools(x={"a": 1}), *pools(x={"a": 2})],
            [*pools(x={"a": 1}), *pools(x={"a": 2})],
            [*pools(x={"a": 1}), *pools(x={"a": 3})],
            [*pools(x={"a": 1}), *pools(x={"a": 3})],
            id="names that are not unique identify nothing",
        ),
        pytest.param(
            {"a": [1]}, {"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="what changes its shape"
        ),
        pytest.param(
            {"a": {"c": 1}}, {"a": 1}, {"a": {"b": 1}}, {"a": {"b": 1}}, id="on either side"
        ),
    ],
)
def test_merge(live: Any, old: Any, new: Any, expected: Any) -> None:
    assert three_way_merge.merge(live, old, new) == expected


@given(OBJECTS, OBJECTS)
def test_an_object_equal_to_the_old_template_becomes_the_new_one(old: Any, new: Any) -> None:
    assert three_way_merge.merge(old, old, new) == new


@given(POOLS, POOLS)
def test_pools_equal_to_the_old_template_become_the_new_ones(old: Any, new: Any) -> None:
    result = three_way_merge.merge({"p": pools(**old)}, {"p": pools(**old)}, {"p": pools(**new)})
    assert {pool.pop("name"): pool for pool in result["p"]} == new


@given(POOLS, POOLS, POOLS)
def test_pools_in_no_template_stay(live: Any, old: Any, new: Any) -> None:
    result = three_way_merge.merge(pools(**live), pools(**old), pools(**new))
    found = {pool["name"]: {**pool} for pool in result}
    for name in {*live, *old, *new}:
        if old.get(name) == new.get(name):
            kept = {"name": name, **live[name]} if name in live else None
            assert found.get(name) == kept
        elif name in new:
            before, after = old.get(name, {}), new[name]
            changed = {key: after[key] for key in after if before.get(key) != after[key]}
            assert {key: found[name][key] for key in changed} == changed


@given(OBJECTS, OBJECTS)
def test_equal_templates_change_nothing(live: Any, template: Any) -> None:
    assert three_way_merge.merge(live, template, template) == live


@given(OBJECTS, OBJECTS, OBJECTS)
def test_merging_back_and_forth_keeps_fields_in_no_template(live: Any, old: Any, new: Any) -> None:
    there = three_way_merge.merge(live, old, new)
    kept = {key: value for key, value in live.items() if key not in {*old, *new}}
    assert {key: there[key] for key in kept} == kept


@pytest.mark.parametrize(
    ("live", "template", "expected"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, [], id="defaults do not differ"),
        pytest.param({"a": 1}, {"a": 2}, ["a"], id="another value"),
        pytest.param({}, {"a": {"b": 1}}, ["a.b"], id="a field that is missing"),
        pytest.param({}, {"a": {}, "c": []}, [], id="empty values of the template"),
        pytest.param(
            {"networks": {"pods": "10.0.0.0/8"}},
            {"networks": {"pods": ""}},
            [],
            id="a text that Gardener left empty, and its admission filled",
        ),
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
        pytest.param(image("a", "2"), image("a", "1"), [], id="an image above"),
        pytest.param(
            image("a", "2"), image("b", "1"), ["image.name", "image.version"], id="another image"
        ),
        pytest.param(
            {"image": {"name": "a", "version": "2"}},
            {"image": {"version": "1"}},
            [],
            id="an image that Gardener chose",
        ),
        pytest.param(
            {"workers": pools(x={}, y={})},
            {"workers": pools(x={})},
            ["workers[y]"],
            id="a pool besides",
        ),
        pytest.param(
            {"workers": pools(x={})},
            {"workers": pools(x={}, y={"max": 1})},
            ["workers[y].name", "workers[y].max"],
            id="a pool that is missing",
        ),
        pytest.param(
            {"t": keys("a", "protected")}, {"t": keys("a")}, [], id="a toleration besides"
        ),
        pytest.param({"t": keys("b")}, {"t": keys("a")}, ["t[a].key"], id="another toleration"),
        pytest.param({"t": [1, 2]}, {"t": [1]}, ["t"], id="a plain list is compared whole"),
    ],
)
def test_differences(live: Any, template: Any, expected: list[str]) -> None:
    assert [*three_way_merge.differences(live, template)] == expected


def test_lowered_versions_are_listed_and_can_be_kept() -> None:
    present = {
        "kubernetes": {"version": "1.35.4"},
        "workers": pools(x={"kubernetes": {"version": "1.35.0"}, "max": 3}),
    }
    wanted = {
        "kubernetes": {"version": "1.35.3"},
        "workers": pools(x={"kubernetes": {"version": "1.34.0"}, "max": 1}),
    }
    assert three_way_merge.lowered_versions(present, wanted) == [
        "kubernetes.version",
        "workers[x].kubernetes.version",
    ]
    kept = three_way_merge.keep_versions(present, wanted)
    assert three_way_merge.lowered_versions(present, kept) == []
    assert kept["workers"][0]["max"] == 1
    assert three_way_merge.lowered_versions(wanted, present) == []


@pytest.mark.parametrize(
    ("present", "wanted", "fields", "kept"),
    [
        pytest.param({}, {"version": "1.34.0"}, ["workers[x].kubernetes.version"], "1.35.4",
                     id="a pool is pinned again, below the control plane that it followed"),
        pytest.param({}, {"version": "1.35.4"}, [], "1.35.4", id="at what it has"),
        pytest.param({"version": "1.33.0"}, {"version": "1.34.0"}, [], "1.34.0",
                     id="one that was pinned lower goes up"),
    ],
)  # fmt: skip
def test_a_pool_without_a_version_inherits_that_of_the_control_plane(
    present: Any, wanted: Any, fields: list[str], kept: str
) -> None:
    control_plane = {"kubernetes": {"version": "1.35.4"}}
    now = {**control_plane, "workers": pools(x={"kubernetes": present} if present else {})}
    then = {**control_plane, "workers": pools(x={"kubernetes": wanted})}
    assert three_way_merge.lowered_versions(now, then) == fields
    result = three_way_merge.keep_versions(now, then)
    assert result["workers"][0]["kubernetes"]["version"] == kept


def test_a_pool_that_is_new_may_have_any_version() -> None:
    now = {"kubernetes": {"version": "1.35.4"}, "workers": pools(x={})}
    old = {"kubernetes": {"version": "1.34.0"}}
    then = {"kubernetes": {"version": "1.35.4"}, "workers": pools(x={}, y=old)}
    assert three_way_merge.lowered_versions(now, then) == []
    assert three_way_merge.keep_versions(now, then) == then
