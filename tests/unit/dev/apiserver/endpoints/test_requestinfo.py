"""Paths and methods are parsed as Kubernetes parses them."""

import pytest

from webhook.dev.apiserver.endpoints.requestinfo import RequestInfo, parse_path, verb_of


@pytest.mark.parametrize(
    ("path", "target"),
    [
        pytest.param("api/v1/pods", RequestInfo("", "v1", "pods"), id="all pods"),
        pytest.param(
            "api/v1/namespaces/a/pods/b/log",
            RequestInfo("", "v1", "pods", "a", "b", "log"),
            id="a subresource of a pod",
        ),
        pytest.param("api/v1/namespaces", RequestInfo("", "v1", "namespaces"), id="namespaces"),
        pytest.param(
            "api/v1/namespaces/a", RequestInfo("", "v1", "namespaces", "a", "a"), id="a namespace"
        ),
        pytest.param(
            "api/v1/namespaces/a/finalize",
            RequestInfo("", "v1", "namespaces", "a", "a", "finalize"),
            id="a subresource of a namespace",
        ),
        pytest.param(
            "apis/g/v1/namespaces/a/things/b",
            RequestInfo("g", "v1", "things", "a", "b"),
            id="a custom resource",
        ),
        pytest.param(
            "apis/g/v1/things",
            RequestInfo("g", "v1", "things"),
            id="cluster-scoped custom resources",
        ),
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
    assert verb_of(method, RequestInfo("", "v1", "pods", "ns", name), query) == verb
