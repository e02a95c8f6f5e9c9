"""Values that the Go types of built-in kinds cannot hold."""

from typing import Any

import pytest

from webhook.dev.apiserver.builtin import typeerrors

_FIELD = "into Go struct field"
_TEMPLATE = "spec.template.spec.containers"


def _deployment(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}


def _containers(value: Any) -> dict[str, Any]:
    return _deployment(template={"spec": {"containers": value}})


def _meta(**metadata: Any) -> dict[str, Any]:
    return {**_deployment(), "metadata": metadata}


@pytest.mark.parametrize(
    ("obj", "decoded", "converted"),
    [
        pytest.param(
            _deployment(replicas="x"),
            f"json: cannot unmarshal string {_FIELD} DeploymentSpec.spec.replicas of type int32",
            "unrecognized type: int32",
            id="string for a number",
        ),
        pytest.param(
            _deployment(replicas=1.5),
            f"json: cannot unmarshal number 1.5 {_FIELD} "
            "DeploymentSpec.spec.replicas of type int32",
            "cannot convert float64 to int32",
            id="fraction for an integer",
        ),
        pytest.param(
            _deployment(replicas=2**31),
            f"json: cannot unmarshal number 2147483648 {_FIELD} "
            "DeploymentSpec.spec.replicas of type int32",
            "cannot convert int64 to int32",
            id="number out of range",
        ),
        pytest.param(
            _deployment(paused="x"),
            f"json: cannot unmarshal string {_FIELD} DeploymentSpec.spec.paused of type bool",
            "unrecognized type: bool",
            id="string for a boolean",
        ),
        pytest.param(
            {**_deployment(), "spec": "x"},
            f"json: cannot unmarshal string {_FIELD} Deployment.spec of type v1.DeploymentSpec",
            "cannot restore struct from: string",
            id="string for an object",
        ),
        pytest.param(
            _containers({}),
            f"json: cannot unmarshal object {_FIELD} PodSpec.{_TEMPLATE} of type []v1.Container",
            "cannot restore slice from map",
            id="object for a list",
        ),
        pytest.param(
            _containers([{"name": 1}]),
            f"json: cannot unmarshal number {_FIELD} Container.{_TEMPLATE}.name of type string",
            "cannot convert int64 to string",
            id="number for a string, in a list",
        ),
        pytest.param(
            _containers([{"ports": [{"containerPort": "x"}], "resources": {"limits": {"a": "?"}}}]),
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
            id="an invalid quantity stops decoding",
        ),
        pytest.param(
            _deployment(strategy={"rollingUpdate": {"maxSurge": True}}),
            f"json: cannot unmarshal bool {_FIELD} "
            "RollingUpdateDeployment.spec.strategy.rollingUpdate.maxSurge of type int32",
            "unrecognized type: int32",
            id="boolean for a number or a string",
        ),
        pytest.param(
            _meta(labels=["a"]),
            f"json: cannot unmarshal array {_FIELD} ObjectMeta.metadata.labels "
            "of type map[string]string",
            "cannot restore map from slice",
            id="list for a map",
        ),
        pytest.param(
            _meta(creationTimestamp="yesterday"),
            'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": '
            'cannot parse "yesterday" as "2006"',
            'parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": '
            'cannot parse "yesterday" as "2006"',
            id="an invalid time",
        ),
    ],
)
def test_values_of_the_wrong_type(obj, decoded, converted):
    found = typeerrors.find_type_mismatch(obj, "io.k8s.api.v1.Deployment")
    assert found is not None
    assert (found.decode_error, found.conversion_error) == (decoded, converted)


@pytest.mark.parametrize(
    "obj",
    [
        pytest.param(_deployment(replicas=None), id="null for any type"),
        pytest.param(_deployment(unknown="x"), id="an unknown field"),
        pytest.param(
            _deployment(strategy={"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}}),
            id="a number or a string",
        ),
        pytest.param(
            _containers([{"resources": {"limits": {"cpu": 1, "memory": "1Gi"}}}]), id="quantities"
        ),
        pytest.param(_meta(creationTimestamp="2026-01-01T00:00:00+01:00"), id="a time"),
    ],
)
def test_values_of_the_right_type(obj):
    assert typeerrors.find_type_mismatch(obj, "io.k8s.api.v1.Deployment") is None


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("aGk=", None, id="base64"),
        pytest.param("%%", "illegal base64 data at input byte 0", id="an invalid character"),
        pytest.param("aGk", "illegal base64 data at input byte 0", id="not padded"),
    ],
)
def test_bytes(value, message):
    found = typeerrors.find_type_mismatch({"data": {"k": value}}, "io.k8s.api.v1.Secret")
    assert (found.decode_error if found else None) == message


def test_micro_times_need_a_fraction():
    lease = {"spec": {"renewTime": "2026-01-01T00:00:00Z"}}
    found = typeerrors.find_type_mismatch(lease, "io.k8s.api.v1.Lease")
    assert found is not None
    assert found.decode_error.endswith('cannot parse "Z" as ".000000"')
