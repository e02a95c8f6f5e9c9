"""What Kubernetes refuses: `refused.json` holds its answers (v1.36) to new objects."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from webhook.apiserver.builtin import encoding
from webhook.apiserver.builtin.defaults import table as defaults
from webhook.apiserver.builtin.generate import component
from webhook.apiserver.builtin.kinds import BUILTINS
from webhook.apiserver.builtin.validation import table

RECORDED = json.loads(Path(__file__).with_name("refused.json").read_text())
#: Of a kind with two shapes the first row is the one that is stored.
ROWS = {row.kind: row for row in reversed(BUILTINS)}


def _storage(kind: str) -> str:
    row = ROWS[kind]
    return f"{row.plural}.{row.group}" if row.group else row.plural


def _complete(kind: str, obj: dict[str, Any]) -> dict[str, Any]:
    made = copy.deepcopy(obj)
    defaults.fill(_storage(kind), made)
    made = encoding.encoded(made, component(ROWS[kind].model))
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
    found = table.objections(_storage(kind), _complete(kind, record["object"]))
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
            id="a sealed config map",
        ),
        pytest.param(
            "Secret",
            {"immutable": True},
            {},
            ["immutable: Forbidden: field is immutable when `immutable` is set"],
            id="a seal is for ever",
        ),
        pytest.param(
            "Secret",
            {},
            {"type": "x"},
            ['type: Invalid value: "x": field is immutable'],
            id="the type of a secret",
        ),
        pytest.param(
            "Deployment",
            {"spec": {"selector": SELECTED, "template": TEMPLATE}},
            {"spec": {"selector": {"matchLabels": {"x": "y"}}, "template": TEMPLATE}},
            ['spec.selector: Invalid value: {"matchLabels":{"x":"y"}}: field is immutable'],
            id="what a deployment selects",
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
            id="most of a stateful set",
        ),
        pytest.param(
            "Pod",
            {"spec": POD_SPEC},
            {"spec": {"containers": [{"name": "c", "image": "j"}]}},
            [],
            id="the image of a pod may change",
        ),
        pytest.param(
            "Service",
            {"spec": {"ports": [{"port": 1}], "clusterIP": "10.0.0.5", "clusterIPs": ["10.0.0.5"]}},
            {"spec": {"ports": [{"port": 1}], "clusterIP": "10.0.0.7", "clusterIPs": ["10.0.0.7"]}},
            ['spec.clusterIPs[0]: Invalid value: ["10.0.0.7"]: may not change once set'],
            id="the address of a service",
        ),
        pytest.param(
            "RoleBinding",
            {"roleRef": {"kind": "Role", "name": "x"}},
            {"roleRef": {"kind": "Role", "name": "y"}},
            [
                'roleRef: Invalid value: {"APIGroup":"rbac.authorization.k8s.io","Kind":"Role",'
                '"Name":"y"}: cannot change roleRef'
            ],
            id="what a binding binds to",
        ),
        pytest.param(
            "PriorityClass",
            {"value": 1},
            {"value": 2},
            ["value: Forbidden: may not be changed in an update."],
            id="the value of a priority class",
        ),
        pytest.param(
            "ControllerRevision",
            {"revision": 1, "data": {"a": 1}},
            {"revision": 1, "data": {"a": 2}},
            ['data: Invalid value: {"a":2}: field is immutable'],
            id="a revision",
        ),
    ],
)
def test_changes(kind, old, new, expected):
    storage = _storage(kind)
    old, new = _complete(kind, old), _complete(kind, new)
    assert table.objections(storage, old) == []
    assert [str(error) for error in table.objections(storage, new, old)] == expected


def test_a_pod_may_hardly_change():
    old = _complete("Pod", {"spec": POD_SPEC})
    new = _complete("Pod", {"spec": {**POD_SPEC, "nodeName": "x"}})
    (error,) = table.objections("pods", new, old)
    assert (error.field, error.type) == ("spec", "FieldValueForbidden")
    assert error.detail.startswith("pod updates may not change fields other than")
