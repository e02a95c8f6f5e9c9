"""The template Node of a node group, as cluster-autoscaler reads it."""

from collections.abc import Mapping, Sequence
from typing import Final

from webhook.api import names
from webhook.api.extensions import ExtensionPool, Worker
from webhook.api.machines import MachineClass, MachineDeployment
from webhook.kube.meta import Quantity
from webhook.nodegroups.node_pb2 import Node

INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
ARCHITECTURE: Final = "kubernetes.io/arch"
SYSTEM: Final = "kubernetes.io/os"
GPU: Final = "nvidia.com/gpu"

_PODS: Final = "110"
"""The default of the kubelet; machine classes do not hold it."""
_ZONE_SPECIFIC: Final = frozenset({names.ZONE_LABEL, names.HOSTNAME_LABEL})
_BETA: Final = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)


def node_of(
    deployment: MachineDeployment,
    machine_class: MachineClass | None,
    worker: Worker | None,
    siblings: Sequence[MachineDeployment] = (),
) -> bytes:
    """Return the Node in protobuf; empty if cpu or memory is not known.

    Labels that differ between the zones of a pool are omitted, except those that an autoscaler
    ignores when it compares groups: otherwise it would not balance the zones.
    """
    pool = _pool(deployment, worker)
    capacity = _capacity(machine_class, pool)
    if not {"cpu", "memory"} <= capacity.keys():
        return b""
    node = Node()
    node.metadata.name = f"template-{deployment.name}"
    node.metadata.labels.update(labels_of(deployment, machine_class, siblings))
    for taint in _taints(deployment, pool):
        node.spec.taints.add(key=taint[0], value=taint[1], effect=taint[2])
    for resource, amount in capacity.items():
        node.status.capacity[resource].string = amount
        node.status.allocatable[resource].string = amount
    node.status.conditions.add(type="Ready", status="True")
    return node.SerializeToString(deterministic=True)


def labels_of(
    deployment: MachineDeployment,
    machine_class: MachineClass | None,
    siblings: Sequence[MachineDeployment] = (),
) -> Mapping[str, str]:
    """Return the labels of the Node."""
    template = machine_class.node_template if machine_class is not None else None
    labels = {SYSTEM: "linux", ARCHITECTURE: (template and template.architecture) or "amd64"}
    if template is not None:
        known = {
            INSTANCE_TYPE: template.instance_type,
            names.REGION_LABEL: template.region,
            names.ZONE_LABEL: template.zone,
        }
        labels |= {label: value for label, value in known.items() if value}
    omitted = differing_labels(siblings)
    given = _node_labels(deployment)
    labels |= {key: value for key, value in given.items() if key not in omitted}
    labels[names.HOSTNAME_LABEL] = f"template-{deployment.name}"
    return labels


def differing_labels(siblings: Sequence[MachineDeployment]) -> frozenset[str]:
    """Return the labels with different values in the zones of a pool, except well-known ones."""
    given = [_node_labels(each) for each in siblings]
    keys = frozenset(key for labels in given for key in labels)
    differing = {key for key in keys if len({labels.get(key) for labels in given}) > 1}
    return frozenset(differing - _ZONE_SPECIFIC - {names.REGION_LABEL, *_BETA})


def _node_labels(deployment: MachineDeployment) -> Mapping[str, str]:
    return deployment.spec.template.spec.node_template.metadata.labels


def _pool(deployment: MachineDeployment, worker: Worker | None) -> ExtensionPool | None:
    name = deployment.metadata.labels.get(names.WORKER_POOL)
    pools = worker.spec.pools if worker is not None else ()
    return next((pool for pool in pools if pool.name == name), None)


def _capacity(machine_class: MachineClass | None, pool: ExtensionPool | None) -> dict[str, str]:
    """Combine the capacity of the machine class and that of the pool, which has precedence."""
    known: dict[str, Quantity] = {}
    for template in (
        machine_class.node_template if machine_class is not None else None,
        pool.node_template if pool is not None else None,
    ):
        if template is not None:
            known |= {**template.capacity, **template.virtual_capacity}
    gpus = str(known.pop("gpu", "0"))
    capacity = {resource: str(amount) for resource, amount in known.items()}
    if gpus != "0":
        capacity.setdefault(GPU, gpus)
    capacity.setdefault("pods", _PODS)
    return capacity


def _taints(
    deployment: MachineDeployment, pool: ExtensionPool | None
) -> Sequence[tuple[str, str, str]]:
    given = deployment.spec.template.spec.node_template.spec.taints
    found = [(taint.key, taint.value, taint.effect) for taint in given]
    if not found and pool is not None:
        found = [(taint.key, taint.value, taint.effect) for taint in pool.taints]
    return found
