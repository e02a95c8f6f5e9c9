import pytest

from webhook.apiserver.requests import Target, parse_path, verb_of


@pytest.mark.parametrize(
    ("path", "target"),
    [
        pytest.param("api/v1/pods", Target("", "v1", "pods"), id="all pods"),
        pytest.param(
            "api/v1/namespaces/a/pods/b/log",
            Target("", "v1", "pods", "a", "b", "log"),
            id="a part of a pod",
        ),
        pytest.param("api/v1/namespaces", Target("", "v1", "namespaces"), id="namespaces"),
        pytest.param(
            "api/v1/namespaces/a", Target("", "v1", "namespaces", "a", "a"), id="a namespace"
        ),
        pytest.param(
            "api/v1/namespaces/a/finalize",
            Target("", "v1", "namespaces", "a", "a", "finalize"),
            id="a part of a namespace",
        ),
        pytest.param(
            "apis/g/v1/namespaces/a/things/b", Target("g", "v1", "things", "a", "b"), id="a thing"
        ),
        pytest.param("apis/g/v1/things", Target("g", "v1", "things"), id="a cluster's things"),
        pytest.param("apis/g/v1", None, id="a group version"),
        pytest.param("api/v1/namespaces/a/pods/b/c/d", None, id="too deep"),
    ],
)
def test_paths(path, target):
    assert parse_path(path.split("/")) == target


@pytest.mark.parametrize(
    ("method", "name", "query", "verb"),
    [
        pytest.param("GET", "a", {}, "get", id="get"),
        pytest.param("GET", "", {}, "list", id="list"),
        pytest.param("GET", "", {"watch": "1"}, "watch", id="watch"),
        pytest.param("GET", "a", {"watch": "true"}, "get", id="one object is not watched"),
        pytest.param("GET", "", {"watch": "0"}, "list", id="no watch"),
        pytest.param("POST", "", {}, "create", id="create"),
        pytest.param("PUT", "a", {}, "update", id="update"),
        pytest.param("PATCH", "a", {}, "patch", id="patch"),
        pytest.param("DELETE", "a", {}, "delete", id="delete"),
        pytest.param("DELETE", "", {}, "deletecollection", id="delete many"),
    ],
)
def test_verbs(method, name, query, verb):
    assert verb_of(method, Target("", "v1", "pods", "ns", name), query) == verb
