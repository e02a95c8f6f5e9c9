"""A pool's zones as node groups: bounds, members and instances as an autoscaler sees them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, NamedTuple, TypeAlias

from webhook.api import names
from webhook.api.machines import Machine, MachineDeployment
from webhook.domain import machines, sizing
from webhook.domain.poolrecord import Record, Standing, parse_instant
from webhook.domain.pools import Pool, Zone
from webhook.domain.sizing import Bounds

State: TypeAlias = Literal["running", "creating", "deleting"]

PREFIX: Final = "espalier:///"
"""What ids begin with that we gave, before the infrastructure gave its own."""


class Member(NamedTuple):
    """A machine of a zone, and whether somebody has already asked for its removal."""

    machine: Machine
    is_doomed: bool

    @property
    def id(self) -> str:
        """The id of its instance: that of the infrastructure, as soon as there is one."""
        machine = self.machine
        return machine.spec.provider_id or f"{PREFIX}{machine.namespace}/{machine.name}"

    @property
    def has_joined(self) -> bool:
        return machines.has_joined(self.machine)


class Instance(NamedTuple):
    """One desired replica, or a machine that goes."""

    id: str
    state: State
    error_code: str = ""
    error_message: str = ""


class Placeholder(NamedTuple):
    """A replica that has no machine yet, as its id says."""

    namespace: str
    deployment: str
    generation: int
    number: int


@dataclass(frozen=True, slots=True)
class Group:
    """One zone of a pool."""

    pool: Pool
    zone: Zone
    bounds: Bounds
    standing: Standing
    bad_until: datetime | None
    generation: int
    members: tuple[Member, ...]
    is_rolling: bool

    @property
    def id(self) -> str:
        return f"{self.pool.key.namespace}.{self.zone.name}"

    @property
    def target(self) -> int:
        return self.zone.replicas

    @property
    def present(self) -> int:
        """How many machines stand for a replica."""
        return sum(not member.is_doomed for member in self.members)

    @property
    def ready(self) -> int:
        """How many machines serve."""
        return sum(machines.is_available(member.machine) for member in self.members)

    @property
    def missing(self) -> int:
        """How many replicas have no machine yet."""
        return max(0, self.target - self.present)

    @property
    def debug(self) -> str:
        """Describe the group for logs."""
        pool = self.pool
        place = f"zone {self.zone.position + 1} of {pool.zone_count}"
        return f"pool {pool.key.name}, {place}, {pool.strategy}, {self.standing}"

    def is_open(self, placeholder: Placeholder) -> bool:
        """Tell whether a placeholder still stands for a replica without a machine."""
        return (
            placeholder.generation == self.generation
            and self.present < placeholder.number <= self.target
        )

    def instances(self) -> Iterable[Instance]:
        """List an instance for every desired replica, and for every machine that goes.

        Placeholders are named after the generation, which rises with each change of the size, and
        after their place behind the machines, so none is used twice.
        """
        for member in self.members:
            yield _instance(member)
        key = f"{PREFIX}{self.pool.key.namespace}/{self.zone.name}/{self.generation}"
        for number in range(self.present + 1, self.target + 1):
            yield Instance(f"{key}-{number}", "creating")


def parse_placeholder(text: str) -> Placeholder | None:
    """Read the id of a placeholder; None if it is none."""
    parts = text.removeprefix(PREFIX).split("/")
    if not text.startswith(PREFIX) or len(parts) != 3:
        return None
    generation, dash, number = parts[2].partition("-")
    if not dash or not generation.isdecimal() or not number.isdecimal():
        return None
    return Placeholder(parts[0], parts[1], int(generation), int(number))


def parse_machine(text: str) -> tuple[str, str] | None:
    """Read the id that a machine had from us: its namespace and name; None if it is none."""
    parts = text.removeprefix(PREFIX).split("/")
    return (parts[0], parts[1]) if text.startswith(PREFIX) and len(parts) == 2 else None


def doomed(deployment: MachineDeployment) -> frozenset[str]:
    """Name the machines that a MachineDeployment says are to be removed."""
    text = deployment.metadata.annotations.get(names.TRIGGER_DELETION, "")
    return frozenset(entry.partition("~")[0] for entry in text.split(",") if entry)


def members_of(deployment: MachineDeployment, found: Iterable[Machine]) -> tuple[Member, ...]:
    """Tell which machines of a zone stay and which go, oldest first."""
    named = doomed(deployment)
    return tuple(
        Member(machine, machine.name in named or machines.is_going(machine))
        for machine in sorted(
            found, key=lambda each: (each.metadata.creation_timestamp or "", each.name)
        )
    )


def is_rolling(members: Iterable[Member]) -> bool:
    """Tell whether a zone has machines of two templates: of two sets, that is."""
    owners = set()
    for member in members:
        owner = member.machine.controller
        if owner is not None and not machines.is_going(member.machine):
            owners.add(owner.uid)
    return len(owners) > 1


def form(
    pool: Pool,
    record: Record,
    deployments: Mapping[str, MachineDeployment],
    crews: Mapping[str, Sequence[Member]],
    now: datetime,
) -> tuple[Group, ...]:
    """Make the groups of a pool, in the order of its zones.

    A zone whose machines are of two templates gets its size as minimum: taking machines away from
    it would disturb the update. That holds even where the maximum is smaller. A zone on trial may
    have one machine more than have joined.
    """
    standings = {zone.name: record.standing(zone.name, now) for zone in pool.zones}
    sized = sizing.bounds(
        pool.definition,
        [
            sizing.Group(zone.position, zone.replicas, standings[zone.name] == "bad")
            for zone in pool.zones
        ],
    )
    groups = []
    for zone, bounds in zip(pool.zones, sized, strict=True):
        members = tuple(crews.get(zone.name, ()))
        rolling = is_rolling(members)
        standing = standings[zone.name]
        if standing == "trial" and pool.is_adaptive:
            joined = sum(member.has_joined and not member.is_doomed for member in members)
            bounds = _tried(bounds, joined + 1)
        if rolling and zone.name not in record.held_out:
            bounds = bounds._replace(minimum=zone.replicas)
        until = _bad_until(record, zone.name, now)
        generation = deployments[zone.name].metadata.generation
        groups.append(Group(pool, zone, bounds, standing, until, generation, members, rolling))
    return tuple(groups)


def _bad_until(record: Record, zone: str, now: datetime) -> datetime | None:
    """Tell when a bad zone will be tried again; None where time alone does not decide that."""
    state = record.zones.get(zone)
    until = parse_instant(state.until) if state is not None else now
    return until if until > now else None


def _tried(bounds: Bounds, most: int) -> Bounds:
    maximum = min(bounds.maximum, most)
    return Bounds(min(bounds.minimum, maximum), maximum)


def _instance(member: Member) -> Instance:
    operation = member.machine.status.last_operation
    if member.is_doomed:
        return Instance(member.id, "deleting")
    if member.has_joined:
        return Instance(member.id, "running")
    if machines.lacks_resources(operation):
        message = operation.description or "the zone has no machines of this type left"
        return Instance(member.id, "creating", operation.error_code, message)
    return Instance(member.id, "creating")
