"""The scale-down of a node group: the machines to remove, and the patch that removes them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from webhook.api import names
from webhook.api.machines import MachineDeployment
from webhook.domain.pools.node_groups import (
    GroupMember,
    ZoneGroup,
    parse_machine,
    parse_placeholder,
)
from webhook.kube import timestamps
from webhook.kube.meta import Draft


class ForeignNodeError(Exception):
    """A node of another group."""


class RollingError(Exception):
    """A node of a zone that is being updated: removing it would disturb the update.

    An error, because cluster-autoscaler then removes its taint and cordon again. The minimum of
    such a zone is its size, so it should not come to that.
    """


class ScaleDown(NamedTuple):
    """The machines to remove, and the number of replicas without a machine to remove."""

    machines: tuple[str, ...] = ()
    placeholders: int = 0

    @property
    def total(self) -> int:
        return len(self.machines) + self.placeholders


def for_nodes(group: ZoneGroup, ids: Iterable[str], owners: Mapping[str, str]) -> ScaleDown:
    """Return what to remove for some nodes; raises ForeignNodeError or RollingError.

    Machines that are gone or being removed, and placeholders that have a machine by now, are
    ignored: the request is fulfilled or outdated.
    """
    removed: dict[str, None] = {}
    placeholders: set[str] = set()
    for each in ids:
        owner = owners.get(each, group.id)
        if owner != group.id:
            raise ForeignNodeError(f"node {each} is of group {owner}, not of {group.id}")
        member = _find(group, each)
        if member is not None:
            if member.is_terminating:
                continue
            if group.is_rolling and member.has_joined:
                raise RollingError(
                    f"machine {member.machine.name} is a Node of {group.id},"
                    " which is being updated; try again after the update"
                )
            removed[member.machine.name] = None
        elif _is_open(group, each):
            placeholders.add(each)
    return ScaleDown(tuple(removed), len(placeholders))


def for_count(group: ZoneGroup, count: int) -> ScaleDown:
    """Return what to remove for a smaller target: only what is no Node yet, placeholders first."""
    placeholders = min(count, group.missing)
    not_joined = [
        member.machine.name
        for member in reversed(group.members)
        if not member.is_terminating and not member.has_joined
    ]
    return ScaleDown(tuple(not_joined[: count - placeholders]), placeholders)


def patch_for(deployment: MachineDeployment, chosen: ScaleDown, now: datetime) -> Draft:
    """Return the patch with the smaller size, its time and the machines to remove."""
    time = timestamps.format_time(now)
    annotations = {names.LAST_SCALED: time}
    if chosen.machines:
        marked = deployment.metadata.annotations.get(names.TRIGGER_DELETION, "")
        entries = [entry for entry in marked.split(",") if entry]
        entries += [f"{machine}~{time}" for machine in chosen.machines]
        annotations[names.TRIGGER_DELETION] = ",".join(entries)
    return {
        "metadata": {
            "resourceVersion": deployment.resource_version,
            "annotations": annotations,
        },
        "spec": {"replicas": max(0, deployment.spec.replicas - chosen.total)},
    }


def _find(group: ZoneGroup, instance: str) -> GroupMember | None:
    named = parse_machine(instance)
    for member in group.members:
        machine = member.machine
        if instance == member.id or named == (machine.namespace, machine.name):
            return member
    return None


def _is_open(group: ZoneGroup, instance: str) -> bool:
    placeholder = parse_placeholder(instance)
    if placeholder is None:
        return False
    own = (group.pool.key.namespace, group.zone.name)
    if (placeholder.namespace, placeholder.deployment) != own:
        raise ForeignNodeError(f"node {instance} is not of group {group.id}")
    return group.is_open(placeholder)
