"""Triggers machine-controller-manager for zones that wait for a permit which is free now.

It accepts a smaller size than it requested and does not retry. A label on the MachineDeployment
makes it reconcile again. Each of our writes may cause it a conflict, so a zone is nudged only when
something changed since the last nudge, or after a while.
"""

import hashlib
from datetime import datetime, timedelta
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.machines import MachineDeployment
from webhook.domain.pools import machine_sets, permits
from webhook.domain.pools.discovery import Pool
from webhook.domain.pools.permits import SizeRequest, ZoneMachines
from webhook.domain.pools.pool_record import PoolRecord
from webhook.runtime.actions import NOTHING, Patch, Plan
from webhook.state import worker_pools
from webhook.state.snapshot import Snapshot

MIN_INTERVAL: Final = timedelta(seconds=0.3)
"""The shortest time between two nudges of a zone, which the manager needs for its work."""
MAX_INTERVAL: Final = timedelta(seconds=10)
"""After this time a zone that could still proceed is nudged again."""

_DEPLOYMENT: Final = kind_of_model(MachineDeployment)


def plan_nudge(deployment: MachineDeployment, snapshot: Snapshot) -> Plan:
    """Set the label on a zone that waits and could proceed."""
    if deployment.is_deleting:
        return NOTHING
    pool = worker_pools.pool_of(deployment, snapshot)
    if pool is None or not pool.is_adaptive:
        return NOTHING
    record = worker_pools.record_of(pool.key, snapshot)
    zones = worker_pools.zones_of(pool, record, snapshot)
    zone = next(each for each in zones if each.name == deployment.name)
    newest = machine_sets.newest(
        each
        for each in worker_pools.sets_of(pool, snapshot)
        if machine_sets.deployment_of(each) == deployment.name
    )
    uid = machine_sets.identity(newest) if newest is not None else ""
    if not may_proceed(pool, zones, record, zone, uid):
        return NOTHING
    return _nudge(deployment, _digest(zones, record), snapshot.taken_at)


def may_proceed(
    pool: Pool, zones: tuple[ZoneMachines, ...], record: PoolRecord, zone: ZoneMachines, newest: str
) -> bool:
    """Return whether a zone has not reached its size and the pool has a permit for a step."""
    sizes = {each.uid: each.size for each in zone.sets if each.size}
    if sum(sizes.values()) == zone.replicas and {*sizes} <= {newest}:
        return False
    granted = machine_sets.granted_sizes(record)
    for each in zone.sets:
        is_newest = each.uid == newest
        if is_newest and each.size < zone.replicas:
            request = SizeRequest(zone.name, each.uid, each.size, each.size + 1)
            if permits.permit_size(pool.permits, zones, granted, request).size > each.size:
                return True
        if each.size and (not is_newest or each.size > zone.replicas):
            request = SizeRequest(zone.name, each.uid, each.size, each.size - 1)
            if permits.permit_size(pool.permits, zones, granted, request).size < each.size:
                return True
    return not zone.sets and zone.replicas > 0


def _nudge(deployment: MachineDeployment, digest: str, now: datetime) -> Plan:
    last, _, last_digest = deployment.metadata.labels.get(names.NUDGE, "").partition("-")
    nudged = datetime.fromtimestamp(int(last) / 1000, now.tzinfo) if last.isdigit() else None
    wait = MIN_INTERVAL if last_digest != digest else MAX_INTERVAL
    if nudged is not None and now < nudged + wait:
        return Plan(requeue_after=(nudged + wait - now).total_seconds())
    value = f"{int(now.timestamp() * 1000)}-{digest}"
    change = {"metadata": {"labels": {names.NUDGE: value}}}
    write = Patch(_DEPLOYMENT, deployment.key, change, deployment.uid)
    return Plan((write,), requeue_after=MAX_INTERVAL.total_seconds())


def _digest(zones: tuple[ZoneMachines, ...], record: PoolRecord) -> str:
    state = repr((zones, sorted(machine_sets.granted_sizes(record).items())))
    return hashlib.sha256(state.encode()).hexdigest()[:10]
