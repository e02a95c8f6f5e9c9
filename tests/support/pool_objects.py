"""A worker pool of three zones as objects, and snapshots of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.builders import make_object, merged
from tests.support.machine_objects import SHOOT_NAMESPACE, make_deployment, make_machine, make_set
from webhook.api import kinds, names
from webhook.api.decode import convert
from webhook.api.pool_records import PoolRecordObject
from webhook.domain.options import NodeGroupsOptions, Options
from webhook.domain.pools import record_encoding
from webhook.domain.pools.discovery import PoolKey
from webhook.domain.pools.pool_record import PoolRecord
from webhook.kube.meta import Object
from webhook.kube.timestamps import format_time
from webhook.state.snapshot import Snapshot

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
KEY = PoolKey(SHOOT_NAMESPACE, f"mcm:{names.WORKER_POOL}", "pool")
OPTIONS = Options(nodegroups=NodeGroupsOptions())


def zone(
    index: int,
    replicas: int,
    *,
    bounds: tuple[int, int] = (0, 9),
    adaptive: bool = True,
    permits: tuple[int, int] = (1, 0),
    **rest: Any,
) -> dict[str, Any]:
    notes = {
        names.POOL_MAX_SURGE: str(permits[0]),
        names.POOL_MAX_UNAVAILABLE: str(permits[1]),
        names.POOL_ZONE_COUNT: "3",
        names.POOL_ZONE_INDEX: str(index),
        **({names.SIZING_STRATEGY: "Adaptive"} if adaptive else {}),
    }
    rolling = {"maxSurge": permits[0], "maxUnavailable": permits[1]}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    changes = {"metadata": {"annotations": notes}, "spec": {"strategy": strategy}}
    return make_deployment(zone=index, replicas=replicas, bounds=bounds, **merged(changes, rest))


def fleet(
    owner: dict[str, Any],
    which: str,
    size: int,
    serving: int | None = None,
    *,
    revision: int = 1,
    born: datetime = NOW,
) -> list[dict[str, Any]]:
    """A MachineSet with its machines, some of them available."""
    ready = size if serving is None else serving
    owned = make_set(
        owner,
        which,
        metadata={"annotations": {names.REVISION: str(revision)}},
        spec={"replicas": size},
        status={"replicas": size, "availableReplicas": ready},
    )
    stamp = format_time(born)
    machines = [
        make_machine(
            owned,
            f"m{number}",
            "Running" if number < ready else "Pending",
            metadata={"creationTimestamp": stamp},
        )
        for number in range(size)
    ]
    return [owned, *machines]


def record(**changes: Any) -> PoolRecordObject:
    """The record of the pool as it is stored."""
    draft = record_encoding.encode(PoolRecord(KEY, **changes), "espalier-system")
    draft["metadata"] |= {"uid": "uid-record", "resourceVersion": "7"}
    return convert(PoolRecordObject, draft)


def show(*raw: dict[str, Any] | Object, options: Options = OPTIONS, after: float = 0.0) -> Snapshot:
    objects = [each if isinstance(each, Object) else read(each) for each in raw]
    return Snapshot.of(objects, taken_at=NOW + timedelta(seconds=after), options=options)


def read(raw: dict[str, Any]) -> Object:
    kind = kinds.find_kind(raw["apiVersion"], raw["kind"])
    assert kind is not None
    return convert(kind.model, raw)


def make_cluster(*, asleep: bool = False) -> dict[str, Any]:
    shoot = {"spec": {"hibernation": {"enabled": asleep}}}
    return make_object(
        "extensions.gardener.cloud/v1alpha1", "Cluster", SHOOT_NAMESPACE, spec={"shoot": shoot}
    )
