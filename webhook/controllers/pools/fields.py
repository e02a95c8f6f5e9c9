"""Fill in what zones should say of their pools, and make the records that pools are kept by."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from webhook.api.core import CustomResourceDefinition, Namespace
from webhook.api.extensions import Cluster
from webhook.api.kinds import kind_of_model
from webhook.api.machines import MachineDeployment
from webhook.api.meta import Draft, ObjectKey
from webhook.api.names import ADAPTIVE_NAMESPACE
from webhook.api.poolobjects import POOL_OBJECT
from webhook.domain import definitions, poolencoding, poolfields
from webhook.domain.definitions import FIELDS
from webhook.domain.poolrecord import Record
from webhook.domain.pools import Pool, Unfit
from webhook.runtime.actions import NOTHING, Action, Create, Emit, Patch, Plan
from webhook.state import fleets
from webhook.state.indexes import WORKERS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot

UNFIT: Final = "NotInPool"

_DEPLOYMENT: Final = kind_of_model(MachineDeployment)
_NAMESPACE: Final = kind_of_model(Namespace)


def plan_fields(deployment: MachineDeployment, snapshot: Snapshot) -> Plan:
    """Write the numbers of the pool's definition, then the strategy, then make the record."""
    cluster = snapshot.get(Cluster, ObjectKey("", deployment.namespace))
    if deployment.is_deleting or not _is_ours(deployment, cluster, snapshot):
        return NOTHING
    change = _missing(deployment, cluster, snapshot)
    if change:
        return Plan((Patch(_DEPLOYMENT, deployment.key, change, deployment.uid),))
    pools, unfit = fleets.pools_in(deployment.namespace, snapshot)
    pool = next((each for each in pools if each.zone(deployment.name) is not None), None)
    if pool is None:
        return Plan(tuple(_complaints(deployment, unfit)))
    return Plan((*_strategy(deployment, pool), *_record(pool, snapshot)))


def plan_namespace(namespace: Namespace, snapshot: Snapshot) -> Plan:
    """Label a namespace as long as it has an adaptive pool, so that its sets come to us."""
    if namespace.is_terminating:
        return NOTHING
    pools, _ = fleets.pools_in(namespace.name, snapshot)
    wanted = any(pool.is_adaptive for pool in pools)
    if wanted == (ADAPTIVE_NAMESPACE in namespace.metadata.labels):
        return NOTHING
    change = {"metadata": {"labels": {ADAPTIVE_NAMESPACE: "true" if wanted else None}}}
    return Plan((Patch(_NAMESPACE, namespace.key, change, namespace.uid),))


def _is_ours(deployment: MachineDeployment, cluster: Cluster | None, snapshot: Snapshot) -> bool:
    """Leave pools beside a Gardener as they are until somebody asks for more."""
    return not snapshot.options.beside_gardener or definitions.is_asked_for(deployment, cluster)


def _missing(deployment: MachineDeployment, cluster: Cluster | None, snapshot: Snapshot) -> Draft:
    workers = snapshot.by_index(WORKERS_BY_NAMESPACE, deployment.namespace)
    worker = workers[0] if workers else None
    if not definitions.missing(deployment, worker, cluster):
        return {}
    key = ObjectKey("", poolfields.DEFINITION)
    kept = poolfields.served(snapshot.get(CustomResourceDefinition, key))
    spec: dict[str, Any] = {}
    notes: dict[str, Any] = {}
    for field, value in definitions.wanted(deployment, worker, cluster).items():
        spec[field] = value if field in kept else None
        notes[FIELDS[field]] = None if field in kept else str(value)
    return {"metadata": {"annotations": notes}, "spec": spec}


def _complaints(deployment: MachineDeployment, unfit: Iterable[Unfit]) -> Iterator[Action]:
    for each in unfit:
        if each.name == deployment.name:
            message = f"left out of its pool: {each.why}"
            yield Emit(_DEPLOYMENT, deployment, UNFIT, message, "Warning")


def _strategy(deployment: MachineDeployment, pool: Pool) -> Iterator[Action]:
    """Give a zone the pool's numbers where no write of others came by since it is adaptive."""
    strategy = deployment.spec.strategy
    if not pool.is_adaptive or strategy.type not in ("", "RollingUpdate"):
        return
    permits = pool.permits
    rolling = strategy.rolling_update
    said = (rolling.max_surge, rolling.max_unavailable) if rolling is not None else ()
    if said != permits:
        numbers = {"maxSurge": permits.surge, "maxUnavailable": permits.unavailable}
        change = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": numbers}}}
        yield Patch(_DEPLOYMENT, deployment.key, change, deployment.uid)


def _record(pool: Pool, snapshot: Snapshot) -> Iterator[Action]:
    if not fleets.record_of(pool.key, snapshot).version:
        namespace = snapshot.options.namespace
        yield Create(POOL_OBJECT, poolencoding.encode(Record(pool.key), namespace))
