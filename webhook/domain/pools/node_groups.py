"""The zones of a pool as node groups of cluster-autoscaler: bounds, members and instances."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias

from webhook.api import names
from webhook.api.machines import Machine, MachineDeployment
from webhook.domain.pools import machines, sizing
from webhook.domain.pools.discovery import Pool, PoolZone
from webhook.domain.pools.pool_record import PoolRecord, ZoneHealth, parse_instant
from webhook.domain.pools.sizing import Bounds

State: TypeAlias = Literal["running", "creating", "deleting"]

PREFIX: Final = "espalier:///"
"""The prefix of our own instance ids, used until the infrastructure assigns one."""


class GroupMember(NamedTuple):
    """A machine of a zone, and whether it is being removed or marked for removal."""

    machine: Machine
    is_terminating: bool

    @property
    def id(self) -> str:
        """The id of its instance: that of the infrastructure once it exists, ours before."""
        machine = self.machine
        return machine.spec.provider_id or f"{PREFIX}{machine.namespace}/{machine.name}"

    @property
    def has_joined(self) -> bool:
        return machines.has_joined(self.machine)


class Instance(NamedTuple):
    """One desired replica, or a machine that is being removed."""

    id: str
    state: State
    error_code: str = ""
    error_message: str = ""


class Placeholder(NamedTuple):
    """A replica without a machine, parsed from its id."""

    namespace: str
    deployment: str
    generation: int
    number: int


@dataclass(frozen=True, slots=True)
class ZoneGroup:
    """The node group of one zone of a pool."""

    pool: Pool
    zone: PoolZone
    bounds: Bounds
    health: ZoneHealth
    bad_until: datetime | None
    generation: int
    members: tuple[GroupMember, ...]
    is_rolling: bool

    @property
    def id(self) -> str:
        return f"{self.pool.key.namespace}.{self.zone.name}"

    @property
    def target(self) -> int:
        return self.zone.replicas

    @property
    def present(self) -> int:
        """The number of machines that count as replicas."""
        return sum(not member.is_terminating for member in self.members)

    @property
    def ready(self) -> int:
        """The number of available machines."""
        return count_ready(self.members)

    @property
    def missing(self) -> int:
        """The number of replicas without a machine."""
        return max(0, self.target - self.present)

    @property
    def debug(self) -> str:
        """A description of the group for logs."""
        pool = self.pool
        place = f"zone {self.zone.position + 1} of {pool.zone_count}"
        return f"pool {pool.key.name}, {place}, {pool.strategy}, {self.health}"

    def is_open(self, placeholder: Placeholder) -> bool:
        """Return whether a placeholder still is a replica without a machine."""
        return (
            placeholder.generation == self.generation
            and self.present < placeholder.number <= self.target
        )

    def instances(self) -> Iterable[Instance]:
        """Yield an instance for every desired replica, and for every machine being removed.

        The id of a placeholder contains the generation, which increases with each change of the
        size, and its number after the machines, so no id is used twice.
        """
        for member in self.members:
            yield _instance(member)
        key = f"{PREFIX}{self.pool.key.namespace}/{self.zone.name}/{self.generation}"
        for number in range(self.present + 1, self.target + 1):
            yield Instance(f"{key}-{number}", "creating")


def parse_placeholder(text: str) -> Placeholder | None:
    """Parse the id of a placeholder; None for any other id."""
    parts = text.removeprefix(PREFIX).split("/")
    if not text.startswith(PREFIX) or len(parts) != 3:
        return None
    generation, dash, number = parts[2].partition("-")
    if not dash or not generation.isdecimal() or not number.isdecimal():
        return None
    return Placeholder(parts[0], parts[1], int(generation), int(number))


def parse_machine(text: str) -> tuple[str, str] | None:
    """Parse our own id of a machine into namespace and name; None for any other id."""
    parts = text.removeprefix(PREFIX).split("/")
    return (parts[0], parts[1]) if text.startswith(PREFIX) and len(parts) == 2 else None


def machines_to_delete(deployment: MachineDeployment) -> frozenset[str]:
    """Return the machines that a MachineDeployment marks for removal."""
    text = deployment.metadata.annotations.get(names.TRIGGER_DELETION, "")
    return frozenset(entry.partition("~")[0] for entry in text.split(",") if entry)


def members_of(deployment: MachineDeployment, found: Iterable[Machine]) -> tuple[GroupMember, ...]:
    """Return the members of a zone, oldest first."""
    marked = machines_to_delete(deployment)
    return tuple(
        GroupMember(machine, machine.name in marked or machines.is_terminating(machine))
        for machine in sorted(
            found, key=lambda each: (each.metadata.creation_timestamp or "", each.name)
        )
    )


def count_ready(members: Iterable[GroupMember]) -> int:
    """Return the number of available machines."""
    return sum(machines.is_available(member.machine) for member in members)


def is_rolling(members: Iterable[GroupMember]) -> bool:
    """Return whether a zone has machines of several machine sets."""
    owners = set()
    for member in members:
        owner = member.machine.controller
        if owner is not None and not machines.is_terminating(member.machine):
            owners.add(owner.uid)
    return len(owners) > 1


def build_groups(
    pool: Pool,
    record: PoolRecord,
    deployments: Mapping[str, MachineDeployment],
    members_by_zone: Mapping[str, Sequence[GroupMember]],
    now: datetime,
) -> tuple[ZoneGroup, ...]:
    """Return the node groups of a pool, in the order of its zones.

    The minimum of a zone that is being updated is its size, even above the maximum: removing
    machines would disturb the update. A zone on trial may have one machine more than have joined.
    """
    health_by_zone = {zone.name: record.zone_health(zone.name, now) for zone in pool.zones}
    sizes = []
    for zone in pool.zones:
        is_bad = health_by_zone[zone.name] == "bad"
        kept = [each for each in members_by_zone.get(zone.name, ()) if not each.is_terminating]
        joined = count_ready(kept) if record.is_tried_again(zone.name, now) else None
        sizes.append(sizing.ZoneSize(zone.position, zone.replicas, is_bad, joined))
    sized = sizing.bounds(pool.bounds, sizes)
    groups = []
    for zone, bounds in zip(pool.zones, sized, strict=True):
        members = tuple(members_by_zone.get(zone.name, ()))
        rolling = is_rolling(members)
        health = health_by_zone[zone.name]
        if health == "trial" and pool.is_adaptive:
            joined = sum(member.has_joined and not member.is_terminating for member in members)
            bounds = _on_trial(bounds, joined + 1)
        if rolling and zone.name not in record.held_out:
            bounds = bounds._replace(minimum=zone.replicas)
        until = _bad_until(record, zone.name, now)
        generation = deployments[zone.name].metadata.generation
        groups.append(ZoneGroup(pool, zone, bounds, health, until, generation, members, rolling))
    return tuple(groups)


def _bad_until(record: PoolRecord, zone: str, now: datetime) -> datetime | None:
    """Return until when a zone is avoided; None if it is not, or not for a known time."""
    state = record.zones.get(zone)
    until = parse_instant(state.until) if state is not None else now
    return until if until > now else None


def _on_trial(bounds: Bounds, limit: int) -> Bounds:
    maximum = min(bounds.maximum, limit)
    return Bounds(min(bounds.minimum, maximum), maximum)


def _instance(member: GroupMember) -> Instance:
    operation = member.machine.status.last_operation
    if member.is_terminating:
        return Instance(member.id, "deleting")
    if member.has_joined:
        return Instance(member.id, "running")
    if machines.is_resource_exhausted(operation):
        message = operation.description or "the zone has no machines of this type left"
        return Instance(member.id, "creating", operation.error_code, message)
    return Instance(member.id, "creating")
