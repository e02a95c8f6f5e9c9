"""The machine sets of a pool's zones, as permits count them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeAlias

from webhook.api import names
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.domain.pools import machines, pool_definition, pool_record
from webhook.domain.pools.discovery import Pool
from webhook.domain.pools.permits import GrantedSize, SetState, ZoneMachines
from webhook.domain.pools.pool_definition import PoolDefinitionError
from webhook.domain.pools.pool_record import PoolRecord

MachinesOf: TypeAlias = Callable[[MachineSet], Sequence[Machine]]


def deployment_of(owned: MachineSet) -> str:
    """Return the MachineDeployment that owns a set; empty without one."""
    for owner in owned.metadata.owner_references:
        if owner.kind == MachineDeployment.__name__:
            return owner.name
    return ""


def has_permits(deployment: MachineDeployment) -> bool:
    """Return whether updates need permits: rolling ones of adaptive pools; others cannot wait."""
    if deployment.spec.strategy.type not in ("", "RollingUpdate"):
        return False
    try:
        return pool_definition.read(deployment).strategy == "Adaptive"
    except PoolDefinitionError:
        return False


def identity(owned: MachineSet) -> str:
    """Return the uid of a set, or its name while it is being created and has none."""
    return owned.uid or owned.name


def state_of(owned: MachineSet, existing: Sequence[Machine]) -> SetState:
    """Count a set's machines.

    Our cache and the status of machine-controller-manager may both be outdated: the smaller number
    of available machines counts.
    """
    available = sum(machines.is_available(each) for each in existing)
    return SetState(
        identity(owned),
        owned.spec.replicas,
        min(available, owned.status.available_replicas),
        max(len(existing), owned.status.replicas),
    )


def by_deployment(sets: Iterable[MachineSet]) -> Mapping[str, list[MachineSet]]:
    """Group sets by their MachineDeployment."""
    found: dict[str, list[MachineSet]] = {}
    for each in sets:
        found.setdefault(deployment_of(each), []).append(each)
    return found


def count_zones(
    pool: Pool,
    sets: Iterable[MachineSet],
    machines_of: MachinesOf,
    record: PoolRecord,
    now: datetime,
) -> tuple[ZoneMachines, ...]:
    """Count the machines of each zone of a pool."""
    grouped = by_deployment(sets)
    found = []
    for zone in pool.zones:
        states = tuple(state_of(each, machines_of(each)) for each in grouped.get(zone.name, ()))
        held = is_held(zone.name, states, record, now)
        found.append(ZoneMachines(zone.name, zone.replicas, states, held))
    return tuple(found)


def is_held(name: str, states: Sequence[SetState], record: PoolRecord, now: datetime) -> bool:
    """Return whether a zone gets no surge: it is held out, lacks resources, or is on trial.

    On trial, one machine has to join before the zone gets more.
    """
    if name in record.held_out:
        return True
    zone_health = record.zone_health(name, now)
    is_waiting = any(each.size > each.available for each in states)
    return zone_health == "bad" or (zone_health == "trial" and is_waiting)


def granted_sizes(record: PoolRecord) -> Mapping[str, GrantedSize]:
    """Return the granted sizes of a record by set."""
    return {uid: GrantedSize(grant.zone, grant.size) for uid, grant in record.grants.items()}


def newest(sets: Iterable[MachineSet]) -> MachineSet | None:
    """Return the set of the current template, the one with the highest revision."""
    return max(sets, key=_revision, default=None)


def _revision(owned: MachineSet) -> tuple[int, str]:
    text = owned.metadata.annotations.get(names.REVISION, "")
    number = int(text) if text.isascii() and text.isdigit() else 0
    return number, owned.metadata.creation_timestamp or ""


def drop_fulfilled_grants(
    record: PoolRecord, sets: Iterable[MachineSet], now: datetime
) -> PoolRecord:
    """Drop the grants that are fulfilled or too old.

    The grant of a set that is seen at the granted size is no longer needed; from then on, counting
    requires a cache that has seen the set so. A set that does not exist may still be created, so
    its grant expires with time. Its first grant is by name, because it has no uid then.
    """
    record = pool_record.drop_grants(record, pool_record.stale_grants(record, now))
    for owned in sets:
        if owned.name in record.grants:
            record = _rekey_by_uid(record, owned)
        grant = record.grants.get(owned.uid)
        if grant is not None and grant.size == owned.spec.replicas:
            record = pool_record.drop_grants(record, [owned.uid])
            record = pool_record.raise_seen_through(
                record, MachineSet.__name__, owned.resource_version
            )
    return record


def _rekey_by_uid(record: PoolRecord, owned: MachineSet) -> PoolRecord:
    grants = {**record.grants}
    first = grants.pop(owned.name)
    return replace(record, grants={owned.uid: first, **grants})
