"""What there is to say about the node groups of each namespace, kept ready."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar

from webhook.api.extensions import Cluster, Worker
from webhook.api.machines import Machine, MachineClass, MachineDeployment, MachineSet
from webhook.api.meta import Object, ObjectKey
from webhook.api.poolobjects import PoolObject
from webhook.domain import groups, poolencoding
from webhook.domain.definitions import complete_from
from webhook.domain.groups import Group, Member, State
from webhook.domain.poolrecord import Record
from webhook.domain.pools import Pool, PoolKey, Unfit, discover, discoveries
from webhook.nodegroups import template
from webhook.nodegroups.provider_pb2 import (
    Instance,
    InstanceStatus,
    NodeGroup,
    NodeGroupNodesResponse,
    NodeGroupsResponse,
)
from webhook.runtime.clock import Clock
from webhook.state.indexes import DEPLOYMENTS_BY_NAMESPACE, WORKERS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot

T = TypeVar("T", bound=Object)

FOLLOWED: Final[tuple[type[Object], ...]] = (
    MachineDeployment,
    MachineSet,
    Machine,
    MachineClass,
    Worker,
    Cluster,
    PoolObject,
)
"""The kinds that node groups are made of."""

_STATES: Final[Mapping[State, InstanceStatus.InstanceState]] = {
    "running": InstanceStatus.instanceRunning,
    "creating": InstanceStatus.instanceCreating,
    "deleting": InstanceStatus.instanceDeleting,
}
_OUT_OF_RESOURCES: Final = 1


class Watching(Protocol):
    """The part of the cache that views need."""

    def snapshot(self) -> Snapshot: ...

    def add_listener(
        self, model: type[T], listener: Callable[[T | None, T | None], None], *, replay: bool = ...
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class View:
    """All groups of one namespace, at one moment."""

    namespace: str
    groups: Mapping[str, Group] = field(default_factory=dict)
    """By id, pools by name and zones in their order."""
    owners: Mapping[str, str] = field(default_factory=dict)
    """By the id of an instance, the group that it is of."""
    templates: Mapping[str, bytes] = field(default_factory=dict)
    """By the id of a group, the Node to come; absent where nobody knows."""
    pools: tuple[Pool, ...] = ()
    unfit: tuple[Unfit, ...] = ()
    until: datetime | None = None
    """When time alone will change something."""
    encoded: NodeGroupsResponse = field(default_factory=NodeGroupsResponse)
    messages: Mapping[str, NodeGroup] = field(default_factory=dict)

    def group_of(self, instance: str) -> str | None:
        """Name the group that an instance is of; one that nobody knows is of none.

        A machine that has its id from the infrastructure by now is still known by the one that it
        had from us before, and a placeholder by its MachineDeployment.
        """
        found = self.owners.get(instance)
        if found is None and instance.startswith(groups.PREFIX):
            found = self._once(instance)
        return found

    def _once(self, instance: str) -> str | None:
        placeholder = groups.parse_placeholder(instance)
        if placeholder is not None:
            owner = f"{placeholder.namespace}.{placeholder.deployment}"
            return owner if owner in self.groups else None
        named = groups.parse_machine(instance)
        for key, group in self.groups.items():
            for member in group.members:
                if (member.machine.namespace, member.machine.name) == named:
                    return key
        return None


def look(snapshot: Snapshot, namespace: str) -> View:
    """Work out the groups of a namespace."""
    specs = discoveries(snapshot.options.nodegroups.discovery)
    deployments = {
        each.name: each for each in snapshot.by_index(DEPLOYMENTS_BY_NAMESPACE, namespace)
    }
    workers = snapshot.by_index(WORKERS_BY_NAMESPACE, namespace)
    worker = workers[0] if workers else None
    cluster = snapshot.get(Cluster, ObjectKey("", namespace))
    complete = [complete_from(each, worker, cluster) for each in deployments.values()]
    pools, unfit = discover(complete, specs)
    crews = {name: _crew(snapshot, deployment) for name, deployment in deployments.items()}
    found: dict[str, Group] = {}
    until = []
    for pool in pools:
        record = record_of(snapshot, pool.key)
        for group in groups.form(pool, record, deployments, crews, snapshot.taken_at):
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
        (*unfit, *_malformed(snapshot, namespace)),
        min(until, default=None),
        NodeGroupsResponse(nodeGroups=messages.values()),
        messages,
    )


def record_of(snapshot: Snapshot, pool: PoolKey) -> Record:
    """Read a pool's record as the cache shows it."""
    key = ObjectKey(snapshot.options.namespace, poolencoding.name_of(pool))
    found = snapshot.get(PoolObject, key) if snapshot.watches(PoolObject) else None
    return (poolencoding.decode(found) if found is not None else None) or Record(pool)


def nodes_of(group: Group) -> NodeGroupNodesResponse:
    """List a group's instances as the wire wants them."""
    answer = NodeGroupNodesResponse()
    for instance in group.instances():
        message: Instance = answer.instances.add(id=instance.id)
        message.status.instanceState = _STATES[instance.state]
        if instance.error_code:
            error = message.status.errorInfo
            error.errorCode, error.errorMessage = instance.error_code, instance.error_message
            error.instanceErrorClass = _OUT_OF_RESOURCES
    return answer


class Views:
    """Keeps the view of each namespace until something in it changes."""

    def __init__(self, cache: Watching, clock: Clock) -> None:
        self._cache = cache
        self._clock = clock
        self._views: dict[str, View] = {}
        self._ghosts: dict[str, dict[str, Group]] = {}

    def follow(self) -> None:
        """Listen for changes from now on."""
        for model in FOLLOWED:
            self._cache.add_listener(model, self._note, replay=False)

    def get(self, namespace: str) -> View:
        """Give the view of a namespace as it is now; raises NotSyncedError before the start."""
        view = self._views.get(namespace)
        if view is None or (view.until is not None and view.until <= self._clock.now()):
            view = self._views[namespace] = look(self._cache.snapshot(), namespace)
            known = self._ghosts.setdefault(namespace, {})
            known.update(view.groups)
        return view

    def recall(self, namespace: str, group: str) -> Group | None:
        """Give a group that has gone since the last refresh, as it last was.

        An autoscaler that was told of it must get an answer, or it gives the whole loop up.
        """
        return self._ghosts.get(namespace, {}).get(group)

    def refresh(self, namespace: str) -> None:
        """Forget the groups that have gone."""
        self._ghosts[namespace] = dict(self.get(namespace).groups)

    def forget(self, namespace: str) -> None:
        """Look again: something was written that no watch has shown yet."""
        self._views.pop(namespace, None)

    def _note(self, old: Any, new: Any) -> None:
        obj = new if new is not None else old
        if isinstance(obj, PoolObject):
            record = poolencoding.decode(obj)
            namespace = record.key.namespace if record is not None else ""
        else:
            namespace = obj.name if isinstance(obj, Cluster) else obj.namespace
        self._views.pop(namespace, None)


def _crew(snapshot: Snapshot, deployment: MachineDeployment) -> tuple[Member, ...]:
    sets = snapshot.children(MachineSet, deployment)
    found = [machine for each in sets for machine in snapshot.children(Machine, each)]
    return groups.members_of(deployment, found)


def _message(group: Group) -> NodeGroup:
    return NodeGroup(
        id=group.id,
        minSize=group.bounds.minimum,
        maxSize=group.bounds.maximum,
        debug=group.debug,
    )


def _templates(
    snapshot: Snapshot,
    found: Iterable[Group],
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


def _malformed(snapshot: Snapshot, namespace: str) -> Iterable[Unfit]:
    for key, faults in snapshot.malformed(MachineDeployment).items():
        if key.namespace == namespace:
            why = f"{faults[0].path}: {faults[0].message}" if faults else "does not decode"
            yield Unfit(key.name, why)
