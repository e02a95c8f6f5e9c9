"""Wake machine-controller-manager where a zone waits for a permit that is free now.

It takes a smaller size than it asked for without complaint and does not come back by itself. A
label on the MachineDeployment makes it look again. Every write of ours may cost it a conflict, so
a zone is woken only when something has changed since it was last, or after a while.
"""

import hashlib
from datetime import datetime, timedelta
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.machines import MachineDeployment
from webhook.domain import fleets as counting
from webhook.domain import permits
from webhook.domain.permits import Wish, Zone
from webhook.domain.poolrecord import Record
from webhook.domain.pools import Pool
from webhook.runtime.actions import NOTHING, Patch, Plan
from webhook.state import fleets
from webhook.state.snapshot import Snapshot

SOON: Final = timedelta(seconds=0.3)
"""Between two nudges of one zone, so that the manager gets something done."""
AGAIN: Final = timedelta(seconds=10)
"""After this long a zone that still could go on is woken again."""

_DEPLOYMENT: Final = kind_of_model(MachineDeployment)


def plan_nudge(deployment: MachineDeployment, snapshot: Snapshot) -> Plan:
    """Touch the label of a zone that waits and could go on."""
    if deployment.is_deleting:
        return NOTHING
    pool = fleets.pool_of(deployment, snapshot)
    if pool is None or not pool.is_adaptive:
        return NOTHING
    record = fleets.record_of(pool.key, snapshot)
    zones = fleets.zones_of(pool, record, snapshot)
    zone = next(each for each in zones if each.name == deployment.name)
    newest = counting.newest(
        each
        for each in fleets.sets_of(pool, snapshot)
        if counting.deployment_of(each) == deployment.name
    )
    uid = counting.identity(newest) if newest is not None else ""
    if not may_go_on(pool, zones, record, zone, uid):
        return NOTHING
    return _nudge(deployment, _digest(zones, record), snapshot.taken_at)


def may_go_on(pool: Pool, zones: tuple[Zone, ...], record: Record, zone: Zone, newest: str) -> bool:
    """Tell whether a zone is not where it wants to be and the pool has a permit for a step."""
    sizes = {each.uid: each.size for each in zone.sets if each.size}
    if sum(sizes.values()) == zone.replicas and {*sizes} <= {newest}:
        return False
    granted = counting.granted(record)
    for each in zone.sets:
        is_newest = each.uid == newest
        if is_newest and each.size < zone.replicas:
            wish = Wish(zone.name, each.uid, each.size, each.size + 1)
            if permits.judge(pool.permits, zones, granted, wish).size > each.size:
                return True
        if each.size and (not is_newest or each.size > zone.replicas):
            wish = Wish(zone.name, each.uid, each.size, each.size - 1)
            if permits.judge(pool.permits, zones, granted, wish).size < each.size:
                return True
    return not zone.sets and zone.replicas > 0


def _nudge(deployment: MachineDeployment, digest: str, now: datetime) -> Plan:
    last, _, said = deployment.metadata.labels.get(names.NUDGE, "").partition("-")
    nudged = datetime.fromtimestamp(int(last) / 1000, now.tzinfo) if last.isdigit() else None
    wait = SOON if said != digest else AGAIN
    if nudged is not None and now < nudged + wait:
        return Plan(requeue_after=(nudged + wait - now).total_seconds())
    value = f"{int(now.timestamp() * 1000)}-{digest}"
    change = {"metadata": {"labels": {names.NUDGE: value}}}
    write = Patch(_DEPLOYMENT, deployment.key, change, deployment.uid)
    return Plan((write,), requeue_after=AGAIN.total_seconds())


def _digest(zones: tuple[Zone, ...], record: Record) -> str:
    said = repr((zones, sorted(counting.granted(record).items())))
    return hashlib.sha256(said.encode()).hexdigest()[:10]
