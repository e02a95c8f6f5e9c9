"""Preparation of built-in objects for storage."""

from typing import Any

import pytest

from tests.unit.dev.apiserver.builtin.literal_reader import LiteralReader
from webhook.dev.apiserver.builtin import encoding, preparation, serviceallocators
from webhook.dev.apiserver.builtin.defaults.table import set_defaults
from webhook.dev.apiserver.builtin.kinds import BUILTINS
from webhook.kube.status import StatusError

EMPTY = LiteralReader()
ROWS = {row.plural: row for row in BUILTINS if not row.group}


def test_a_namespace_starts_active_with_its_finalizer():
    namespace: dict[str, Any] = {"metadata": {"name": "n"}}
    set_defaults("namespaces", namespace)
    preparation.prepare_create(ROWS["namespaces"], namespace, EMPTY)
    assert namespace == {
        "metadata": {"name": "n", "labels": {"kubernetes.io/metadata.name": "n"}},
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def test_an_updated_namespace_keeps_its_finalizer():
    new: dict[str, Any] = {"spec": {}}
    preparation.prepare_update(
        ROWS["namespaces"], new, {"spec": {"finalizers": ["kubernetes"]}}, EMPTY
    )
    assert new["spec"] == {"finalizers": ["kubernetes"]}


def _service(**spec: Any) -> dict[str, Any]:
    service = {
        "metadata": {"name": "s", "namespace": "n"},
        "spec": {"ports": [{"port": 80}], **spec},
    }
    set_defaults("services", service)
    return service


def test_a_service_gets_a_unique_cluster_ip():
    first, second = _service(), _service()
    preparation.prepare_create(ROWS["services"], first, EMPTY)
    first["metadata"]["name"] = "other"
    preparation.prepare_create(ROWS["services"], second, LiteralReader(services=[first]))
    assert first["spec"]["clusterIP"] != second["spec"]["clusterIP"]
    assert second["spec"]["clusterIPs"] == [second["spec"]["clusterIP"]]
    assert (second["spec"]["ipFamilies"], second["spec"]["ipFamilyPolicy"]) == (
        ["IPv4"],
        "SingleStack",
    )


def test_a_cluster_ip_in_use_is_an_error():
    other = _service(clusterIP="10.0.0.9", clusterIPs=["10.0.0.9"])
    other["metadata"]["name"] = "other"
    with pytest.raises(StatusError, match="provided IP is already allocated"):
        preparation.prepare_create(
            ROWS["services"], _service(clusterIP="10.0.0.9"), LiteralReader(services=[other])
        )


def test_an_updated_service_keeps_its_cluster_ip():
    old = _service()
    preparation.prepare_create(ROWS["services"], old, EMPTY)
    new = _service(type="NodePort")
    preparation.prepare_update(ROWS["services"], new, old, EMPTY)
    assert new["spec"]["clusterIP"] == old["spec"]["clusterIP"]
    assert new["spec"]["ports"][0]["nodePort"] in serviceallocators.SERVICE_NODE_PORT_RANGE


def test_an_external_name_has_no_cluster_ip():
    service = _service(type="ExternalName", externalName="x.example.com")
    preparation.prepare_create(ROWS["services"], service, EMPTY)
    assert "clusterIP" not in service["spec"]


def test_a_service_is_encoded_with_an_empty_load_balancer_status():
    encoded = encoding.encode(_service(), "io.k8s.api.v1.Service")
    assert encoded["status"] == {"loadBalancer": {}}
