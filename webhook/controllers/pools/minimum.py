"""Raise zones to their minimum, which cluster-autoscaler only keeps and never reaches for."""

from collections.abc import Iterator
from typing import Final

from webhook.api.extensions import Cluster
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.meta import ObjectKey
from webhook.api.poolobjects import POOL_OBJECT, PoolObject
from webhook.domain import machines, poolencoding, poolrecord, sizing, troubles
from webhook.domain.poolrecord import Record
from webhook.domain.pools import Pool, Zone
from webhook.domain.sizing import Group
from webhook.runtime.actions import Action, Patch
from webhook.state.snapshot import Snapshot

_DEPLOYMENT: Final = kind_of_model(MachineDeployment)


def plan(found: PoolObject, pool: Pool, record: Record, snapshot: Snapshot) -> tuple[Action, ...]:
    """Raise one zone: first the record says so, then the MachineDeployment, at its version.

    Nothing is ever lowered. The next zone follows when this one is seen.
    """
    if is_hibernated(pool.key.namespace, snapshot) or record.targets:
        return ()
    for zone, size in _lacking(pool, record, snapshot):
        aimed = poolrecord.aim(record, zone.name, size, zone.version, snapshot.taken_at)
        change = poolencoding.change(aimed, found.namespace)
        key = ObjectKey(pool.key.namespace, zone.name)
        return (
            Patch(POOL_OBJECT, found.key, change, found.uid, found.resource_version),
            Patch(_DEPLOYMENT, key, {"spec": {"replicas": size}}, zone.uid, zone.version),
        )
    return ()


def is_hibernated(namespace: str, snapshot: Snapshot) -> bool:
    """Tell whether a shoot sleeps: its machines are gone on purpose."""
    cluster = snapshot.get(Cluster, ObjectKey("", namespace))
    shoot = cluster.spec.shoot if cluster is not None else None
    if shoot is None:
        return False
    hibernation = shoot.spec.hibernation
    return bool(hibernation is not None and hibernation.enabled) or shoot.status.hibernated


def _lacking(pool: Pool, record: Record, snapshot: Snapshot) -> Iterator[tuple[Zone, int]]:
    """List the zones below their minimum, with the size that the pool's maximum leaves them."""
    now = snapshot.taken_at
    groups = [
        Group(zone.position, zone.replicas, _is_given_up(zone.name, record, snapshot))
        for zone in pool.zones
    ]
    room = poolrecord.left(pool, record)
    for zone, bounds in zip(pool.zones, sizing.bounds(pool.definition, groups), strict=True):
        size = min(bounds.minimum, zone.replicas + room)
        if record.standing(zone.name, now) == "trial":
            size = min(size, _serving(pool, zone, snapshot) + 1)
        if size > zone.replicas and record.standing(zone.name, now) != "bad":
            yield zone, size


def _is_given_up(name: str, record: Record, snapshot: Snapshot) -> bool:
    """Tell whether others are to carry a zone's minimum: it may be back in a moment at first."""
    state, now = record.zones.get(name), snapshot.taken_at
    if state is None or record.standing(name, now) != "bad":
        return False
    options = snapshot.options.nodegroups
    bad_for = now - troubles.since(state, options)
    return bad_for.total_seconds() >= options.takeover_seconds


def _serving(pool: Pool, zone: Zone, snapshot: Snapshot) -> int:
    key = ObjectKey(pool.key.namespace, zone.name)
    deployment = snapshot.get(MachineDeployment, key)
    owned = snapshot.children(MachineSet, deployment) if deployment is not None else ()
    every = [each for owner in owned for each in snapshot.children(Machine, owner)]
    return sum(machines.is_available(each) for each in every)
