"""Machines of the local provider: they join after a while, drain when they go, or cannot be had.

What a driver of machine-controller-manager would do to Machines, without any machine. The
annotation `espalier.gardener.cloud/simulate` of a MachineDeployment says how its zone behaves, as
words separated by commas: `no-quota`, `never-ready`, `join=SECONDS`, `drain=SECONDS`.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.meta import Object, ObjectKey
from webhook.api.timestamps import TimestampError, format_time, parse_time
from webhook.domain.machines import EXHAUSTED, NODE_LABEL
from webhook.runtime.actions import NOTHING, Patch, Plan
from webhook.runtime.rows import Controller, Watch
from webhook.state.snapshot import Snapshot

JOIN_SECONDS: Final = 0.5
DRAIN_SECONDS: Final = 0.3
LONGEST_DRAIN: Final = 60.0
NO_QUOTA: Final = "no-quota"
NEVER_READY: Final = "never-ready"

_MACHINE: Final = kind_of_model(Machine)


class Behaviour(NamedTuple):
    """How the machines of a zone behave."""

    join: float = JOIN_SECONDS
    drain: float = DRAIN_SECONDS
    words: frozenset[str] = frozenset()


def plan_machine(machine: Machine, snapshot: Snapshot) -> Plan:
    """Do the next thing that a driver would do to a machine."""
    behaviour = behaviour_of(machine, snapshot)
    if machine.is_deleting:
        return _let_go(machine, behaviour, snapshot.taken_at)
    if names.MACHINE_FINALIZER not in machine.metadata.finalizers:
        finalizers = [*machine.metadata.finalizers, names.MACHINE_FINALIZER]
        change = {"metadata": {"finalizers": finalizers}}
        return Plan((Patch(_MACHINE, machine.key, change, machine.uid, machine.resource_version),))
    return _bring_up(machine, behaviour, snapshot.taken_at)


def behaviour_of(machine: Machine, snapshot: Snapshot) -> Behaviour:
    """Read how the zone of a machine behaves."""
    owner = _owner(machine, MachineSet, snapshot)
    deployment = _owner(owner, MachineDeployment, snapshot) if owner is not None else None
    text = deployment.metadata.annotations.get(names.SIMULATE, "") if deployment else ""
    return read_behaviour(text)


def read_behaviour(text: str) -> Behaviour:
    """Read the annotation; what it does not say, or says badly, is as usual."""
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


def _bring_up(machine: Machine, behaviour: Behaviour, now: datetime) -> Plan:
    phase = machine.status.current_status.phase
    if phase == "Running":
        return NOTHING
    if NO_QUOTA in behaviour.words:
        return _fail(machine, now) if phase != "CrashLoopBackOff" else NOTHING
    wait = behaviour.join - _age(machine.metadata.creation_timestamp, now)
    if NEVER_READY in behaviour.words or (wait > 0 and phase == "Pending"):
        wait = 5.0 if NEVER_READY in behaviour.words else wait
        return Plan(requeue_after=wait) if phase else _be(machine, "Pending", now, wait)
    if wait > 0:
        return _be(machine, "Pending", now, wait)
    if machine.metadata.labels.get(NODE_LABEL) != machine.name:
        change = {
            "metadata": {"labels": {NODE_LABEL: machine.name}},
            "spec": {"providerID": f"local:///{machine.namespace}/{machine.name}"},
        }
        return Plan((Patch(_MACHINE, machine.key, change, machine.uid),))
    return _be(machine, "Running", now, None)


def _let_go(machine: Machine, behaviour: Behaviour, now: datetime) -> Plan:
    if names.MACHINE_FINALIZER not in machine.metadata.finalizers:
        return NOTHING
    wait = behaviour.drain - _age(machine.metadata.deletion_timestamp, now)
    if machine.status.current_status.phase != "Terminating":
        return _be(machine, "Terminating", now, max(0.0, wait))
    if wait > 0:
        return Plan(requeue_after=wait)
    left = [each for each in machine.metadata.finalizers if each != names.MACHINE_FINALIZER]
    change = {"metadata": {"finalizers": left}}
    return Plan((Patch(_MACHINE, machine.key, change, machine.uid, machine.resource_version),))


def _be(machine: Machine, phase: str, now: datetime, again: float | None) -> Plan:
    done = phase == "Running"
    operation = "Delete" if phase == "Terminating" else "Create"
    status = {
        "node": machine.name if done else machine.status.node,
        "currentStatus": {"phase": phase, "lastUpdateTime": format_time(now)},
        "lastOperation": {
            "type": operation,
            "state": "Successful" if done else "Processing",
            "description": f"played: {phase}",
            "lastUpdateTime": format_time(now),
        },
    }
    change = {"status": status}
    write = Patch(_MACHINE, machine.key, change, machine.uid, subresource="status")
    return Plan((write,), requeue_after=again)


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


def _said(deployment: MachineDeployment) -> str:
    return deployment.metadata.annotations.get(names.SIMULATE, "")


def _machines_of(
    old: MachineDeployment | None, new: MachineDeployment | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Wake the machines of a zone that begins to behave otherwise."""
    said = [
        each.metadata.annotations.get(names.SIMULATE, "") if each else "" for each in (old, new)
    ]
    if new is None or said[0] == said[1]:
        return ()
    sets = snapshot.children(MachineSet, new)
    return [each.key for owner in sets for each in snapshot.children(Machine, owner)]


MACHINES: Final = Controller(
    "dev.machines",
    Machine,
    plan_machine,
    (Watch(MachineDeployment, _machines_of),),
    reads=(MachineSet,),
    workers=4,
)
