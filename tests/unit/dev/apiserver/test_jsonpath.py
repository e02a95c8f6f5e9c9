"""The subset of JSONPath that CustomResourceDefinitions use."""

import pytest

from webhook.dev.apiserver import jsonpath

OBJECT = {
    "metadata": {"name": "a", "annotations": {"example.com/x": "1"}},
    "spec": {"list": [1, 2, 3], "empty": [], "deep": {"name": "b"}},
    "status": {
        "conditions": [
            {"type": "Ready", "status": "True", "n": 1},
            {"type": "Synced", "status": "False", "n": 2},
        ]
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        pytest.param(".metadata.name", ["a"], id="a field"),
        pytest.param("{.metadata.name}", ["a"], id="in braces"),
        pytest.param(".metadata.absent.more", [], id="a missing field"),
        pytest.param(r".metadata.annotations.example\.com/x", ["1"], id="an escaped dot"),
        pytest.param(".metadata.annotations['example.com/x']", ["1"], id="a quoted name"),
        pytest.param(".spec['deep.name','absent']", ["b"], id="one of several paths"),
        pytest.param(".spec['absent', 'deep.name']", ["b"], id="the other one"),
        pytest.param(".spec.list[0]", [1], id="an index"),
        pytest.param(".spec.list[-1]", [3], id="from the end"),
        pytest.param(".spec.list[7]", [], id="beyond the end"),
        pytest.param(".spec.list[1:]", [2, 3], id="a slice"),
        pytest.param(".spec.list[*]", [1, 2, 3], id="all items"),
        pytest.param(
            '.status.conditions[?(@.type=="Ready")].status', ["True"], id="a filter by text"
        ),
        pytest.param(".status.conditions[?(@.n > 1)].type", ["Synced"], id="a filter by number"),
        pytest.param(".status.conditions[?(@.type)].n", [1, 2], id="a filter by presence"),
        pytest.param(".spec..name", ["b"], id="any depth"),
    ],
)
def test_paths(path, found):
    assert jsonpath.find(OBJECT, path) == found


def test_a_malformed_path_is_named():
    with pytest.raises(jsonpath.PathError, match="cannot parse JSONPath"):
        jsonpath.find(OBJECT, ".a[?(]")
