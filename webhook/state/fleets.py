"""Worker pools as memory shows them: deployments, sets, machines, and the pool's record."""

from collections.abc import Iterable, Sequence

from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.meta import ObjectKey
from webhook.api.poolobjects import PoolObject
from webhook.domain import fleets, permits, poolencoding, pools
from webhook.domain.poolrecord import Record
from webhook.domain.pools import Found, Pool, PoolKey
from webhook.state.indexes import DEPLOYMENTS_BY_NAMESPACE, SETS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot


def pools_in(
    namespace: str, snapshot: Snapshot, *, instead: Iterable[MachineDeployment] = ()
) -> Found:
    """Put the pools of a namespace together, with some objects as they are about to be."""
    members = {each.key: each for each in snapshot.by_index(DEPLOYMENTS_BY_NAMESPACE, namespace)}
    members |= {each.key: each for each in instead}
    specs = pools.discoveries(snapshot.options.nodegroups.discovery)
    return pools.discover(members.values(), specs)


def pool_of(deployment: MachineDeployment, snapshot: Snapshot) -> Pool | None:
    """Find the pool that a MachineDeployment is a zone of, with it as it is given."""
    found, _ = pools_in(deployment.namespace, snapshot, instead=(deployment,))
    return next((pool for pool in found if pool.zone(deployment.name) is not None), None)


def record_of(pool: PoolKey, snapshot: Snapshot) -> Record:
    """Give a pool's record as it was last seen; an absent one says nothing."""
    key = ObjectKey(snapshot.options.namespace, poolencoding.name_of(pool))
    found = snapshot.get(PoolObject, key) if snapshot.watches(PoolObject) else None
    return (poolencoding.decode(found) if found is not None else None) or Record(pool)


def sets_of(pool: Pool, snapshot: Snapshot) -> Sequence[MachineSet]:
    """List the machine sets of all zones of a pool."""
    names = {zone.name for zone in pool.zones}
    every = snapshot.by_index(SETS_BY_NAMESPACE, pool.key.namespace)
    return [each for each in every if fleets.deployment_of(each) in names]


def zones_of(pool: Pool, record: Record, snapshot: Snapshot) -> tuple[permits.Zone, ...]:
    """Count a pool as its permits are counted."""
    return fleets.zones(
        pool,
        sets_of(pool, snapshot),
        lambda owned: snapshot.children(Machine, owned),
        record,
        snapshot.taken_at,
    )
