"""Which machines a smaller size takes, and how machine-controller-manager is told so."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from webhook.api import names, timestamps
from webhook.api.machines import MachineDeployment
from webhook.api.meta import Draft
from webhook.domain.groups import Group, Member, parse_machine, parse_placeholder


class ForeignNodeError(Exception):
    """A node that is not of this group."""


class RollingError(Exception):
    """A live node of a zone that is being updated: taking it would disturb the update."""


class Lowering(NamedTuple):
    """Machines to be removed by name, and replicas to be given up that have none yet."""

    machines: tuple[str, ...] = ()
    unmade: int = 0

    @property
    def total(self) -> int:
        return len(self.machines) + self.unmade


def for_nodes(group: Group, ids: Iterable[str], owners: Mapping[str, str]) -> Lowering:
    """Choose what deleting nodes takes; raises ForeignNodeError or RollingError.

    A machine that is gone, going or already named, and a placeholder whose machine has come
    since, take nothing: what was asked for has happened, or no longer makes sense.
    """
    taken: dict[str, None] = {}
    unmade: set[str] = set()
    for each in ids:
        owner = owners.get(each, group.id)
        if owner != group.id:
            raise ForeignNodeError(f"node {each} is of group {owner}, not of {group.id}")
        member = _find(group, each)
        if member is not None:
            if member.is_doomed:
                continue
            if group.is_rolling and member.has_joined:
                raise RollingError(
                    f"machine {member.machine.name} is a Node of {group.id},"
                    " which is being updated; try again after the update"
                )
            taken[member.machine.name] = None
        elif _is_open(group, each):
            unmade.add(each)
    return Lowering(tuple(taken), len(unmade))


def for_count(group: Group, count: int) -> Lowering:
    """Choose what a smaller target takes: only what is no Node yet, unmade replicas first."""
    unmade = min(count, group.missing)
    unborn = [
        member.machine.name
        for member in reversed(group.members)
        if not member.is_doomed and not member.has_joined
    ]
    return Lowering(tuple(unborn[: count - unmade]), unmade)


def patch_for(deployment: MachineDeployment, lowering: Lowering, now: datetime) -> Draft:
    """Write a smaller size, its time and the machines to go, in one change of a version."""
    time = timestamps.format_time(now)
    annotations = {names.LAST_SCALED: time}
    if lowering.machines:
        named = deployment.metadata.annotations.get(names.TRIGGER_DELETION, "")
        entries = [entry for entry in named.split(",") if entry]
        entries += [f"{machine}~{time}" for machine in lowering.machines]
        annotations[names.TRIGGER_DELETION] = ",".join(entries)
    return {
        "metadata": {
            "resourceVersion": deployment.resource_version,
            "annotations": annotations,
        },
        "spec": {"replicas": max(0, deployment.spec.replicas - lowering.total)},
    }


def _find(group: Group, instance: str) -> Member | None:
    named = parse_machine(instance)
    for member in group.members:
        machine = member.machine
        if instance == member.id or named == (machine.namespace, machine.name):
            return member
    return None


def _is_open(group: Group, instance: str) -> bool:
    placeholder = parse_placeholder(instance)
    if placeholder is None:
        return False
    ours = (group.pool.key.namespace, group.zone.name)
    if (placeholder.namespace, placeholder.deployment) != ours:
        raise ForeignNodeError(f"node {instance} is not of group {group.id}")
    return group.is_open(placeholder)
