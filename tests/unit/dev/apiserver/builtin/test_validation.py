"""Validation of built-in kinds.

`validation_errors.json` holds the errors that Kubernetes v1.36 returns for new objects.
"""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from webhook.dev.apiserver.builtin import encoding
from webhook.dev.apiserver.builtin.defaults.table import set_defaults
from webhook.dev.apiserver.builtin.kinds import BUILTINS
from webhook.dev.apiserver.builtin.validation import table

RECORDED = json.loads(Path(__file__).with_name("validation_errors.json").read_text())
# The first row of a kind with two versions is the stored one.
ROWS = {row.kind: row for row in reversed(BUILTINS)}


def _storage(kind: str) -> str:
    row = ROWS[kind]
    return f"{row.plural}.{row.group}" if row.group else row.plural


def _complete(kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    made = copy.deepcopy(obj)
    set_defaults(_storage(kind), made)
    made = encoding.encode(made, ROWS[kind].component)
    made["metadata"].setdefault("name", "x")
    if ROWS[kind].namespaced:
        made["metadata"]["namespace"] = "default"
    return made


def _name(record: dict[str, Any]) -> str:
    shown = "; ".join(f"{field} {message}" for _, field, message in record["causes"])
    return f"{record['kind']} {shown[:80] or 'accepted'}"


@pytest.mark.parametrize("record", [pytest.param(one, id=_name(one)) for one in RECORDED])
def test_new_objects(record):
    kind = record["kind"]
    found = table.validate_builtin(_storage(kind), _complete(kind, record["object"]))
    assert [[error.type, error.field, error.body] for error in found] == record["causes"]


SELECTED = {"matchLabels": {"a": "b"}}
POD_SPEC = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE = {"metadata": {"labels": {"a": "b", "x": "y"}}, "spec": POD_SPEC}


@pytest.mark.parametrize(
    ("kind", "old", "new", "expected"),
    [
        pytest.param(
            "ConfigMap",
            {"immutable": True, "data": {"a": "b"}},
            {"immutable": True, "data": {"a": "c"}},
            ["data: Forbidden: field is immutable when `immutable` is set"],
            id="data of an immutable config map",
        ),
        pytest.param(
            "Secret",
            {"immutable": True},
            {},
            ["immutable: Forbidden: field is immutable when `immutable` is set"],
            id="immutable cannot be unset",
        ),
        pytest.param(
            "Secret",
            {},
            {"type": "x"},
            ['type: Invalid value: "x": field is immutable'],
            id="type of a secret",
        ),
        pytest.param(
            "Deployment",
            {"spec": {"selector": SELECTED, "template": TEMPLATE}},
            {"spec": {"selector": {"matchLabels": {"x": "y"}}, "template": TEMPLATE}},
            ['spec.selector: Invalid value: {"matchLabels":{"x":"y"}}: field is immutable'],
            id="selector of a deployment",
        ),
        pytest.param(
            "StatefulSet",
            {"spec": {"selector": SELECTED, "template": TEMPLATE}},
            {"spec": {"selector": SELECTED, "template": TEMPLATE, "serviceName": "x"}},
            [
                "spec: Forbidden: updates to statefulset spec for fields other than 'replicas', "
                "'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', "
                "'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
            ],
            id="immutable field of a stateful set",
        ),
        pytest.param(
            "Pod",
            {"spec": POD_SPEC},
            {"spec": {"containers": [{"name": "c", "image": "j"}]}},
            [],
            id="image of a pod is mutable",
        ),
        pytest.param(
            "Service",
            {"spec": {"ports": [{"port": 1}], "clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.5"]}},
            {"spec": {"ports": [{"port": 1}], "clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"]}},
            ['spec.clusterIPs[0]: Invalid value: ["10.0.0.7"]: may not change once set'],
            id="cluster IP of a service",
        ),
        pytest.param(
            "RoleBinding",
            {"roleRef": {"kind": "Role", "name": "x"}},
            {"roleRef": {"kind": "Role", "name": "y"}},
            [
                'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role",'
                '"Name":"y"}: cannot change roleRef'
            ],
            id="roleRef of a binding",
        ),
        pytest.param(
            "PriorityClass",
            {"value": 1},
            {"value": 2},
            ["value: Forbidden: may not be changed in an update."],
            id="value of a priority class",
        ),
        pytest.param(
            "ControllerRevision",
            {"revision": 1, "data": {"a": 1}},
            {"revision": 1, "data": {"a": 2}},
            ['data: Invalid value: {"a":2}: field is immutable'],
            id="data of a controller revision",
        ),
    ],
)
def test_updates(kind, old, new, expected):
    storage = _storage(kind)
    old, new = _complete(kind, old), _complete(kind, new)
    assert table.validate_builtin(storage, old) == []
    assert [str(error) for error in table.validate_builtin(storage, new, old)] == expected


def test_the_node_of_a_pod_is_immutable():
    old = _complete("Pod", {"spec": POD_SPEC})
    new = _complete("Pod", {"spec": {**POD_SPEC, "nodeName": "x"}})
    (error,) = table.validate_builtin("pods", new, old)
    assert (error.field, error.type) == ("spec", "FieldValueForbidden")
    assert error.detail.startswith("pod updates may not change fields other than")
