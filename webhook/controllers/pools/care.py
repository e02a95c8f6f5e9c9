"""Keep the record of a pool: grants that came true, zones in trouble, permits taken back.

Only the leader plans, and every write names the version of the record that it was planned from.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.poolobjects import POOL_OBJECT, PoolObject
from webhook.api.timestamps import format_time
from webhook.controllers.pools import minimum
from webhook.domain import fleets as counting
from webhook.domain import machines, poolencoding, poolrecord, pools, troubles
from webhook.domain.options import NodeGroupsOptions
from webhook.domain.poolrecord import Record, parse_instant
from webhook.domain.pools import Pool
from webhook.domain.troubles import Failure
from webhook.runtime.actions import NOTHING, Action, Delete, Emit, Patch, Plan
from webhook.state import fleets
from webhook.state.indexes import DEPLOYMENTS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot

NO_RESOURCES: Final = "ZoneWithoutResources"
TRIED: Final = "ZoneTriedAgain"
HELD_OUT: Final = "ZoneHeldOut"
DISAGREEMENT: Final = "PoolZonesDisagree"
DISAGREEING: Final = timedelta(seconds=60)
"""How long zones may give different numbers before people are told: they change one by one."""

_SLOW: Final = 30.0
_DEPLOYMENT: Final = kind_of_model(MachineDeployment)
_SET: Final = kind_of_model(MachineSet)


BackedOff: TypeAlias = Callable[[str], bool | None]


class _Sight(NamedTuple):
    """A pool with its sets and machines, zone by zone."""

    pool: Pool
    deployments: dict[str, MachineDeployment]
    sets: dict[str, list[MachineSet]]
    machines: dict[str, list[Machine]]
    now: datetime
    options: NodeGroupsOptions
    backed_off: BackedOff = lambda _group: None


def plan_record(
    found: PoolObject, snapshot: Snapshot, backed_off: BackedOff = lambda _group: None
) -> Plan:
    """Bring the record up to now; when it is, take back permits and raise zones to minimums.

    `backed_off` tells of a group whether cluster-autoscaler avoids it, None where nobody knows.
    """
    record = poolencoding.decode(found)
    if record is None:
        return NOTHING
    pool = _pool(record, snapshot)
    if pool is None:
        return _forget(found, record, snapshot)
    sight = _look(pool, snapshot)._replace(backed_off=backed_off)
    changed, events = _bring_up(record, sight)
    if changed != record:
        change = poolencoding.change(changed, found.namespace)
        write = Patch(POOL_OBJECT, found.key, change, found.uid, found.resource_version)
        return Plan((write, *events), _next_look(changed, sight))
    taken = (*_touch(record, sight), *_take_back(record, sight))
    if taken:
        return Plan(taken, _next_look(record, sight))
    raised = minimum.plan(found, pool, record, snapshot)
    return Plan((*events, *raised), _next_look(record, sight))


def _pool(record: Record, snapshot: Snapshot) -> Pool | None:
    found, _ = fleets.pools_in(record.key.namespace, snapshot)
    return next((pool for pool in found if pool.key == record.key), None)


def _forget(found: PoolObject, record: Record, snapshot: Snapshot) -> Plan:
    """Delete the record of a pool that is gone, but not of one that only fails to be read."""
    specs = pools.discoveries(snapshot.options.nodegroups.discovery)
    members = snapshot.by_index(DEPLOYMENTS_BY_NAMESPACE, record.key.namespace)
    if not snapshot.serves(MachineDeployment) or any(
        pools.key_of(each, specs) == record.key for each in members
    ):
        return NOTHING
    return Plan((Delete(POOL_OBJECT, found.key, found.uid, found.resource_version),))


def _look(pool: Pool, snapshot: Snapshot) -> _Sight:
    members = snapshot.by_index(DEPLOYMENTS_BY_NAMESPACE, pool.key.namespace)
    grouped = counting.by_deployment(fleets.sets_of(pool, snapshot))
    sets = {zone.name: list(grouped.get(zone.name, ())) for zone in pool.zones}
    existing = {
        name: [each for owner in owners for each in snapshot.children(Machine, owner)]
        for name, owners in sets.items()
    }
    named = {each.name: each for each in members if pool.zone(each.name) is not None}
    return _Sight(pool, named, sets, existing, snapshot.taken_at, snapshot.options.nodegroups)


def _bring_up(record: Record, sight: _Sight) -> tuple[Record, tuple[Action, ...]]:
    """Say what the record should be now, and what people should know of the change."""
    every = [each for owners in sight.sets.values() for each in owners]
    changed = counting.settle(record, every, sight.now)
    changed = poolrecord.settle(changed, sight.deployments.get)
    changed = poolrecord.prune(changed, [zone.name for zone in sight.pool.zones])
    events: list[Action] = []
    for name in sight.deployments:
        changed = _follow_zone(changed, name, sight, events)
    changed = _note_disagreement(changed, sight, events)
    return changed, tuple(events)


def _follow_zone(record: Record, name: str, sight: _Sight, events: list[Action]) -> Record:
    deployment, existing = sight.deployments[name], sight.machines[name]
    state = record.zones.get(name)
    failed = troubles.failures(deployment, existing)
    late = _late(name, record, sight)
    after = troubles.follow(state, [*failed, *late], existing, sight.now, sight.options)
    avoided = sight.backed_off(f"{deployment.namespace}.{name}")
    if avoided is not None:
        after = troubles.back_off(after, avoided, sight.now)
    if after != state:
        record = poolrecord.with_zone(record, name, after)
    if after is not None and (state is None or after.strikes > state.strikes):
        reason = NO_RESOURCES if failed else HELD_OUT
        why = "machines cannot be had" if failed else "new machines do not come to serve"
        message = f"{why}: the zone is avoided until {after.until}, others take its share"
        events.append(Emit(_DEPLOYMENT, deployment, reason, message, "Warning"))
    is_bad = record.standing(name, sight.now) == "bad"
    if is_bad and name not in record.held_out and _unused(name, sight):
        why = "too slow" if late and not failed else "no resources"
        return poolrecord.hold_out(record, name, why, sight.now)
    if not is_bad and name in record.held_out:
        events.append(Emit(_DEPLOYMENT, deployment, TRIED, "the zone takes part in updates again"))
        return poolrecord.let_in(record, name)
    return record


def _late(name: str, record: Record, sight: _Sight) -> list[Failure]:
    """Name the machine beyond the zone's replicas that has been coming for too long, if any.

    A zone that is avoided already has lost its permits, and is judged again afterwards.
    """
    newest = counting.newest(sight.sets[name])
    if newest is None or not _surplus(name, sight) or record.standing(name, sight.now) == "bad":
        return []
    waiting = [
        (_began(each), each.uid)
        for each in sight.machines[name]
        if _belongs(each, newest) and not machines.is_available(each) and not each.is_deleting
    ]
    patience = timedelta(seconds=sight.options.roll_seconds)
    overdue = [each for each in waiting if sight.now - each[0] > patience]
    return [Failure(uid, sight.now) for _, uid in overdue[:1]]


def _began(machine: Machine) -> datetime:
    """Say since when a machine does not serve."""
    if machines.has_joined(machine):
        return parse_instant(machine.status.current_status.last_update_time)
    return parse_instant(machine.metadata.creation_timestamp)


def _belongs(machine: Machine, owner: MachineSet) -> bool:
    return any(reference.uid == owner.uid for reference in machine.metadata.owner_references)


def _surplus(name: str, sight: _Sight) -> int:
    zone = sight.pool.zone(name)
    sizes = sum(each.spec.replicas for each in sight.sets[name])
    return max(0, sizes - zone.replicas) if zone is not None else 0


def _unused(name: str, sight: _Sight) -> int:
    """Count the permits that a zone has for new machines that do not serve."""
    newest = counting.newest(sight.sets[name])
    if newest is None:
        return 0
    existing = [each for each in sight.machines[name] if _belongs(each, newest)]
    state = counting.state_of(newest, existing)
    return min(_surplus(name, sight), max(0, state.size - state.available))


def _touch(record: Record, sight: _Sight) -> Iterator[Action]:
    """Make writes fail that are announced and overdue: only then may the record forget them."""
    for name, target in poolrecord.overdue(record, sight.now).items():
        deployment = sight.deployments.get(name)
        if deployment is not None and poolrecord.judge(target, deployment) == "touch":
            change = {"metadata": {"annotations": {names.TOUCHED: format_time(sight.now)}}}
            version = deployment.resource_version
            yield Patch(_DEPLOYMENT, deployment.key, change, deployment.uid, version)


def _take_back(record: Record, sight: _Sight) -> Iterator[Action]:
    """Shrink the new set of a zone that is held out by machines that do not serve."""
    for name in record.held_out:
        unused = _unused(name, sight) if name in sight.sets else 0
        newest = counting.newest(sight.sets.get(name, ()))
        if unused and newest is not None:
            size = newest.spec.replicas - unused
            change = {"spec": {"replicas": size}}
            yield Patch(_SET, newest.key, change, newest.uid, newest.resource_version)
            message = f"takes no part in the update for now, gives back {unused} surge permits"
            yield Emit(_DEPLOYMENT, sight.deployments[name], HELD_OUT, message, "Warning")


def _note_disagreement(record: Record, sight: _Sight, events: list[Action]) -> Record:
    fields = sight.pool.disagreements
    if not fields:
        return replace(record, disagreeing="") if record.disagreeing else record
    if not record.disagreeing:
        return replace(record, disagreeing=format_time(sight.now))
    if sight.now - parse_instant(record.disagreeing) >= DISAGREEING:
        said = ", ".join(fields)
        message = f"zones of pool {record.key.name} disagree on {said}: the smaller numbers count"
        events.extend(
            Emit(_DEPLOYMENT, deployment, DISAGREEMENT, message, "Warning")
            for deployment in sight.deployments.values()
        )
    return record


def _next_look(record: Record, sight: _Sight) -> float | None:
    """Say when time alone will have changed something."""
    moments = [
        parse_instant(grant.time) + poolrecord.GRANT_LIFE for grant in record.grants.values()
    ]
    moments += [
        parse_instant(target.time) + poolrecord.PATIENCE for target in record.targets.values()
    ]
    moments += [parse_instant(state.until) for state in record.zones.values()]
    takeover = timedelta(seconds=sight.options.takeover_seconds)
    moments += [troubles.since(state, sight.options) + takeover for state in record.zones.values()]
    if record.disagreeing:
        moments.append(parse_instant(record.disagreeing) + DISAGREEING)
    ahead = [(moment - sight.now).total_seconds() for moment in moments if moment > sight.now]
    if any(_surplus(name, sight) for name in sight.sets):
        ahead.append(_SLOW)
    return min(ahead, default=None)
