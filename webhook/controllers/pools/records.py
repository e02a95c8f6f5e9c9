"""plan_record(): updates the record of a pool, backs off from zones and takes back permits.

Only the leader plans, and every write requires the version of the record that was planned from.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from webhook.api import names
from webhook.api.event_reasons import Reason
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.pool_records import POOL_RECORD, PoolRecordObject
from webhook.controllers.pools import minimum, scale_ups
from webhook.domain.options import NodeGroupsOptions
from webhook.domain.pools import (
    discovery,
    increases,
    machine_sets,
    machines,
    node_groups,
    pool_record,
    record_encoding,
    zone_backoff,
)
from webhook.domain.pools.discovery import Pool
from webhook.domain.pools.pool_record import PoolRecord, parse_instant
from webhook.domain.pools.zone_backoff import ZoneFailure
from webhook.kube.timestamps import format_time
from webhook.runtime.actions import NOTHING, Action, Delete, Emit, Patch, Plan
from webhook.state import worker_pools
from webhook.state.indexes import DEPLOYMENTS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot

NO_RESOURCES: Final = "ZoneWithoutResources"
TRIED: Final = "ZoneTriedAgain"
HELD_OUT: Final = "ZoneHeldOut"
DISAGREEMENT: Final = "PoolZonesDisagree"
DISAGREEMENT_GRACE: Final = timedelta(seconds=60)
"""How long zones may have different numbers before an Event: they change one by one."""

_ROLLING_SECONDS: Final = 30.0
_DEPLOYMENT: Final = kind_of_model(MachineDeployment)
_SET: Final = kind_of_model(MachineSet)


BackedOff: TypeAlias = Callable[[str], bool | None]


class _PoolView(NamedTuple):
    """A pool with its MachineSets and Machines by zone."""

    pool: Pool
    deployments: dict[str, MachineDeployment]
    sets: dict[str, list[MachineSet]]
    machines: dict[str, list[Machine]]
    now: datetime
    options: NodeGroupsOptions
    backed_off: BackedOff = lambda _group: None


def plan_record(
    found: PoolRecordObject, snapshot: Snapshot, backed_off: BackedOff = lambda _group: None
) -> Plan:
    """Update the record; once it is up to date, take back permits and raise zones to minimums.

    `backed_off` returns whether cluster-autoscaler backs off from a group; None if that is unknown.
    """
    record = record_encoding.decode(found)
    if record is None:
        return NOTHING
    pool = _pool(record, snapshot)
    if pool is None:
        return _delete_record(found, record, snapshot)
    view = _view_of(pool, snapshot)._replace(backed_off=backed_off)
    changed, events = _update(record, view)
    if changed != record:
        change = record_encoding.merge_patch(changed, found.namespace)
        write = Patch(POOL_RECORD, found.key, change, found.uid, found.resource_version)
        return Plan((write, *events), _requeue_after(changed, view))
    writes = (*_touch(record, view), *_take_back(record, view))
    if writes:
        return Plan(writes, _requeue_after(record, view))
    raised = minimum.plan(found, pool, record, snapshot) or _grant_rest(found, record, view)
    return Plan((*events, *raised), _requeue_after(record, view))


def _grant_rest(found: PoolRecordObject, record: PoolRecord, view: _PoolView) -> tuple[Action, ...]:
    members = {
        name: node_groups.members_of(deployment, view.machines[name])
        for name, deployment in view.deployments.items()
    }
    groups = node_groups.build_groups(view.pool, record, view.deployments, members, view.now)
    return scale_ups.plan(found, groups, record, view.now)


def _pool(record: PoolRecord, snapshot: Snapshot) -> Pool | None:
    found, _ = worker_pools.pools_in(record.key.namespace, snapshot)
    return next((pool for pool in found if pool.key == record.key), None)


def _delete_record(found: PoolRecordObject, record: PoolRecord, snapshot: Snapshot) -> Plan:
    """Delete the record of a pool that is gone, but not of one that cannot be parsed."""
    specs = discovery.discoveries(snapshot.options.nodegroups.discovery)
    members = snapshot.by_index(DEPLOYMENTS_BY_NAMESPACE, record.key.namespace)
    if not snapshot.serves(MachineDeployment) or any(
        discovery.key_of(each, specs) == record.key for each in members
    ):
        return NOTHING
    return Plan((Delete(POOL_RECORD, found.key, found.uid, found.resource_version),))


def _view_of(pool: Pool, snapshot: Snapshot) -> _PoolView:
    members = snapshot.by_index(DEPLOYMENTS_BY_NAMESPACE, pool.key.namespace)
    grouped = machine_sets.by_deployment(worker_pools.sets_of(pool, snapshot))
    sets = {zone.name: list(grouped.get(zone.name, ())) for zone in pool.zones}
    existing = {
        name: [each for owner in owners for each in snapshot.children(Machine, owner)]
        for name, owners in sets.items()
    }
    named = {each.name: each for each in members if pool.zone(each.name) is not None}
    return _PoolView(pool, named, sets, existing, snapshot.taken_at, snapshot.options.nodegroups)


def _update(record: PoolRecord, view: _PoolView) -> tuple[PoolRecord, tuple[Action, ...]]:
    """Return the record as it should be now, and the Events of the change."""
    every = [each for owners in view.sets.values() for each in owners]
    changed = machine_sets.drop_fulfilled_grants(record, every, view.now)
    changed = pool_record.drop_observed_targets(changed, view.deployments.get)
    changed = pool_record.prune(changed, [zone.name for zone in view.pool.zones])
    events: list[Action] = []
    for name in view.deployments:
        changed = _update_zone(changed, name, view, events)
    changed = _update_disagreement(changed, view, events)
    return changed, tuple(events)


def _update_zone(
    record: PoolRecord, name: str, view: _PoolView, events: list[Action]
) -> PoolRecord:
    deployment, existing = view.deployments[name], view.machines[name]
    state = record.zones.get(name)
    failed = zone_backoff.failures(deployment, existing)
    overdue_machines = _find_overdue(name, record, view)
    after = zone_backoff.advance(
        state, [*failed, *overdue_machines], existing, view.now, view.options
    )
    avoided = view.backed_off(f"{deployment.namespace}.{name}")
    if avoided is not None:
        after = zone_backoff.record_autoscaler_backoff(after, avoided, view.now)
    if after != state:
        record = pool_record.with_zone_state(record, name, after)
    if after is not None and (state is None or after.strikes > state.strikes):
        reason: Reason = NO_RESOURCES if failed else HELD_OUT
        why = "machines cannot be created" if failed else "new machines do not become available"
        message = f"{why}: the zone is avoided until {after.until}, others take its share"
        events.append(Emit(_DEPLOYMENT, deployment, reason, message, "Warning"))
    is_bad = record.zone_health(name, view.now) == "bad"
    if is_bad and name not in record.held_out and _unused(name, view):
        why = "too slow" if overdue_machines and not failed else "no resources"
        return pool_record.hold_out(record, name, why, view.now)
    if not is_bad and name in record.held_out:
        events.append(Emit(_DEPLOYMENT, deployment, TRIED, "the zone takes part in updates again"))
        return pool_record.end_hold_out(record, name)
    return record


def _find_overdue(name: str, record: PoolRecord, view: _PoolView) -> list[ZoneFailure]:
    """Find a surge machine that has not become available in time, if there is one.

    A zone in backoff has lost its permits already, and is checked again afterwards. A zone that is
    late is handled like one without resources: one mechanism and one way back.
    """
    newest = machine_sets.newest(view.sets[name])
    if newest is None or not _surplus(name, view) or record.zone_health(name, view.now) == "bad":
        return []
    waiting = [
        (_unready_since(each), each.uid)
        for each in view.machines[name]
        if _belongs(each, newest) and not machines.is_available(each) and not each.is_deleting
    ]
    limit = timedelta(seconds=view.options.roll_seconds)
    overdue = [each for each in waiting if view.now - each[0] > limit]
    return [ZoneFailure(uid, view.now) for _, uid in overdue[:1]]


def _unready_since(machine: Machine) -> datetime:
    """Return since when a machine is not available."""
    if machines.has_joined(machine):
        return parse_instant(machine.status.current_status.last_update_time)
    return parse_instant(machine.metadata.creation_timestamp)


def _belongs(machine: Machine, owner: MachineSet) -> bool:
    return any(reference.uid == owner.uid for reference in machine.metadata.owner_references)


def _surplus(name: str, view: _PoolView) -> int:
    zone = view.pool.zone(name)
    sizes = sum(each.spec.replicas for each in view.sets[name])
    return max(0, sizes - zone.replicas) if zone is not None else 0


def _unused(name: str, view: _PoolView) -> int:
    """Count the permits of a zone whose new machines are not available."""
    newest = machine_sets.newest(view.sets[name])
    if newest is None:
        return 0
    existing = [each for each in view.machines[name] if _belongs(each, newest)]
    state = machine_sets.state_of(newest, existing)
    return min(_surplus(name, view), max(0, state.size - state.available))


def _touch(record: PoolRecord, view: _PoolView) -> Iterator[Action]:
    """Touch MachineDeployments with overdue targets, so that the announced writes must conflict."""
    for name, target in pool_record.overdue(record, view.now).items():
        deployment = view.deployments.get(name)
        if deployment is not None and pool_record.resolve_overdue(target, deployment) == "touch":
            change = {"metadata": {"annotations": {names.TOUCHED: format_time(view.now)}}}
            version = deployment.resource_version
            yield Patch(_DEPLOYMENT, deployment.key, change, deployment.uid, version)


def _take_back(record: PoolRecord, view: _PoolView) -> Iterator[Action]:
    """Shrink the new MachineSet of a held-out zone by the machines that are not available."""
    for name in record.held_out:
        unused = _unused(name, view) if name in view.sets else 0
        newest = machine_sets.newest(view.sets.get(name, ()))
        if unused and newest is not None:
            size = newest.spec.replicas - unused
            change = {"spec": {"replicas": size}}
            yield Patch(_SET, newest.key, change, newest.uid, newest.resource_version)
            message = f"takes no part in the update for now, gives back {unused} surge permits"
            yield Emit(_DEPLOYMENT, view.deployments[name], HELD_OUT, message, "Warning")


def _update_disagreement(record: PoolRecord, view: _PoolView, events: list[Action]) -> PoolRecord:
    fields = view.pool.disagreements
    if not fields:
        return replace(record, disagreeing="") if record.disagreeing else record
    if not record.disagreeing:
        return replace(record, disagreeing=format_time(view.now))
    if view.now - parse_instant(record.disagreeing) >= DISAGREEMENT_GRACE:
        listed = ", ".join(fields)
        message = f"zones of pool {record.key.name} disagree on {listed}: the smaller numbers count"
        events.extend(
            Emit(_DEPLOYMENT, deployment, DISAGREEMENT, message, "Warning")
            for deployment in view.deployments.values()
        )
    return record


def _requeue_after(record: PoolRecord, view: _PoolView) -> float | None:
    """Return after how many seconds time alone changes the plan."""
    moments = [
        parse_instant(grant.time) + pool_record.GRANT_TTL for grant in record.grants.values()
    ]
    moments += [
        parse_instant(target.time) + pool_record.OVERDUE_AFTER for target in record.targets.values()
    ]
    if (complete_at := increases.complete_at(record)) is not None:
        moments.append(complete_at)
    moments += [parse_instant(state.until) for state in record.zones.values()]
    takeover = timedelta(seconds=view.options.takeover_seconds)
    moments += [
        zone_backoff.avoided_since(state, view.options) + takeover
        for state in record.zones.values()
    ]
    if record.disagreeing:
        moments.append(parse_instant(record.disagreeing) + DISAGREEMENT_GRACE)
    ahead = [(moment - view.now).total_seconds() for moment in moments if moment > view.now]
    if any(_surplus(name, view) for name in view.sets):
        ahead.append(_ROLLING_SECONDS)
    return min(ahead, default=None)
