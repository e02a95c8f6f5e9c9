"""Maps changes of a pool's objects to each other, by their namespace."""

from collections.abc import Iterable

from webhook.api.machines import MachineDeployment
from webhook.api.pool_records import PoolRecordObject
from webhook.domain.pools import discovery, record_encoding
from webhook.kube.meta import Object, ObjectKey
from webhook.state import worker_pools
from webhook.state.indexes import DEPLOYMENTS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot


def to_namespace(old: Object | None, new: Object | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    """Map an object to its namespace."""
    changed = new or old
    return () if changed is None else (ObjectKey("", changed.namespace),)


def to_deployments(
    old: Object | None, new: Object | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map an object to all MachineDeployments in its namespace."""
    changed = new or old
    found = snapshot.by_index(DEPLOYMENTS_BY_NAMESPACE, changed.namespace) if changed else ()
    return [each.key for each in found]


def to_deployments_of_cluster(
    old: Object | None, new: Object | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map a Cluster to all MachineDeployments in the namespace of the same name."""
    changed = new or old
    found = snapshot.by_index(DEPLOYMENTS_BY_NAMESPACE, changed.name) if changed else ()
    return [each.key for each in found]


def to_records(old: Object | None, new: Object | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    """Map an object to the records of all pools in its namespace."""
    changed = new or old
    pools, _ = worker_pools.pools_in(changed.namespace, snapshot) if changed else ((), ())
    namespace = snapshot.options.namespace
    return [ObjectKey(namespace, record_encoding.name_of(pool.key)) for pool in pools]


def to_records_of_deployment(
    old: MachineDeployment | None, new: MachineDeployment | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map a MachineDeployment to the records in its namespace, and to that of a pool it leaves.

    The pool of the last MachineDeployment is gone with it, and its record has to be deleted.
    """
    yield from to_records(old, new, snapshot)
    specs = discovery.discoveries(snapshot.options.nodegroups.discovery)
    if old is not None and (key := discovery.key_of(old, specs)) is not None:
        yield ObjectKey(snapshot.options.namespace, record_encoding.name_of(key))


def to_deployments_of_record(
    old: PoolRecordObject | None, new: PoolRecordObject | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Map a record to the MachineDeployments in its pool's namespace."""
    changed = new or old
    record = record_encoding.decode(changed) if changed is not None else None
    if record is None:
        return ()
    found = snapshot.by_index(DEPLOYMENTS_BY_NAMESPACE, record.key.namespace)
    return [each.key for each in found]
