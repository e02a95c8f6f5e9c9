"""What a change concerns: the objects of pools wake each other through their namespace."""

from collections.abc import Iterable

from webhook.api.meta import Object, ObjectKey
from webhook.api.poolobjects import PoolObject
from webhook.domain import poolencoding
from webhook.state import fleets
from webhook.state.indexes import DEPLOYMENTS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot


def its_namespace(
    old: Object | None, new: Object | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Name the namespace of what changed."""
    changed = new or old
    return () if changed is None else (ObjectKey("", changed.namespace),)


def its_deployments(
    old: Object | None, new: Object | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Name all MachineDeployments beside what changed."""
    changed = new or old
    found = snapshot.by_index(DEPLOYMENTS_BY_NAMESPACE, changed.namespace) if changed else ()
    return [each.key for each in found]


def named_deployments(
    old: Object | None, new: Object | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Name all MachineDeployments in the namespace that a Cluster is named after."""
    changed = new or old
    found = snapshot.by_index(DEPLOYMENTS_BY_NAMESPACE, changed.name) if changed else ()
    return [each.key for each in found]


def its_records(old: Object | None, new: Object | None, snapshot: Snapshot) -> Iterable[ObjectKey]:
    """Name the records of all pools beside what changed."""
    changed = new or old
    pools, _ = fleets.pools_in(changed.namespace, snapshot) if changed else ((), ())
    namespace = snapshot.options.namespace
    return [ObjectKey(namespace, poolencoding.name_of(pool.key)) for pool in pools]


def pools_of_record(
    old: PoolObject | None, new: PoolObject | None, snapshot: Snapshot
) -> Iterable[ObjectKey]:
    """Name the MachineDeployments of the namespace that a record speaks of."""
    changed = new or old
    record = poolencoding.decode(changed) if changed is not None else None
    if record is None:
        return ()
    found = snapshot.by_index(DEPLOYMENTS_BY_NAMESPACE, record.key.namespace)
    return [each.key for each in found]
