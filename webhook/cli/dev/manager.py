"""A small machine-controller-manager for laptops: deployments become sets, sets become machines.

It rolls as the real one asks for it: the new set first, then old sets as far as new machines serve.
What it asks for passes the same admission, so an adaptive pool keeps its permits here, too.
"""

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.meta import Draft, Object, ObjectKey
from webhook.domain import machines
from webhook.domain.fleets import deployment_of
from webhook.runtime.actions import NOTHING, Action, Create, Delete, Patch, Plan
from webhook.runtime.rows import Controller, Watch
from webhook.state.snapshot import Snapshot

_DEPLOYMENT: Final = kind_of_model(MachineDeployment)
_SET: Final = kind_of_model(MachineSet)
_MACHINE: Final = kind_of_model(Machine)
_GROUP: Final = _MACHINE.api_version


def plan_deployment(deployment: MachineDeployment, snapshot: Snapshot) -> Plan:
    """Keep one set for each template, the newest growing and the others shrinking."""
    raw = snapshot.raw(MachineDeployment, deployment.key)
    if raw is None or deployment.is_deleting or deployment.spec.paused:
        return NOTHING
    owned = sorted(snapshot.children(MachineSet, deployment), key=lambda each: each.name)
    name = f"{deployment.name}-{_hash(raw['spec'].get('template') or {})}"
    newest = next((each for each in owned if each.name == name), None)
    if newest is None:
        return Plan((Create(_SET, _make_set(raw, name, len(owned) + 1)),))
    old = [each for each in owned if each is not newest]
    steps = [*_grow(newest, deployment), *_shrink(old, newest, deployment)]
    return Plan((*steps, *_report(deployment, owned, newest)))


def plan_set(owned: MachineSet, snapshot: Snapshot) -> Plan:
    """Make or delete machines one after the other, those that do not serve first."""
    raw = snapshot.raw(MachineSet, owned.key)
    if raw is None or owned.is_deleting:
        return NOTHING
    existing = snapshot.children(Machine, owned)
    staying = [each for each in existing if not each.is_deleting]
    steps: list[Action] = []
    if len(staying) < owned.spec.replicas:
        taken = {each.name for each in existing}
        free = (f"{owned.name}-{number}" for number in range(len(existing) + 1))
        steps.append(
            Create(_MACHINE, _make_machine(raw, next(name for name in free if name not in taken)))
        )
    elif len(staying) > owned.spec.replicas:
        first = min(staying, key=lambda each: (machines.is_available(each), each.name))
        steps.append(Delete(_MACHINE, first.key, first.uid))
    status = {
        "replicas": len(existing),
        "readyReplicas": sum(machines.is_available(each) for each in existing),
        "availableReplicas": sum(machines.is_available(each) for each in existing),
        "failedMachines": [_failed(each, owned) for each in existing if _lacks(each)],
    }
    if msgspec.to_builtins(owned.status) != _said(status):
        change = {"status": status}
        steps.append(Patch(_SET, owned.key, change, owned.uid, subresource="status"))
    return Plan(tuple(steps))


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


def _resize(owned: MachineSet, size: int) -> Patch:
    change = {"spec": {"replicas": size}}
    return Patch(_SET, owned.key, change, owned.uid, owned.resource_version)


def _report(
    deployment: MachineDeployment, owned: Sequence[MachineSet], newest: MachineSet
) -> Iterable[Action]:
    failed = [msgspec.to_builtins(each) for one in owned for each in one.status.failed_machines]
    available = sum(each.status.available_replicas for each in owned)
    status = {
        "observedGeneration": deployment.metadata.generation,
        "replicas": sum(each.status.replicas for each in owned),
        "updatedReplicas": newest.status.replicas,
        "readyReplicas": available,
        "availableReplicas": available,
        "unavailableReplicas": max(0, deployment.spec.replicas - available),
        "failedMachines": failed,
    }
    if msgspec.to_builtins(deployment.status) != _said(status):
        change = {"status": status}
        yield Patch(_DEPLOYMENT, deployment.key, change, deployment.uid, subresource="status")


def _said(status: dict[str, Any]) -> dict[str, Any]:
    """Leave out what a Struct leaves out."""
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


def _make_machine(owned: Draft, name: str) -> Draft:
    template = owned["spec"].get("template") or {}
    metadata = template.get("metadata") or {}
    return {
        "metadata": {
            "name": name,
            "namespace": owned["metadata"]["namespace"],
            "labels": metadata.get("labels") or {},
            "annotations": metadata.get("annotations") or {},
            "ownerReferences": [_owner(owned, MachineSet.__name__)],
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


def _lacks(machine: Machine) -> bool:
    return machines.lacks_resources(machine.status.last_operation)


def _failed(machine: Machine, owned: MachineSet) -> Draft:
    operation = msgspec.to_builtins(machine.status.last_operation)
    return {"name": machine.name, "ownerRef": owned.name, "lastOperation": operation}


def _hash(template: Draft) -> str:
    said = msgspec.json.encode(template, order="sorted")
    return hashlib.sha256(said).hexdigest()[:5]


def _its_owner(old: Object | None, new: Object | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    changed = new or old
    owners = changed.metadata.owner_references if changed is not None else ()
    return [ObjectKey(changed.namespace, each.name) for each in owners if changed is not None]


def _its_deployment(
    old: MachineSet | None, new: MachineSet | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    changed = new or old
    name = deployment_of(changed) if changed is not None else ""
    return [ObjectKey(changed.namespace, name)] if changed is not None and name else ()


MANAGER: Final = (
    Controller(
        "dev.deployments", MachineDeployment, plan_deployment, (Watch(MachineSet, _its_deployment),)
    ),
    Controller("dev.sets", MachineSet, plan_set, (Watch(Machine, _its_owner),)),
)
