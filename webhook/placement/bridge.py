"""The bridge to a kube-scheduler: a virtual Node for each seed, a shadow Pod for each shoot.

An unmodified kube-scheduler queues the Pods, calls our extender to filter the Nodes and binds
through it. No kubelet runs for these Nodes and Pods, and a taint keeps all other Pods away.
"""

from collections.abc import Iterable, Mapping
from decimal import ROUND_FLOOR
from typing import Any, Final

from webhook.api import names
from webhook.api.core import Lease, Node, Pod
from webhook.api.kinds import kind_of_model
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.seeds import capacity
from webhook.domain.seeds.capacity import CapacityError
from webhook.domain.shoots import unscheduled
from webhook.kube.meta import Draft, ObjectKey
from webhook.kube.timestamps import format_micro_time
from webhook.runtime.actions import NOTHING, Apply, Create, Delete, Patch, Plan
from webhook.runtime.controller import Controller, Watch
from webhook.scheduling import profiles
from webhook.scheduling.extender import ExtenderError, shoot_of_pod
from webhook.state.snapshot import Snapshot

SCHEDULER: Final = "espalier"
"""The profile of kube-scheduler that schedules shadow Pods."""

LEASE_NAMESPACE: Final = "kube-node-lease"
HEARTBEAT: Final = 15.0
LEASE_SECONDS: Final = 40
UNLIMITED: Final = "1000000"

PRIORITIES: Final[Mapping[str, str]] = {
    "infrastructure": "espalier-infrastructure",
    "production": "espalier-production",
}
OTHER_PRIORITY: Final = "espalier-shoot"

_NODE: Final = kind_of_model(Node)
_POD: Final = kind_of_model(Pod)
_LEASE: Final = kind_of_model(Lease)
_IMAGE: Final = "registry.k8s.io/pause:3.10"
_VIRTUAL_TAINT: Final[Draft] = {"key": names.VIRTUAL, "value": "true", "effect": "NoSchedule"}


def is_on(snapshot: Snapshot) -> bool:
    """Return whether kube-scheduler is the engine."""
    return snapshot.options.scheduling.engine == "kube-scheduler"


def plan_node(seed: Seed, snapshot: Snapshot) -> Plan:
    """Create the Node of a seed and keep it in line with the seed."""
    if not is_on(snapshot) or seed.is_deleting:
        return NOTHING
    key = ObjectKey("", seed.name)
    labels, spec = _labels(seed), {"taints": _taints(seed)}
    node = snapshot.get(Node, key)
    if node is None:
        metadata = {"name": seed.name, "labels": labels}
        return Plan((Create(_NODE, {"metadata": metadata, "spec": spec}),))
    if names.VIRTUAL not in node.metadata.labels:
        return NOTHING  # a real Node of that name
    actions: list[Patch] = []
    written = [
        {name: value for name, value in (("key", taint.key), ("value", taint.value)) if value}
        | {"effect": taint.effect}
        for taint in node.spec.taints
    ]
    if not labels.items() <= node.metadata.labels.items() or written != spec["taints"]:
        change = {"metadata": {"labels": labels}, "spec": spec}
        actions.append(Patch(_NODE, key, change, node.uid, node.resource_version))
    if node.status.allocatable != _resources(seed) or not _is_ready(node):
        change = {"status": _status(seed)}
        actions.append(Patch(_NODE, key, change, node.uid, subresource="status"))
    return Plan(tuple(actions))


def plan_stray_node(node: Node, snapshot: Snapshot) -> Plan:
    """Delete the Node of a seed that is gone, and renew the Lease of the others."""
    if names.VIRTUAL not in node.metadata.labels:
        return NOTHING
    seed = snapshot.get(Seed, node.key)
    if seed is None or seed.is_deleting or not is_on(snapshot):
        return Plan((Delete(_NODE, node.key, node.uid),))
    # The owner reference has the Lease deleted with its Node, as with a kubelet's.
    owner = {"apiVersion": "v1", "kind": "Node", "name": node.name, "uid": node.uid}
    body = {
        "apiVersion": _LEASE.api_version,
        "kind": _LEASE.name,
        "metadata": {"ownerReferences": [owner]},
        "spec": {
            "holderIdentity": node.name,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": format_micro_time(snapshot.taken_at),
        },
    }
    lease = Apply(_LEASE, ObjectKey(LEASE_NAMESPACE, node.name), body)
    return Plan((lease,), requeue_after=HEARTBEAT)


def plan_pod(shoot: Shoot, snapshot: Snapshot) -> Plan:
    """Create the shadow Pod of an unassigned shoot for kube-scheduler to place."""
    if not is_on(snapshot) or not _is_pending(shoot, snapshot):
        return NOTHING
    if snapshot.get(Pod, pod_key(shoot, snapshot)) is not None:
        return NOTHING
    return Plan((Create(_POD, _shadow(shoot, snapshot)),))


def plan_stray_pod(pod: Pod, snapshot: Snapshot) -> Plan:
    """Delete the shadow Pod of a shoot that is gone or has a seed."""
    if names.VIRTUAL not in pod.metadata.labels:
        return NOTHING
    shoot = _shoot_of(pod, snapshot)
    if is_on(snapshot) and shoot is not None and _is_pending(shoot, snapshot):
        return NOTHING
    return Plan((Delete(_POD, pod.key, pod.uid),))


def pod_key(shoot: Shoot, snapshot: Snapshot) -> ObjectKey:
    """Return the key of a shoot's shadow Pod; a later shoot of the same name has another one."""
    return ObjectKey(snapshot.options.namespace, f"shoot-{shoot.uid}")


def _is_pending(shoot: Shoot, snapshot: Snapshot) -> bool:
    ours = profiles.find(shoot.spec.scheduler_name, snapshot.options) is not None
    return ours and unscheduled.needs_seed(shoot)


def _shoot_of(pod: Pod, snapshot: Snapshot) -> Shoot | None:
    try:
        shoot = snapshot.get(Shoot, shoot_of_pod(pod.metadata.annotations))
    except ExtenderError:
        return None
    return shoot if shoot is not None and pod.name == f"shoot-{shoot.uid}" else None


def _labels(seed: Seed) -> dict[str, str]:
    provider = seed.spec.provider
    labels = {names.VIRTUAL: "true", names.HOSTNAME_LABEL: seed.name}
    if provider.region:
        labels[names.REGION_LABEL] = provider.region
    if provider.zones:
        labels[names.ZONE_LABEL] = provider.zones[0]
    return labels


def _taints(seed: Seed) -> list[Draft]:
    taints = [_VIRTUAL_TAINT]
    for taint in seed.spec.taints:
        value = {"value": taint.value} if taint.value else {}
        taints.append({"key": taint.key, **value, "effect": "NoSchedule"})
    return taints


def _resources(seed: Seed) -> dict[str, str]:
    """Return the seed's resources; shadow Pods request none, so only the extender decides."""
    resources = {"pods": UNLIMITED, "cpu": UNLIMITED, "memory": f"{UNLIMITED}Gi"}
    try:
        limits = capacity.parse(seed.status.allocatable)
    except CapacityError:
        return resources
    for resource, limit in limits.items():
        # Extended resources of Nodes must have a domain and be whole numbers.
        name = resource if "/" in resource else names.PREFIX + resource
        resources[name] = str(int(limit.to_integral_value(ROUND_FLOOR)))
    return resources


def _status(seed: Seed) -> Draft:
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "SeedIsVirtual",
        "message": "the scheduler extender decides whether a shoot fits the seed",
    }
    resources = _resources(seed)
    return {"capacity": resources, "allocatable": resources, "conditions": [ready]}


def _is_ready(node: Node) -> bool:
    return any(
        condition.type == "Ready" and condition.status == "True"
        for condition in node.status.conditions
    )


def _tolerations(shoot: Shoot) -> list[Draft]:
    """Translate tolerations: any toleration of its key covers a taint without a value."""
    written: list[Draft] = [{"key": names.VIRTUAL, "operator": "Exists"}]
    for toleration in shoot.spec.tolerations:
        values = dict.fromkeys(("", toleration.value or ""))
        written += [
            {"key": toleration.key, "operator": "Equal", "value": value} for value in values
        ]
    return written


def _shadow(shoot: Shoot, snapshot: Snapshot) -> Draft:
    key = pod_key(shoot, snapshot)
    return {
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "labels": {names.VIRTUAL: "true"},
            "annotations": {names.SHOOT_ANNOTATION: str(shoot.key)},
        },
        "spec": {
            "schedulerName": SCHEDULER,
            "priorityClassName": PRIORITIES.get(shoot.spec.purpose, OTHER_PRIORITY),
            "tolerations": _tolerations(shoot),
            "nodeSelector": {names.VIRTUAL: "true"},
            # No kubelet confirms the termination, so there is nothing to wait for.
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "containers": [_container()],
        },
    }


def _container() -> dict[str, Any]:
    return {
        "name": "shadow",
        "image": _IMAGE,
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def _same_name(old: Any, new: Any, _snapshot: Snapshot) -> Iterable[ObjectKey]:
    return (ObjectKey("", (new or old).name),)


def _shadow_of(old: Shoot | None, new: Shoot | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    return [pod_key(shoot, snapshot) for shoot in (old, new) if shoot is not None]


def _original_of(old: Pod | None, new: Pod | None, _snapshot: Snapshot) -> Iterable[ObjectKey]:
    changed = new or old
    try:
        return (shoot_of_pod(changed.metadata.annotations),) if changed is not None else ()
    except ExtenderError:
        return ()


BRIDGE: Final = (
    Controller("bridge.node", Seed, plan_node, (Watch(Node, _same_name),)),
    Controller(
        "bridge.node.stray", Node, plan_stray_node, (Watch(Seed, _same_name),), needs=(Seed,)
    ),
    Controller("bridge.pod", Shoot, plan_pod, (Watch(Pod, _original_of),)),
    Controller(
        "bridge.pod.stray", Pod, plan_stray_pod, (Watch(Shoot, _shadow_of),), needs=(Shoot,)
    ),
)
