"""The machine sets of a pool's zones, counted as permits count them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from webhook.api import names
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.domain import definitions, machines, poolrecord
from webhook.domain.definitions import DefinitionError
from webhook.domain.permits import Granted, SetState, Zone
from webhook.domain.poolrecord import Record
from webhook.domain.pools import Pool

MachinesOf: TypeAlias = Callable[[MachineSet], Sequence[Machine]]


def deployment_of(owned: MachineSet) -> str:
    """Name the MachineDeployment that a set belongs to; empty for one that stands alone."""
    for owner in owned.metadata.owner_references:
        if owner.kind == MachineDeployment.__name__:
            return owner.name
    return ""


def is_counted(deployment: MachineDeployment) -> bool:
    """Only rolling updates of adaptive pools have permits; other updates cannot wait for one."""
    if deployment.spec.strategy.type not in ("", "RollingUpdate"):
        return False
    try:
        return definitions.read(deployment).strategy == "Adaptive"
    except DefinitionError:
        return False


def identity(owned: MachineSet) -> str:
    """Tell sets apart, also one that is being made and has no uid yet."""
    return owned.uid or owned.name


def state_of(owned: MachineSet, existing: Sequence[Machine]) -> SetState:
    """Count a set's machines.

    Our cache and machine-controller-manager's own count may each be behind: the smaller number
    of those that serve counts.
    """
    serving = sum(machines.is_available(each) for each in existing)
    return SetState(
        identity(owned),
        owned.spec.replicas,
        min(serving, owned.status.available_replicas),
        max(len(existing), owned.status.replicas),
    )


def by_deployment(sets: Iterable[MachineSet]) -> Mapping[str, list[MachineSet]]:
    """Group sets by the MachineDeployment that they belong to."""
    found: dict[str, list[MachineSet]] = {}
    for each in sets:
        found.setdefault(deployment_of(each), []).append(each)
    return found


def zones(
    pool: Pool, sets: Iterable[MachineSet], machines_of: MachinesOf, record: Record, now: datetime
) -> tuple[Zone, ...]:
    """Count a whole pool, zone by zone."""
    grouped = by_deployment(sets)
    found = []
    for zone in pool.zones:
        states = tuple(state_of(each, machines_of(each)) for each in grouped.get(zone.name, ()))
        held = is_held(zone.name, states, record, now)
        found.append(Zone(zone.name, zone.replicas, states, held))
    return tuple(found)


def is_held(name: str, states: Sequence[SetState], record: Record, now: datetime) -> bool:
    """Tell whether a zone gets no surge: it was held out, lacks resources, or is being tried.

    A zone on trial shows with one machine that it can have machines again.
    """
    if name in record.held_out:
        return True
    standing = record.standing(name, now)
    waits = any(each.size > each.available for each in states)
    return standing == "bad" or (standing == "trial" and waits)


def granted(record: Record) -> Mapping[str, Granted]:
    """Read the grants of a record."""
    return {uid: Granted(grant.zone, grant.size) for uid, grant in record.grants.items()}


def newest(sets: Iterable[MachineSet]) -> MachineSet | None:
    """Find the set of the present template: the one with the highest revision."""
    return max(sets, key=_revision, default=None)


def _revision(owned: MachineSet) -> tuple[int, str]:
    text = owned.metadata.annotations.get(names.REVISION, "")
    number = int(text) if text.isascii() and text.isdigit() else 0
    return number, owned.metadata.creation_timestamp or ""


def settle(record: Record, sets: Iterable[MachineSet], now: datetime) -> Record:
    """Drop the grants that have come true or never will.

    A set that is seen at the size granted needs no grant any more, and whoever counts from now on
    must have seen it so. One that is not there may not be made yet: its grant goes with time. A
    set has no uid while it is being made, so its first grant is by name.
    """
    record = poolrecord.drop_grants(record, poolrecord.stale_grants(record, now))
    for owned in sets:
        if owned.name in record.grants:
            record = _by_uid(record, owned)
        grant = record.grants.get(owned.uid)
        if grant is not None and grant.size == owned.spec.replicas:
            record = poolrecord.drop_grants(record, [owned.uid])
            record = poolrecord.see(record, MachineSet.__name__, owned.resource_version)
    return record


def _by_uid(record: Record, owned: MachineSet) -> Record:
    grants = {**record.grants}
    first = grants.pop(owned.name)
    return replace(record, grants={owned.uid: first, **grants})
