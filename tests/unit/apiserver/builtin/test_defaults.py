"""What the server fills in."""

import copy
from typing import Any

import pytest

from tests.unit.apiserver.builtin.readers import Objects
from webhook.api.status import StatusError
from webhook.apiserver.builtin import addresses, encoding, podadmission, preparing, qos
from webhook.apiserver.builtin.defaults import table
from webhook.apiserver.builtin.kinds import BUILTINS

NOTHING = Objects()
ROWS = {row.plural: row for row in BUILTINS if not row.group}


def _filled(storage: str, obj: dict[str, Any]) -> dict[str, Any]:
    table.fill(storage, obj)
    return obj


def test_every_default_can_be_applied_twice():
    samples: dict[str, dict[str, Any]] = {
        "pods": {"spec": {"containers": [{"name": "c", "image": "i"}], "volumes": [{"name": "v"}]}},
        "secrets": {"stringData": {"a": "b"}},
        "horizontalpodautoscalers.autoscaling": {"spec": {"behavior": {}}},
        "services": {"spec": {"type": "LoadBalancer", "ports": [{"port": 1}]}},
    }
    for storage in table.DEFAULTS:
        once = _filled(storage, copy.deepcopy(samples.get(storage, {"metadata": {"name": "x"}})))
        assert _filled(storage, copy.deepcopy(once)) == once, storage


def test_a_deployment():
    made = _filled("deployments.apps", {"spec": {"template": {"spec": {"containers": []}}}})
    assert made["spec"] == {
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
        pytest.param("nginx:latest", "Always", id="the tag that moves"),
        pytest.param("nginx:1.2", "IfNotPresent", id="a tag"),
        pytest.param("host:5000/nginx", "Always", id="a port is no tag"),
        pytest.param("nginx@sha256:0", "IfNotPresent", id="a digest"),
    ],
)
def test_how_images_are_pulled(image, policy):
    made = _filled("pods", {"spec": {"containers": [{"image": image}]}})
    assert made["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_plain_text_in_a_secret_is_stored_encoded_and_wins():
    secret = {"stringData": {"a": "hi"}, "data": {"a": "eA==", "b": "eQ=="}}
    assert _filled("secrets", secret) == {"data": {"a": "aGk=", "b": "eQ=="}, "type": "Opaque"}


def test_a_network_policy_rules_what_goes_out_if_it_says_so():
    assert _filled("networkpolicies.networking.k8s.io", {})["spec"]["policyTypes"] == ["Ingress"]
    egress = _filled("networkpolicies.networking.k8s.io", {"spec": {"egress": [{}]}})
    assert egress["spec"]["policyTypes"] == ["Ingress", "Egress"]


def test_a_namespace_starts_active_with_its_finalizer():
    namespace = _filled("namespaces", {"metadata": {"name": "n"}})
    preparing.create(ROWS["namespaces"], namespace, NOTHING)
    assert namespace == {
        "metadata": {"name": "n", "labels": {"kubernetes.io/metadata.name": "n"}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def test_a_namespace_keeps_its_finalizer_when_it_is_updated():
    new: dict[str, Any] = {"spec": {}}
    preparing.update(ROWS["namespaces"], new, {"spec": {"finalizers": ["kubernetes"]}}, NOTHING)
    assert new["spec"] == {"finalizers": ["kubernetes"]}


def _service(**spec: Any) -> dict[str, Any]:
    made = {"metadata": {"name": "s", "namespace": "n"}, "spec": {"ports": [{"port": 80}], **spec}}
    return _filled("services", made)


def test_a_service_gets_an_address_of_its_own():
    first, second = _service(), _service()
    preparing.create(ROWS["services"], first, NOTHING)
    first["metadata"]["name"] = "other"
    preparing.create(ROWS["services"], second, Objects(services=[first]))
    assert first["spec"]["clusterIP"] != second["spec"]["clusterIP"]
    assert second["spec"]["clusterIPs"] == [second["spec"]["clusterIP"]]
    assert (second["spec"]["ipFamilies"], second["spec"]["ipFamilyPolicy"]) == (
        ["IPv4"],
        "SingleStack",
    )


def test_an_address_in_use_is_refused():
    other = _service(clusterIP="10.0.0.9", clusterIPs=["10.0.0.9"])
    other["metadata"]["name"] = "other"
    with pytest.raises(StatusError, match="provided IP is already allocated"):
        preparing.create(
            ROWS["services"], _service(clusterIP="10.0.0.9"), Objects(services=[other])
        )


def test_a_service_keeps_its_address_when_it_is_updated():
    old = _service()
    preparing.create(ROWS["services"], old, NOTHING)
    new = _service(type="NodePort")
    preparing.update(ROWS["services"], new, old, NOTHING)
    assert new["spec"]["clusterIP"] == old["spec"]["clusterIP"]
    assert new["spec"]["ports"][0]["nodePort"] in addresses.NODE_PORTS


def test_an_external_name_has_no_address():
    service = _service(type="ExternalName", externalName="x.example.com")
    preparing.create(ROWS["services"], service, NOTHING)
    assert "clusterIP" not in service["spec"]


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        pytest.param({}, "BestEffort", id="asks for nothing"),
        pytest.param({"requests": {"cpu": "1"}}, "Burstable", id="asks"),
        pytest.param({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed", id="gets all it may"),
        pytest.param({"limits": {"cpu": "1"}}, "Burstable", id="one limit is not enough"),
    ],
)
def test_quality_of_service(resources, expected):
    assert qos.qos_class({"containers": [{"resources": resources}]}) == expected


ACCOUNT = {"metadata": {"name": "default", "namespace": "n"}}


def _pod(**spec: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i"}]
    return {"metadata": {"name": "p"}, "spec": {"containers": containers, **spec}}


def test_a_pod_gets_account_token_tolerations_and_priority():
    pod = _pod()
    podadmission.admit(pod, "n", Objects(serviceaccounts=[ACCOUNT]))
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


def test_a_pod_that_wants_no_token_gets_none():
    pod = _pod(automountServiceAccountToken=False)
    podadmission.admit(pod, "n", Objects(serviceaccounts=[ACCOUNT]))
    assert "volumes" not in pod["spec"]


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        pytest.param(
            _pod(serviceAccountName="x"),
            'pods "p" is forbidden: error looking up service account n/x: '
            'serviceaccount "x" not found',
            id="no such account",
        ),
        pytest.param(
            _pod(priorityClassName="x"),
            'pods "p" is forbidden: no PriorityClass with name x was found',
            id="no such priority",
        ),
        pytest.param(
            _pod(priority=4),
            'pods "p" is forbidden: the integer value of priority (4) must not be provided in pod '
            "spec; priority admission controller computed 0 from the given PriorityClass name",
            id="a priority of its own",
        ),
    ],
)
def test_pods_that_are_refused(pod, message):
    with pytest.raises(StatusError) as raised:
        podadmission.admit(pod, "n", Objects(serviceaccounts=[ACCOUNT]))
    assert (raised.value.code, raised.value.message) == (403, message)


def test_the_written_form_of_a_default_service():
    written = encoding.encoded(_service(), "io.k8s.api.v1.Service")
    assert written["status"] == {"loadBalancer": {}}
