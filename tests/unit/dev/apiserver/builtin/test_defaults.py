"""Defaults of built-in kinds."""

import copy
from typing import Any

import pytest

from webhook.dev.apiserver.builtin.defaults import table


def _with_defaults(storage: str, obj: dict[str, Any]) -> dict[str, Any]:
    table.set_defaults(storage, obj)
    return obj


def test_defaulting_is_idempotent():
    samples: dict[str, dict[str, Any]] = {
        "pods": {"spec": {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "v"}]}},
        "secrets": {"stringData": {"a": "b"}},
        "horizontalpodautoscalers.autoscaling": {"spec": {"behavior": {}}},
        "services": {"spec": {"type": "LoadBalancer", "ports": [{"port": 1}]}},
    }
    for storage in table.DEFAULTS:
        defaulted = _with_defaults(
            storage, copy.deepcopy(samples.get(storage, {"metadata": {"name": "x"}}))
        )
        assert _with_defaults(storage, copy.deepcopy(defaulted)) == defaulted, storage


def test_a_deployment():
    obj = _with_defaults("deployments.apps", {"spec": {"template": {"spec": {"containers": []}}}})
    assert obj["spec"] == {
        "replicas": 1,
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
        },
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
        "template": {
            "spec": {
                "containers": [],
                "dnsPolicy": "ClusterFirst",
                "restartPolicy": "Always",
                "schedulerName": "default-scheduler",
                "terminationGracePeriodSeconds": 30,
                "securityContext": {},
            }
        },
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        pytest.param("nginx", "Always", id="no tag"),
        pytest.param("nginx:latest", "Always", id="the tag latest"),
        pytest.param("nginx:1.2", "IfNotPresent", id="a tag"),
        pytest.param("host:5000/nginx", "Always", id="a port of the registry"),
        pytest.param("nginx@sha256:0", "IfNotPresent", id="a digest"),
    ],
)
def test_image_pull_policy(image, policy):
    obj = _with_defaults("pods", {"spec": {"containers": [{"image": image}]}})
    assert obj["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_string_data_of_a_secret_is_encoded_and_takes_precedence():
    secret = {"stringData": {"a": "hi"}, "data": {"a": "eA==", "b": "eQ=="}}
    assert _with_defaults("secrets", secret) == {
        "data": {"a": "aGk=", "b": "eQ=="},
        "type": "Opaque",
    }


def test_a_network_policy_covers_egress_only_with_egress_rules():
    assert _with_defaults("networkpolicies.networking.k8s.io", {})["spec"]["policyTypes"] == [
        "Ingress"
    ]
    egress = _with_defaults("networkpolicies.networking.k8s.io", {"spec": {"egress": [{}]}})
    assert egress["spec"]["policyTypes"] == ["Ingress", "Egress"]
