"""Simulates a machine-controller-manager driver: Machines join, drain, fail or run out of quota.

The annotation `espalier.gardener.cloud/simulate` of a MachineDeployment sets the behaviour of its
zone, as words separated by commas: `no-quota`, `never-ready`, `join=SECONDS`, `drain=SECONDS`.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.dev.localprovider.finalizers import add_finalizer, remove_finalizer
from webhook.dev.localprovider.simulation import simulated
from webhook.domain.pools.machines import EXHAUSTED, NODE_LABEL
from webhook.kube.meta import Object, ObjectKey
from webhook.kube.timestamps import TimestampError, format_time, parse_time
from webhook.runtime.actions import NOTHING, Patch, Plan
from webhook.runtime.controller import Controller, Watch
from webhook.state.snapshot import Snapshot

JOIN_SECONDS: Final = 0.5
DRAIN_SECONDS: Final = 0.3
LONGEST_DRAIN: Final = 60.0
NO_QUOTA: Final = "no-quota"
NEVER_READY: Final = "never-ready"

_MACHINE: Final = kind_of_model(Machine)


class Behaviour(NamedTuple):
    """The behaviour of the machines of a zone."""

    join: float = JOIN_SECONDS
    drain: float = DRAIN_SECONDS
    words: frozenset[str] = frozenset()


def plan_machine(machine: Machine, snapshot: Snapshot) -> Plan:
    """Take the next step of a machine's creation or deletion."""
    behaviour = behaviour_of(machine, snapshot)
    if machine.is_deleting:
        return _delete(machine, behaviour, snapshot.taken_at)
    if names.MACHINE_FINALIZER not in machine.metadata.finalizers:
        return Plan((add_finalizer(_MACHINE, machine, names.MACHINE_FINALIZER),))
    return _create(machine, behaviour, snapshot.taken_at)


def behaviour_of(machine: Machine, snapshot: Snapshot) -> Behaviour:
    """Return the behaviour of a machine's zone."""
    owner = _owner(machine, MachineSet, snapshot)
    deployment = _owner(owner, MachineDeployment, snapshot) if owner is not None else None
    return parse_behaviour(simulated(deployment) if deployment else "")


def parse_behaviour(text: str) -> Behaviour:
    """Parse the annotation; what is absent or malformed has its default."""
    words = {word.strip() for word in text.split(",") if word.strip()}
    numbers = {}
    for word in words:
        name, equals, value = word.partition("=")
        try:
            numbers[name] = max(0.0, float(value)) if equals else 0.0
        except ValueError:
            continue
    return Behaviour(
        numbers.get("join", JOIN_SECONDS),
        min(LONGEST_DRAIN, numbers.get("drain", DRAIN_SECONDS)),
        frozenset(words),
    )


def _create(machine: Machine, behaviour: Behaviour, now: datetime) -> Plan:
    phase = machine.status.current_status.phase
    if phase == "Running":
        return NOTHING
    if NO_QUOTA in behaviour.words:
        return _fail(machine, now) if phase != "CrashLoopBackOff" else NOTHING
    wait = behaviour.join - _age(machine.metadata.creation_timestamp, now)
    if NEVER_READY in behaviour.words or (wait > 0 and phase == "Pending"):
        wait = 5.0 if NEVER_READY in behaviour.words else wait
        return Plan(requeue_after=wait) if phase else _set_phase(machine, "Pending", now, wait)
    if wait > 0:
        return _set_phase(machine, "Pending", now, wait)
    if machine.metadata.labels.get(NODE_LABEL) != machine.name:
        change = {
            "metadata": {"labels": {NODE_LABEL: machine.name}},
            "spec": {"providerID": f"local:///{machine.namespace}/{machine.name}"},
        }
        return Plan((Patch(_MACHINE, machine.key, change, machine.uid),))
    return _set_phase(machine, "Running", now, None)


def _delete(machine: Machine, behaviour: Behaviour, now: datetime) -> Plan:
    if names.MACHINE_FINALIZER not in machine.metadata.finalizers:
        return NOTHING
    wait = behaviour.drain - _age(machine.metadata.deletion_timestamp, now)
    if machine.status.current_status.phase != "Terminating":
        return _set_phase(machine, "Terminating", now, max(0.0, wait))
    if wait > 0:
        return Plan(requeue_after=wait)
    return Plan((remove_finalizer(_MACHINE, machine, names.MACHINE_FINALIZER),))


def _set_phase(machine: Machine, phase: str, now: datetime, requeue_after: float | None) -> Plan:
    running = phase == "Running"
    operation = "Delete" if phase == "Terminating" else "Create"
    status = {
        "node": machine.name if running else machine.status.node,
        "currentStatus": {"phase": phase, "lastUpdateTime": format_time(now)},
        "lastOperation": {
            "type": operation,
            "state": "Successful" if running else "Processing",
            "description": f"simulated: {phase}",
            "lastUpdateTime": format_time(now),
        },
    }
    change = {"status": status}
    write = Patch(_MACHINE, machine.key, change, machine.uid, subresource="status")
    return Plan((write,), requeue_after=requeue_after)


def _fail(machine: Machine, now: datetime) -> Plan:
    status = {
        "currentStatus": {"phase": "CrashLoopBackOff", "lastUpdateTime": format_time(now)},
        "lastOperation": {
            "type": "Create",
            "state": "Failed",
            "errorCode": EXHAUSTED,
            "description": "Cloud provider message - the zone has no quota left",
            "lastUpdateTime": format_time(now),
        },
    }
    write = Patch(_MACHINE, machine.key, {"status": status}, machine.uid, subresource="status")
    return Plan((write,))


def _age(stamp: str | None, now: datetime) -> float:
    try:
        return (now - parse_time(stamp or "")).total_seconds()
    except TimestampError:
        return 0.0


def _owner(
    owned: Object, model: type[MachineSet] | type[MachineDeployment], snapshot: Snapshot
) -> MachineSet | MachineDeployment | None:
    for reference in owned.metadata.owner_references:
        if reference.kind == model.__name__:
            return snapshot.get(model, ObjectKey(owned.namespace, reference.name))
    return None


def _machines_of(
    old: MachineDeployment | None, new: MachineDeployment | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Enqueue the machines of a zone whose behaviour changes."""
    before, after = (simulated(each) if each else "" for each in (old, new))
    if new is None or before == after:
        return ()
    sets = snapshot.children(MachineSet, new)
    return [each.key for owner in sets for each in snapshot.children(Machine, owner)]


MACHINE_CONTROLLER: Final = Controller(
    "dev.machines",
    Machine,
    plan_machine,
    (Watch(MachineDeployment, _machines_of),),
    reads=(MachineSet,),
    workers=4,
)
