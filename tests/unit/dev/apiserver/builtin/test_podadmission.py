"""Admission of new Pods."""

from typing import Any

import pytest

from tests.unit.dev.apiserver.builtin.literal_reader import LiteralReader
from webhook.dev.apiserver.builtin import podadmission
from webhook.kube.status import StatusError

ACCOUNT = {"metadata": {"name": "default", "namespace": "n"}}


def _pod(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


def test_a_pod_gets_service_account_token_tolerations_and_priority():
    pod = _pod()
    podadmission.admit(pod, "n", LiteralReader(serviceaccounts=[ACCOUNT]))
    spec = pod["spec"]
    assert (spec["serviceAccountName"], spec["priority"]) == ("default", 0)
    assert spec["volumes"][0]["name"].startswith("kube-api-access-")
    assert spec["containers"][0]["volumeMounts"] == [
        {
            "name": spec["volumes"][0]["name"],
            "readOnly": True,
            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
        }
    ]
    assert [toleration["tolerationSeconds"] for toleration in spec["tolerations"]] == [300, 300]


def test_no_token_without_automount():
    pod = _pod(automountServiceAccountToken=False)
    podadmission.admit(pod, "n", LiteralReader(serviceaccounts=[ACCOUNT]))
    assert "volumes" not in pod["spec"]


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        pytest.param(
            _pod(serviceAccountName="x"),
            'pods "p" is forbidden: error looking up service account n/x: '
            'serviceaccount "x" not found',
            id="unknown service account",
        ),
        pytest.param(
            _pod(priorityClassName="x"),
            'pods "p" is forbidden: no PriorityClass with name x was found',
            id="unknown priority class",
        ),
        pytest.param(
            _pod(priority=4),
            'pods "p" is forbidden: the integer value of priority (4) must not be provided in pod '
            "spec; priority admission controller computed 0 from the given PriorityClass name",
            id="a priority other than that of the class",
        ),
    ],
)
def test_rejected_pods(pod, message):
    with pytest.raises(StatusError) as raised:
        podadmission.admit(pod, "n", LiteralReader(serviceaccounts=[ACCOUNT]))
    assert (raised.value.code, raised.value.message) == (403, message)
