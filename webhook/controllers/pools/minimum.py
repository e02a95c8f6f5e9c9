"""Raises zones to their minimum: cluster-autoscaler never scales below it, but not up to it."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from webhook.api.extensions import Cluster
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.pool_records import POOL_RECORD, PoolRecordObject
from webhook.domain.pools import (
    machines,
    node_groups,
    pool_record,
    record_encoding,
    sizing,
    zone_backoff,
)
from webhook.domain.pools.discovery import Pool, PoolZone
from webhook.domain.pools.pool_record import PoolRecord
from webhook.domain.pools.sizing import ZoneSize
from webhook.kube.meta import ObjectKey
from webhook.runtime.actions import Action, Patch
from webhook.state.snapshot import Snapshot

_DEPLOYMENT: Final = kind_of_model(MachineDeployment)


def plan(
    found: PoolRecordObject, pool: Pool, record: PoolRecord, snapshot: Snapshot
) -> tuple[Action, ...]:
    """Raise one zone to its minimum.

    Nothing is ever lowered. The next zone follows once this write is observed.
    """
    if is_hibernated(pool.key.namespace, snapshot) or record.targets:
        return ()
    for zone, size in _below_minimum(pool, record, snapshot):
        return raise_zone(found, record, zone, size, snapshot.taken_at)
    return ()


def raise_zone(
    found: PoolRecordObject, record: PoolRecord, zone: PoolZone, size: int, now: datetime
) -> tuple[Action, ...]:
    """Record the target of a zone, then patch its MachineDeployment at its version."""
    aimed = pool_record.add_target(record, zone.name, size, zone.version, now)
    change = record_encoding.merge_patch(aimed, found.namespace)
    key = ObjectKey(record.key.namespace, zone.name)
    return (
        Patch(POOL_RECORD, found.key, change, found.uid, found.resource_version),
        Patch(_DEPLOYMENT, key, {"spec": {"replicas": size}}, zone.uid, zone.version),
    )


def is_hibernated(namespace: str, snapshot: Snapshot) -> bool:
    """Return whether a shoot is hibernated and has no machines on purpose."""
    cluster = snapshot.get(Cluster, ObjectKey("", namespace))
    shoot = cluster.spec.shoot if cluster is not None else None
    if shoot is None:
        return False
    hibernation = shoot.spec.hibernation
    return bool(hibernation is not None and hibernation.enabled) or shoot.status.hibernated


def _below_minimum(
    pool: Pool, record: PoolRecord, snapshot: Snapshot
) -> Iterator[tuple[PoolZone, int]]:
    """List the zones below their minimum, with the size that the pool's maximum leaves them.

    A zone that is tried again gets one machine at a time, up to its own share. It comes last: its
    machine may fail, and the others keep its share until then.
    """
    now = snapshot.taken_at
    available = {zone.name: _available(pool, zone, snapshot) for zone in pool.zones}
    sized = sizing.bounds(pool.bounds, _zone_sizes(pool, record, available, snapshot))
    room = pool_record.remaining_size(pool, record)
    tried = [zone for zone in pool.zones if record.is_tried_again(zone.name, now)]
    wanted = [
        (zone, bounds.minimum)
        for zone, bounds in zip(pool.zones, sized, strict=True)
        if zone not in tried and record.zone_health(zone.name, now) != "bad"
    ]
    for zone in tried:
        share = sizing.distribute(zone.position, pool.minimum, pool.zone_count)
        wanted.append((zone, min(share, available[zone.name] + 1)))
    for zone, minimum in wanted:
        size = min(minimum, zone.replicas + room)
        if size > zone.replicas:
            yield zone, size


def _zone_sizes(
    pool: Pool, record: PoolRecord, available: Mapping[str, int], snapshot: Snapshot
) -> list[ZoneSize]:
    """Return the zones for their bounds; a backoff counts once others take over."""
    now = snapshot.taken_at
    found = []
    for zone in pool.zones:
        is_taken_over = _is_taken_over(zone.name, record, snapshot)
        is_bad = record.zone_health(zone.name, now) == "bad"
        joined = available[zone.name] if is_taken_over and not is_bad else None
        found.append(ZoneSize(zone.position, zone.replicas, is_taken_over and is_bad, joined))
    return found


def _is_taken_over(name: str, record: PoolRecord, snapshot: Snapshot) -> bool:
    """Return whether other zones have taken over a zone's minimum: it was in backoff for long.

    They keep it until a machine has joined.
    """
    state, now = record.zones.get(name), snapshot.taken_at
    is_bad = record.zone_health(name, now) == "bad"
    if state is None or not (is_bad or record.is_tried_again(name, now)):
        return False
    options = snapshot.options.nodegroups
    bad_for = now - zone_backoff.avoided_since(state, options)
    return bad_for.total_seconds() >= options.takeover_seconds


def _available(pool: Pool, zone: PoolZone, snapshot: Snapshot) -> int:
    key = ObjectKey(pool.key.namespace, zone.name)
    deployment = snapshot.get(MachineDeployment, key)
    if deployment is None:
        return 0
    owned = snapshot.children(MachineSet, deployment)
    every = [each for owner in owned for each in snapshot.children(Machine, owner)]
    marked = node_groups.machines_to_delete(deployment)
    return sum(machines.is_available(each) and each.name not in marked for each in every)
