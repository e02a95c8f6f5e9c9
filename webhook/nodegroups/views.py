"""The node groups of each namespace, computed from the cache and kept until it changes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, TypeVar

from webhook.api.extensions import Cluster, Worker
from webhook.api.machines import Machine, MachineClass, MachineDeployment, MachineSet
from webhook.api.pool_records import PoolRecordObject
from webhook.domain.pools import node_groups, record_encoding
from webhook.domain.pools.discovery import Pool, PoolKey, UnusableDeployment, discover, discoveries
from webhook.domain.pools.node_groups import GroupMember, State, ZoneGroup
from webhook.domain.pools.pool_definition import completed_from
from webhook.domain.pools.pool_record import PoolRecord
from webhook.kube.clock import Clock
from webhook.kube.meta import Object, ObjectKey
from webhook.nodegroups import template
from webhook.nodegroups.provider_pb2 import (
    Instance,
    InstanceStatus,
    NodeGroup,
    NodeGroupNodesResponse,
    NodeGroupsResponse,
)
from webhook.state.indexes import DEPLOYMENTS_BY_NAMESPACE, WORKERS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot
from webhook.state.views import CacheListener

T = TypeVar("T", bound=Object)

WATCHED_MODELS: Final[tuple[type[Object], ...]] = (
    MachineDeployment,
    MachineSet,
    Machine,
    MachineClass,
    Worker,
    Cluster,
    PoolRecordObject,
)
"""The kinds that node groups are computed from."""

_STATES: Final[Mapping[State, InstanceStatus.InstanceState]] = {
    "running": InstanceStatus.instanceRunning,
    "creating": InstanceStatus.instanceCreating,
    "deleting": InstanceStatus.instanceDeleting,
}
_OUT_OF_RESOURCES: Final = 1


@dataclass(frozen=True, slots=True)
class View:
    """All node groups of one namespace, at one moment."""

    namespace: str
    groups: Mapping[str, ZoneGroup] = field(default_factory=dict)
    """By id, pools by name and zones in their order."""
    owners: Mapping[str, str] = field(default_factory=dict)
    """By the id of an instance, the group that it is of."""
    templates: Mapping[str, bytes] = field(default_factory=dict)
    """Template Nodes by group id; a group without known capacity has none."""
    pools: tuple[Pool, ...] = ()
    unusable: tuple[UnusableDeployment, ...] = ()
    until: datetime | None = None
    """When the view expires because a backoff ends."""
    encoded: NodeGroupsResponse = field(default_factory=NodeGroupsResponse)
    messages: Mapping[str, NodeGroup] = field(default_factory=dict)

    def group_of(self, instance: str) -> str | None:
        """Return the group of an instance; None if it is in none.

        An instance is also found by the id that Espalier gave it before the infrastructure did:
        a machine by its name, a placeholder by its MachineDeployment.
        """
        found = self.owners.get(instance)
        if found is None and instance.startswith(node_groups.PREFIX):
            found = self._group_of_own_id(instance)
        return found

    def _group_of_own_id(self, instance: str) -> str | None:
        placeholder = node_groups.parse_placeholder(instance)
        if placeholder is not None:
            owner = f"{placeholder.namespace}.{placeholder.deployment}"
            return owner if owner in self.groups else None
        named = node_groups.parse_machine(instance)
        for key, group in self.groups.items():
            for member in group.members:
                if (member.machine.namespace, member.machine.name) == named:
                    return key
        return None


def build_view(snapshot: Snapshot, namespace: str) -> View:
    """Compute the groups of a namespace."""
    specs = discoveries(snapshot.options.nodegroups.discovery)
    deployments = {
        each.name: each for each in snapshot.by_index(DEPLOYMENTS_BY_NAMESPACE, namespace)
    }
    workers = snapshot.by_index(WORKERS_BY_NAMESPACE, namespace)
    worker = workers[0] if workers else None
    cluster = snapshot.get(Cluster, ObjectKey("", namespace))
    complete = [completed_from(each, worker, cluster) for each in deployments.values()]
    pools, unusable = discover(complete, specs)
    members = {name: _members(snapshot, deployment) for name, deployment in deployments.items()}
    found: dict[str, ZoneGroup] = {}
    until = []
    for pool in pools:
        record = record_of(snapshot, pool.key)
        for group in node_groups.build_groups(
            pool, record, deployments, members, snapshot.taken_at
        ):
            found[group.id] = group
            if group.bad_until is not None:
                until.append(group.bad_until)
    messages = {key: _message(group) for key, group in found.items()}
    return View(
        namespace,
        found,
        {instance.id: group.id for group in found.values() for instance in group.instances()},
        dict(_templates(snapshot, found.values(), deployments, worker)),
        pools,
        (*unusable, *_malformed(snapshot, namespace)),
        min(until, default=None),
        NodeGroupsResponse(nodeGroups=messages.values()),
        messages,
    )


def record_of(snapshot: Snapshot, pool: PoolKey) -> PoolRecord:
    """Return the record of a pool from the cache."""
    key = ObjectKey(snapshot.options.namespace, record_encoding.name_of(pool))
    found = snapshot.get(PoolRecordObject, key) if snapshot.watches(PoolRecordObject) else None
    return (record_encoding.decode(found) if found is not None else None) or PoolRecord(pool)


def nodes_of(group: ZoneGroup) -> NodeGroupNodesResponse:
    """Return the instances of a group as a gRPC response."""
    response = NodeGroupNodesResponse()
    for instance in group.instances():
        message: Instance = response.instances.add(id=instance.id)
        message.status.instanceState = _STATES[instance.state]
        if instance.error_code:
            error = message.status.errorInfo
            error.errorCode, error.errorMessage = instance.error_code, instance.error_message
            error.instanceErrorClass = _OUT_OF_RESOURCES
    return response


class Views:
    """Keeps the view of each namespace until one of its objects changes."""

    def __init__(self, cache: CacheListener, clock: Clock) -> None:
        self._cache = cache
        self._clock = clock
        self._views: dict[str, View] = {}
        self._last_known: dict[str, dict[str, ZoneGroup]] = {}
        """By namespace: the groups since the last refresh, deleted ones included."""

    def listen(self) -> None:
        """Start to listen for changes."""
        for model in WATCHED_MODELS:
            self._cache.add_listener(model, self._on_change, replay=False)

    def get(self, namespace: str) -> View:
        """Return the present view of a namespace; raises NotSyncedError before the first sync."""
        view = self._views.get(namespace)
        if view is None or (view.until is not None and view.until <= self._clock.now()):
            view = self._views[namespace] = build_view(self._cache.snapshot(), namespace)
            known = self._last_known.setdefault(namespace, {})
            known.update(view.groups)
        return view

    def last_known(self, namespace: str, group: str) -> ZoneGroup | None:
        """Return a group that was deleted since the last refresh, in its last state.

        An autoscaler still uses it in its present loop, which an error would end.
        """
        return self._last_known.get(namespace, {}).get(group)

    def refresh(self, namespace: str) -> None:
        """Drop the deleted groups."""
        self._last_known[namespace] = dict(self.get(namespace).groups)

    def invalidate(self, namespace: str) -> None:
        """Drop the view: an object was written that the watch has not shown yet."""
        self._views.pop(namespace, None)

    def _on_change(self, old: Any, new: Any) -> None:
        obj = new if new is not None else old
        if isinstance(obj, PoolRecordObject):
            record = record_encoding.decode(obj)
            namespace = record.key.namespace if record is not None else ""
        else:
            namespace = obj.name if isinstance(obj, Cluster) else obj.namespace
        self._views.pop(namespace, None)


def _members(snapshot: Snapshot, deployment: MachineDeployment) -> tuple[GroupMember, ...]:
    sets = snapshot.children(MachineSet, deployment)
    found = [machine for each in sets for machine in snapshot.children(Machine, each)]
    return node_groups.members_of(deployment, found)


def _message(group: ZoneGroup) -> NodeGroup:
    return NodeGroup(
        id=group.id,
        minSize=group.bounds.minimum,
        maxSize=group.bounds.maximum,
        debug=group.debug,
    )


def _templates(
    snapshot: Snapshot,
    found: Iterable[ZoneGroup],
    deployments: Mapping[str, MachineDeployment],
    worker: Worker | None,
) -> Iterable[tuple[str, bytes]]:
    for group in found:
        pool = group.pool
        deployment = deployments[group.zone.name]
        name = deployment.spec.template.spec.class_.name
        node = template.node_of(
            deployment,
            snapshot.get(MachineClass, ObjectKey(pool.key.namespace, name)),
            worker,
            [deployments[zone.name] for zone in pool.zones],
        )
        if node:
            yield group.id, node


def _malformed(snapshot: Snapshot, namespace: str) -> Iterable[UnusableDeployment]:
    for key, faults in snapshot.malformed(MachineDeployment).items():
        if key.namespace == namespace:
            why = f"{faults[0].path}: {faults[0].message}" if faults else "does not decode"
            yield UnusableDeployment(key.name, why)
