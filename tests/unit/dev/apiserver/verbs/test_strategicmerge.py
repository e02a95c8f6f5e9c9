"""Strategic merge patches are applied as Kubernetes v1.36 does."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhook.dev.apiserver.builtin import schemas
from webhook.dev.apiserver.verbs import strategicmerge
from webhook.kube.status import StatusError

POD = schemas.expand("io.k8s.api.v1.Pod")
DEPLOYMENT = schemas.expand("io.k8s.api.v1.Deployment")


def _pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": spec}


def _names(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


ABC = _pod(containers=_names("a", "b", "c"))


@pytest.mark.parametrize(
    ("original", "patch", "expected"),
    [
        pytest.param(
            _pod(priority=1), {"spec": {"priority": None}}, _pod(), id="null removes a field"
        ),
        pytest.param(
            _pod(), {"spec": {"nodeName": None}}, _pod(), id="null for a missing field does nothing"
        ),
        pytest.param(
            _pod(),
            {"spec": {"securityContext": {"fsGroup": 1, "runAsUser": None}}},
            _pod(securityContext={"fsGroup": 1}),
            id="nulls in added values are dropped",
        ),
        pytest.param(
            _pod(containers=[{"name": "a", "image": "i", "args": ["x"]}]),
            {"spec": {"containers": [{"name": "a", "image": "j"}]}},
            _pod(containers=[{"name": "a", "image": "j", "args": ["x"]}]),
            id="items are merged by their key",
        ),
        pytest.param(
            _pod(containers=[{"name": "a", "args": ["x"]}]),
            {"spec": {"containers": [{"name": "a", "args": ["y"]}]}},
            _pod(containers=[{"name": "a", "args": ["y"]}]),
            id="lists without a key are replaced",
        ),
        pytest.param(
            ABC,
            {"spec": {"containers": _names("d")}},
            _pod(containers=_names("d", "a", "b", "c")),
            id="new items come first",
        ),
        pytest.param(
            ABC,
            {"spec": {"containers": [{"name": "b", "$patch": "delete"}]}},
            _pod(containers=_names("a", "c")),
            id="an item is deleted",
        ),
        pytest.param(
            ABC,
            {"spec": {"containers": [{"name": "z"}, {"$patch": "replace"}]}},
            _pod(containers=_names("z")),
            id="a list is replaced",
        ),
        pytest.param(
            ABC,
            {"spec": {"$setElementOrder/containers": _names("c", "a")}},
            _pod(containers=_names("b", "c", "a")),
            id="items are ordered",
        ),
        pytest.param(
            ABC,
            {
                "spec": {
                    "$setElementOrder/containers": _names("d", "c", "a"),
                    "containers": _names("d", "a"),
                }
            },
            _pod(containers=_names("d", "b", "c", "a")),
            id="items are merged and ordered",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}},
            {"metadata": {"finalizers": ["b"]}},
            id="values are deleted from a list",
        ),
        pytest.param(
            {"metadata": {"finalizers": ["a", "b"]}},
            {"metadata": {"finalizers": ["c"]}},
            {"metadata": {"finalizers": ["c", "a", "b"]}},
            id="values are added to a list",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": "b", "c": "d"}}},
            {"metadata": {"labels": {"$patch": "replace", "e": "f"}}},
            {"metadata": {"labels": {"e": "f"}}},
            id="an object is replaced",
        ),
        pytest.param(
            {"metadata": {"labels": {"a": "b"}}},
            {"metadata": {"labels": {"$patch": "delete"}}},
            {"metadata": {"labels": {}}},
            id="an object is emptied",
        ),
        pytest.param(
            _pod(volumes=[{"name": "v", "emptyDir": {}}]),
            {
                "spec": {
                    "volumes": [
                        {
                            "name": "v",
                            "$retainKeys": ["name", "hostPath"],
                            "hostPath": {"path": "/"},
                        }
                    ]
                }
            },
            _pod(volumes=[{"name": "v", "hostPath": {"path": "/"}}]),
            id="only retained keys stay",
        ),
    ],
)
def test_patches(original, patch, expected):
    assert strategicmerge.apply(copy.deepcopy(original), copy.deepcopy(patch), POD) == expected


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        pytest.param(
            {"spec": {"containers": [{"image": "j"}]}},
            500,
            "map: map[image:j] does not contain declared merge key: name",
            id="an item without its key",
        ),
        pytest.param(
            {"spec": {"$patch": "foo"}},
            500,
            "unknown patch type: foo in map: map[$patch:foo]",
            id="an unknown directive",
        ),
        pytest.param(
            {"spec": {"containers": [{"name": "a", "$patch": "foo"}]}},
            500,
            "unknown patch type: foo in map: map[$patch:foo name:a]",
            id="an unknown directive of an item",
        ),
        pytest.param(
            {"spec": {"$retainKeys": ["a"], "b": 1}},
            400,
            "invalid patch format of retainKeys",
            id="a key that is not retained",
        ),
        pytest.param(
            {"spec": {"$setElementOrder/containers": "x"}},
            500,
            "expected a []interface {}, but received a string",
            id="an order that is not a list",
        ),
        pytest.param(
            {
                "spec": {
                    "$setElementOrder/containers": _names("c", "a"),
                    "containers": _names("a", "c"),
                }
            },
            500,
            "The order in patch list:\n[map[name:a] map[name:c]]\n doesn't match $setElementOrder "
            "list:\n[map[name:c] map[name:a]]\n",
            id="an order that the patch contradicts",
        ),
    ],
)
def test_invalid_patches(patch, code, message):
    with pytest.raises(StatusError) as raised:
        strategicmerge.apply(copy.deepcopy(ABC), patch, POD)
    assert (raised.value.code, raised.value.message) == (code, message)


_LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz"), max_size=3)
_CONTAINERS = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abc"), "image": st.sampled_from("xyz")}),
    max_size=3,
    unique_by=lambda item: item["name"],
)


@given(_LABELS, _LABELS, _CONTAINERS, _CONTAINERS)
def test_a_patch_without_directives_can_be_repeated(labels, more, containers, changes):
    original = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    patch = {"metadata": {"labels": more}, "spec": {"containers": changes}}
    once = strategicmerge.apply(copy.deepcopy(original), copy.deepcopy(patch), POD)
    again = strategicmerge.apply(copy.deepcopy(once), copy.deepcopy(patch), POD)
    assert again == once
    assert once["metadata"]["labels"] == {**labels, **more}
    assert {item["name"] for item in once["spec"]["containers"]} == {
        item["name"] for item in [*containers, *changes]
    }
