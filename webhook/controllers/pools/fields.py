"""Fills in the pool's fields of MachineDeployments, and creates the records of pools."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from webhook.api.core import CustomResourceDefinition, Namespace
from webhook.api.extensions import Cluster
from webhook.api.kinds import kind_of_model
from webhook.api.machines import MachineDeployment
from webhook.api.names import ADAPTIVE_NAMESPACE
from webhook.api.pool_records import POOL_RECORD
from webhook.domain.pools import pool_definition, pool_fields, record_encoding
from webhook.domain.pools.discovery import Pool, UnusableDeployment
from webhook.domain.pools.pool_definition import FIELDS
from webhook.domain.pools.pool_record import PoolRecord
from webhook.kube.meta import Draft, ObjectKey
from webhook.runtime.actions import NOTHING, Action, Create, Emit, Patch, Plan
from webhook.state import worker_pools
from webhook.state.indexes import WORKERS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot

NOT_IN_POOL: Final = "NotInPool"

_DEPLOYMENT: Final = kind_of_model(MachineDeployment)
_NAMESPACE: Final = kind_of_model(Namespace)


def plan_fields(deployment: MachineDeployment, snapshot: Snapshot) -> Plan:
    """Write the numbers of the pool's definition, then the strategy, then create the record."""
    cluster = snapshot.get(Cluster, ObjectKey("", deployment.namespace))
    if deployment.is_deleting or not _is_ours(deployment, cluster, snapshot):
        return NOTHING
    change = _missing(deployment, cluster, snapshot)
    if change:
        return Plan((Patch(_DEPLOYMENT, deployment.key, change, deployment.uid),))
    pools, unusable = worker_pools.pools_in(deployment.namespace, snapshot)
    pool = next((each for each in pools if each.zone(deployment.name) is not None), None)
    if pool is None:
        return Plan(tuple(_warnings(deployment, unusable)))
    return Plan((*_strategy(deployment, pool), *_record(pool, snapshot)))


def plan_namespace(namespace: Namespace, snapshot: Snapshot) -> Plan:
    """Label a namespace with an adaptive pool, so that our webhooks see its MachineSets."""
    if namespace.is_terminating:
        return NOTHING
    pools, _ = worker_pools.pools_in(namespace.name, snapshot)
    wanted = any(pool.is_adaptive for pool in pools)
    if wanted == (ADAPTIVE_NAMESPACE in namespace.metadata.labels):
        return NOTHING
    change = {"metadata": {"labels": {ADAPTIVE_NAMESPACE: "true" if wanted else None}}}
    return Plan((Patch(_NAMESPACE, namespace.key, change, namespace.uid),))


def _is_ours(deployment: MachineDeployment, cluster: Cluster | None, snapshot: Snapshot) -> bool:
    """Return whether we fill in the fields; beside a Gardener only if they are requested.

    Otherwise the installation alone would change every pool. Node groups are offered without the
    fields.
    """
    return not snapshot.options.beside_gardener or pool_definition.is_sizing_requested(
        deployment, cluster
    )


def _missing(deployment: MachineDeployment, cluster: Cluster | None, snapshot: Snapshot) -> Draft:
    workers = snapshot.by_index(WORKERS_BY_NAMESPACE, deployment.namespace)
    worker = workers[0] if workers else None
    if not pool_definition.missing_annotations(deployment, worker, cluster):
        return {}
    key = ObjectKey("", pool_fields.CRD_NAME)
    served = pool_fields.served_fields(snapshot.get(CustomResourceDefinition, key))
    spec: dict[str, Any] = {}
    annotations: dict[str, Any] = {}
    for field, value in pool_definition.wanted_fields(deployment, worker, cluster).items():
        spec[field] = value if field in served else None
        annotations[FIELDS[field]] = None if field in served else str(value)
    return {"metadata": {"annotations": annotations}, "spec": spec}


def _warnings(
    deployment: MachineDeployment, unusable: Iterable[UnusableDeployment]
) -> Iterator[Action]:
    for each in unusable:
        if each.name == deployment.name:
            message = f"left out of its pool: {each.why}"
            yield Emit(_DEPLOYMENT, deployment, NOT_IN_POOL, message, "Warning")


def _strategy(deployment: MachineDeployment, pool: Pool) -> Iterator[Action]:
    """Set the pool's numbers in a zone that was not written since the pool became adaptive."""
    strategy = deployment.spec.strategy
    if not pool.is_adaptive or strategy.type not in ("", "RollingUpdate"):
        return
    permits = pool.permits
    rolling = strategy.rolling_update
    present = (rolling.max_surge, rolling.max_unavailable) if rolling is not None else ()
    if present != permits:
        numbers = {"maxSurge": permits.surge, "maxUnavailable": permits.unavailable}
        change = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": numbers}}}
        yield Patch(_DEPLOYMENT, deployment.key, change, deployment.uid)


def _record(pool: Pool, snapshot: Snapshot) -> Iterator[Action]:
    if not worker_pools.record_of(pool.key, snapshot).version:
        namespace = snapshot.options.namespace
        yield Create(POOL_RECORD, record_encoding.encode(PoolRecord(pool.key), namespace))
