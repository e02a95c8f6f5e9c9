"""Worker pools of a snapshot: their MachineDeployments, MachineSets, machines and records."""

from collections.abc import Iterable, Sequence

from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.pool_records import PoolRecordObject
from webhook.domain.pools import discovery, machine_sets, permits, record_encoding
from webhook.domain.pools.discovery import DiscoveredPools, Pool, PoolKey
from webhook.domain.pools.pool_record import PoolRecord
from webhook.kube.meta import ObjectKey
from webhook.state.indexes import DEPLOYMENTS_BY_NAMESPACE, SETS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot


def pools_in(
    namespace: str, snapshot: Snapshot, *, replaced: Iterable[MachineDeployment] = ()
) -> DiscoveredPools:
    """Return the pools of a namespace, with some MachineDeployments replaced."""
    members = {each.key: each for each in snapshot.by_index(DEPLOYMENTS_BY_NAMESPACE, namespace)}
    members |= {each.key: each for each in replaced}
    specs = discovery.discoveries(snapshot.options.nodegroups.discovery)
    return discovery.discover(members.values(), specs)


def pool_of(deployment: MachineDeployment, snapshot: Snapshot) -> Pool | None:
    """Return the pool that a MachineDeployment belongs to, with the object as given."""
    found, _ = pools_in(deployment.namespace, snapshot, replaced=(deployment,))
    return next((pool for pool in found if pool.zone(deployment.name) is not None), None)


def record_of(pool: PoolKey, snapshot: Snapshot) -> PoolRecord:
    """Return a pool's record as last seen; an empty one if there is none."""
    key = ObjectKey(snapshot.options.namespace, record_encoding.name_of(pool))
    found = snapshot.get(PoolRecordObject, key) if snapshot.watches(PoolRecordObject) else None
    return (record_encoding.decode(found) if found is not None else None) or PoolRecord(pool)


def sets_of(pool: Pool, snapshot: Snapshot) -> Sequence[MachineSet]:
    """Return the machine sets of all zones of a pool."""
    names = {zone.name for zone in pool.zones}
    every = snapshot.by_index(SETS_BY_NAMESPACE, pool.key.namespace)
    return [each for each in every if machine_sets.deployment_of(each) in names]


def zones_of(
    pool: Pool, record: PoolRecord, snapshot: Snapshot
) -> tuple[permits.ZoneMachines, ...]:
    """Return the machines of each zone of a pool, as its permits count them."""
    return machine_sets.count_zones(
        pool,
        sets_of(pool, snapshot),
        lambda machine_set: snapshot.children(Machine, machine_set),
        record,
        snapshot.taken_at,
    )
