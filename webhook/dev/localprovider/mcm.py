"""Simulates machine-controller-manager: MachineDeployments get MachineSets, these get Machines.

A rollout follows the real one: the new set grows first, old sets shrink as new machines become
available. Its writes pass the same admission, so adaptive pools keep their permits here, too.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.domain.pools import machines
from webhook.domain.pools.machine_sets import deployment_of
from webhook.kube.meta import Draft, Object, ObjectKey
from webhook.runtime.actions import NOTHING, Action, Create, Delete, Patch, Plan
from webhook.runtime.controller import Controller, Watch
from webhook.state.snapshot import Snapshot

_DEPLOYMENT: Final = kind_of_model(MachineDeployment)
_SET: Final = kind_of_model(MachineSet)
_MACHINE: Final = kind_of_model(Machine)
_GROUP: Final = _MACHINE.api_version


def plan_deployment(deployment: MachineDeployment, snapshot: Snapshot) -> Plan:
    """Keep one set per template: the newest grows, the others shrink."""
    raw = snapshot.raw(MachineDeployment, deployment.key)
    if raw is None or deployment.is_deleting or deployment.spec.paused:
        return NOTHING
    machine_sets = sorted(snapshot.children(MachineSet, deployment), key=lambda each: each.name)
    name = f"{deployment.name}-{_hash(raw['spec'].get('template') or {})}"
    newest = next((each for each in machine_sets if each.name == name), None)
    if newest is None:
        return Plan((Create(_SET, _make_set(raw, name, len(machine_sets) + 1)),))
    old = [each for each in machine_sets if each is not newest]
    actions = [*_grow(newest, deployment), *_shrink(old, newest, deployment)]
    return Plan((*actions, *_report(deployment, machine_sets, newest)))


def plan_set(machine_set: MachineSet, snapshot: Snapshot) -> Plan:
    """Create or delete one machine at a time; unavailable machines are deleted first."""
    raw = snapshot.raw(MachineSet, machine_set.key)
    if raw is None or machine_set.is_deleting:
        return NOTHING
    existing = snapshot.children(Machine, machine_set)
    remaining = [each for each in existing if not each.is_deleting]
    actions: list[Action] = []
    if len(remaining) < machine_set.spec.replicas:
        taken = {each.name for each in existing}
        free = (f"{machine_set.name}-{number}" for number in range(len(existing) + 1))
        actions.append(
            Create(_MACHINE, _make_machine(raw, next(name for name in free if name not in taken)))
        )
    elif len(remaining) > machine_set.spec.replicas:
        first = min(remaining, key=lambda each: (machines.is_available(each), each.name))
        actions.append(Delete(_MACHINE, first.key, first.uid))
    status = {
        "replicas": len(existing),
        "readyReplicas": sum(machines.is_available(each) for each in existing),
        "availableReplicas": sum(machines.is_available(each) for each in existing),
        "failedMachines": [
            _failed_machine(each, machine_set) for each in existing if _lacks_resources(each)
        ],
    }
    if msgspec.to_builtins(machine_set.status) != _without_empty(status):
        change = {"status": status}
        actions.append(Patch(_SET, machine_set.key, change, machine_set.uid, subresource="status"))
    return Plan(tuple(actions))


def _grow(newest: MachineSet, deployment: MachineDeployment) -> Iterable[Action]:
    if newest.spec.replicas < deployment.spec.replicas:
        yield _resize(newest, deployment.spec.replicas)


def _shrink(
    old: Sequence[MachineSet], newest: MachineSet, deployment: MachineDeployment
) -> Iterable[Action]:
    wanted = deployment.spec.replicas
    if newest.spec.replicas > wanted:
        yield _resize(newest, wanted)
    left = max(0, wanted - newest.status.available_replicas)
    for each in old:
        kept = min(each.spec.replicas, left)
        left -= kept
        if kept != each.spec.replicas:
            yield _resize(each, kept)
        elif not kept and not each.status.replicas:
            yield Delete(_SET, each.key, each.uid)


def _resize(machine_set: MachineSet, size: int) -> Patch:
    change = {"spec": {"replicas": size}}
    return Patch(_SET, machine_set.key, change, machine_set.uid, machine_set.resource_version)


def _report(
    deployment: MachineDeployment, machine_sets: Sequence[MachineSet], newest: MachineSet
) -> Iterable[Action]:
    failed = [
        msgspec.to_builtins(each) for one in machine_sets for each in one.status.failed_machines
    ]
    available = sum(each.status.available_replicas for each in machine_sets)
    status = {
        "observedGeneration": deployment.metadata.generation,
        "replicas": sum(each.status.replicas for each in machine_sets),
        "updatedReplicas": newest.status.replicas,
        "readyReplicas": available,
        "availableReplicas": available,
        "unavailableReplicas": max(0, deployment.spec.replicas - available),
        "failedMachines": failed,
    }
    if msgspec.to_builtins(deployment.status) != _without_empty(status):
        change = {"status": status}
        yield Patch(_DEPLOYMENT, deployment.key, change, deployment.uid, subresource="status")


def _without_empty(status: Draft) -> Draft:
    """Drop empty values, as Structs do when they are encoded."""
    return {key: value for key, value in status.items() if value}


def _make_set(deployment: Draft, name: str, revision: int) -> Draft:
    spec = deployment["spec"]
    template = spec.get("template") or {}
    return {
        "metadata": {
            "name": name,
            "namespace": deployment["metadata"]["namespace"],
            "labels": (template.get("metadata") or {}).get("labels") or {},
            "annotations": {names.REVISION: str(revision)},
            "ownerReferences": [_owner(deployment, MachineDeployment.__name__)],
        },
        "spec": {"replicas": 0, "selector": spec.get("selector") or {}, "template": template},
    }


def _make_machine(machine_set: Draft, name: str) -> Draft:
    template = machine_set["spec"].get("template") or {}
    metadata = template.get("metadata") or {}
    return {
        "metadata": {
            "name": name,
            "namespace": machine_set["metadata"]["namespace"],
            "labels": metadata.get("labels") or {},
            "annotations": metadata.get("annotations") or {},
            "ownerReferences": [_owner(machine_set, MachineSet.__name__)],
        },
        "spec": template.get("spec") or {},
    }


def _owner(owner: Draft, kind: str) -> Draft:
    metadata = owner["metadata"]
    return {
        "apiVersion": _GROUP,
        "kind": kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }


def _lacks_resources(machine: Machine) -> bool:
    return machines.is_resource_exhausted(machine.status.last_operation)


def _failed_machine(machine: Machine, machine_set: MachineSet) -> Draft:
    operation = msgspec.to_builtins(machine.status.last_operation)
    return {"name": machine.name, "ownerRef": machine_set.name, "lastOperation": operation}


def _hash(template: Draft) -> str:
    encoded = msgspec.json.encode(template, order="sorted")
    return hashlib.sha256(encoded).hexdigest()[:5]


def _owner_key(old: Object | None, new: Object | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    changed = new or old
    owners = changed.metadata.owner_references if changed is not None else ()
    return [ObjectKey(changed.namespace, each.name) for each in owners if changed is not None]


def _deployment_key(
    old: MachineSet | None, new: MachineSet | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    changed = new or old
    name = deployment_of(changed) if changed is not None else ""
    return [ObjectKey(changed.namespace, name)] if changed is not None and name else ()


MCM_CONTROLLERS: Final = (
    Controller(
        "dev.deployments", MachineDeployment, plan_deployment, (Watch(MachineSet, _deployment_key),)
    ),
    Controller("dev.sets", MachineSet, plan_set, (Watch(Machine, _owner_key),)),
)
