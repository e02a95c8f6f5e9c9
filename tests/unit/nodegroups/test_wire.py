"""The wire format: every number as an unmodified cluster-autoscaler has it."""

import sys
from pathlib import Path
from subprocess import run
from typing import Any

import pytest

from webhook.nodegroups import node_pb2, provider_pb2

ROOT = Path(__file__).parents[3]

PROVIDER = {
    "NodeGroup": {"id": 1, "minSize": 2, "maxSize": 3, "debug": 4},
    "ExternalGrpcNode": {"providerID": 1, "name": 2, "labels": 3, "annotations": 4},
    "NodeGroupsRequest": {},
    "NodeGroupsResponse": {"nodeGroups": 1},
    "NodeGroupForNodeRequest": {"node": 1},
    "NodeGroupForNodeResponse": {"nodeGroup": 1},
    "NodeGroupTargetSizeRequest": {"id": 1},
    "NodeGroupTargetSizeResponse": {"targetSize": 1},
    "NodeGroupIncreaseSizeRequest": {"delta": 1, "id": 2},
    "NodeGroupDeleteNodesRequest": {"nodes": 1, "id": 2},
    "NodeGroupDecreaseTargetSizeRequest": {"delta": 1, "id": 2},
    "NodeGroupNodesRequest": {"id": 1},
    "NodeGroupNodesResponse": {"instances": 1},
    "Instance": {"id": 1, "status": 2},
    "InstanceStatus": {"instanceState": 1, "errorInfo": 2},
    "InstanceErrorInfo": {"errorCode": 1, "errorMessage": 2, "instanceErrorClass": 3},
    "NodeGroupTemplateNodeInfoRequest": {"id": 1},
    "NodeGroupTemplateNodeInfoResponse": {"nodeBytes": 2},
    "NodeGroupAutoscalingOptionsRequest": {"id": 1, "defaults": 2},
    "NodeGroupAutoscalingOptionsResponse": {"nodeGroupAutoscalingOptions": 1},
    "NodeGroupAutoscalingOptions": {
        "scaleDownUtilizationThreshold": 1,
        "scaleDownGpuUtilizationThreshold": 2,
        "zeroOrMaxNodeScaling": 6,
        "ignoreDaemonSetsUtilization": 7,
        "scaleDownUnneededDuration": 8,
        "scaleDownUnreadyDuration": 9,
        "MaxNodeProvisionDuration": 10,
    },
    "GPULabelResponse": {"label": 1},
    "GetAvailableGPUTypesResponse": {"gpuTypes": 1},
    "PricingNodePriceRequest": {"node": 1, "startTimestamp": 4, "endTimestamp": 5},
    "PricingPodPriceRequest": {"pod_bytes": 4, "startTimestamp": 5, "endTimestamp": 6},
    "PricingNodePriceResponse": {"price": 1},
    "PricingPodPriceResponse": {"price": 1},
}
NODE = {
    "Node": {"metadata": 1, "spec": 2, "status": 3},
    "ObjectMeta": {"name": 1, "labels": 11, "annotations": 12},
    "NodeSpec": {"providerID": 3, "unschedulable": 4, "taints": 5},
    "Taint": {"key": 1, "value": 2, "effect": 3},
    "NodeStatus": {"capacity": 1, "allocatable": 2, "conditions": 4},
    "Quantity": {"string": 1},
    "NodeCondition": {"type": 1, "status": 2},
}


@pytest.mark.parametrize(
    ("descriptor", "message", "numbers"),
    [
        pytest.param(module.DESCRIPTOR, message, numbers, id=message)
        for module, table in ((provider_pb2, PROVIDER), (node_pb2, NODE))
        for message, numbers in table.items()
    ],
)
def test_fields_have_the_numbers_of_the_contract(
    descriptor: Any, message: str, numbers: dict[str, int]
) -> None:
    fields = descriptor.message_types_by_name[message].fields
    assert {field.name: field.number for field in fields} == numbers


def test_instance_states_have_the_values_of_the_contract() -> None:
    assert provider_pb2.InstanceStatus.InstanceState.items() == [
        ("unspecified", 0),
        ("instanceRunning", 1),
        ("instanceCreating", 2),
        ("instanceDeleting", 3),
    ]


def test_generated_code_is_that_of_the_proto_files(tmp_path: Path) -> None:
    out = [f"--{kind}_out={tmp_path}" for kind in ("python", "pyi", "grpc_python")]
    protoc = [sys.executable, "-m", "grpc_tools.protoc", "-I."]
    run([*protoc, *out, "webhook/nodegroups/provider.proto"], cwd=ROOT, check=True)
    run([*protoc, *out[:2], "webhook/nodegroups/node.proto"], cwd=ROOT, check=True)
    for made in sorted((tmp_path / "webhook/nodegroups").iterdir()):
        kept = ROOT / "webhook/nodegroups" / made.name
        assert made.read_text() == kept.read_text(), f"{made.name} is old, run make proto"
