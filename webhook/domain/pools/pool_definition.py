"""What one MachineDeployment defines about its pool, in fields or in annotations."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from webhook.api import names
from webhook.api.extensions import Cluster, Worker
from webhook.api.machines import MachineDeployment
from webhook.domain.pools import sizing
from webhook.domain.pools.sizing import SizingStrategy
from webhook.kube.meta import Draft

FIELDS: Final[Mapping[str, str]] = {
    "poolMinimum": names.POOL_MINIMUM,
    "poolMaximum": names.POOL_MAXIMUM,
    "poolMaxSurge": names.POOL_MAX_SURGE,
    "poolMaxUnavailable": names.POOL_MAX_UNAVAILABLE,
    "zoneIndex": names.POOL_ZONE_INDEX,
    "zoneCount": names.POOL_ZONE_COUNT,
    "sizingStrategy": names.SIZING_STRATEGY,
}
"""Fields of a MachineDeployment's spec, and the annotations that replace them where the served
kind prunes the fields."""

MAX_INT32: Final = 2**31 - 1

_SUFFIX: Final = re.compile(r".*-z([1-9][0-9]{0,3})", re.ASCII | re.DOTALL)
_PERCENTAGE: Final = re.compile(r"[0-9]{1,4}%", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]{1,10}", re.ASCII)


class PoolDefinitionError(ValueError):
    """A MachineDeployment that cannot be part of a pool; the message names the field and remedy."""


class PoolDefinition(NamedTuple):
    """The definition of a pool by one of its zones."""

    minimum: int
    maximum: int
    position: int
    zones: int | None = None
    strategy: SizingStrategy = sizing.DEFAULT_STRATEGY
    surge: int | str = 1
    unavailable: int | str = 0


def read(deployment: MachineDeployment) -> PoolDefinition:
    """Return the pool definition of a MachineDeployment; raises PoolDefinitionError.

    A field takes precedence over its annotation: where it is served, users see and edit it.
    """
    spec = deployment.spec
    annotations = deployment.metadata.annotations
    if deployment.spec.replicas < 0:
        raise PoolDefinitionError(f"spec.replicas: {spec.replicas} is negative")
    minimum = _count("poolMinimum", spec.pool_minimum, annotations)
    maximum = _count("poolMaximum", spec.pool_maximum, annotations)
    if maximum is None:
        annotation = FIELDS["poolMaximum"]
        raise PoolDefinitionError(f"spec.poolMaximum: required, or annotation {annotation}")
    if (minimum or 0) > maximum:
        raise PoolDefinitionError(
            f"spec.poolMinimum: {minimum} is above spec.poolMaximum {maximum}"
        )
    return PoolDefinition(
        minimum or 0,
        maximum,
        _index(deployment),
        _count("zoneCount", spec.zone_count, annotations) or None,
        _strategy(spec.sizing_strategy or annotations.get(FIELDS["sizingStrategy"], "")),
        _share("poolMaxSurge", spec.pool_max_surge, annotations, 1),
        _share("poolMaxUnavailable", spec.pool_max_unavailable, annotations, 0),
    )


def read_number(deployment: MachineDeployment, field: str) -> int | None:
    """Return one number of a pool, from its field or annotation; None if absent or malformed."""
    values = {
        "poolMinimum": deployment.spec.pool_minimum,
        "poolMaximum": deployment.spec.pool_maximum,
        "zoneCount": deployment.spec.zone_count,
    }
    try:
        return _count(field, values[field], deployment.metadata.annotations)
    except PoolDefinitionError:
        return None


def zone_index(deployment: MachineDeployment) -> int | None:
    """Return the index of a zone from the suffix of its name, 0 for `-z1`; None without one."""
    found = _SUFFIX.fullmatch(deployment.name)
    return int(found.group(1)) - 1 if found else None


def wanted_fields(
    deployment: MachineDeployment, worker: Worker | None, cluster: Cluster | None
) -> Mapping[str, int | str]:
    """Return the fields that a MachineDeployment should have by its Worker and Cluster.

    If the Worker does not define its pool, only the strategy and zone index are known. The index of
    a zone that the Worker does not list comes from the suffix of the MachineDeployment's name.
    """
    name = deployment.metadata.labels.get(names.WORKER_POOL, "")
    pools = worker.spec.pools if worker is not None else ()
    pool = next((each for each in pools if each.name == name), None)
    found: dict[str, int | str] = {}
    if pool is not None:
        found |= {"poolMinimum": pool.minimum, "poolMaximum": pool.maximum}
        if pool.max_surge is not None:
            found["poolMaxSurge"] = pool.max_surge
        if pool.max_unavailable is not None:
            found["poolMaxUnavailable"] = pool.max_unavailable
        if pool.zones:
            found["zoneCount"] = len(pool.zones)
    if strategy := strategy_of(cluster):
        found["sizingStrategy"] = strategy
    index = _zone_position(deployment, pool.zones if pool is not None else ())
    if index is not None:
        found["zoneIndex"] = index
    return found


def is_sizing_requested(deployment: MachineDeployment, cluster: Cluster | None) -> bool:
    """Return whether a pool is to be sized at run time, by its Shoot or its own fields.

    Otherwise, beside a Gardener, only the extension's actuator sizes the pool.
    """
    spec, annotations = deployment.spec, deployment.metadata.annotations
    values = {
        "sizingStrategy": bool(spec.sizing_strategy),
        "poolMaximum": spec.pool_maximum is not None,
    }
    return bool(strategy_of(cluster)) or any(
        is_set or FIELDS[field] in annotations for field, is_set in values.items()
    )


def missing_annotations(
    deployment: MachineDeployment, worker: Worker | None, cluster: Cluster | None
) -> Mapping[str, str]:
    """Return the annotations that a MachineDeployment lacks to match its Worker.

    A field with the wanted value needs no annotation.
    """
    values = _fields(deployment)
    annotations = deployment.metadata.annotations
    return {
        FIELDS[field]: str(value)
        for field, value in wanted_fields(deployment, worker, cluster).items()
        if values[field] != value and annotations.get(FIELDS[field]) != str(value)
    }


def completed_from(
    deployment: MachineDeployment, worker: Worker | None, cluster: Cluster | None
) -> MachineDeployment:
    """Return a MachineDeployment with what only its Worker or Cluster defines.

    Its own values stay: a pool's zones are changed one at a time, and disagreements can be detected
    only while each zone keeps its own.
    """
    annotations = deployment.metadata.annotations
    absent = {
        name: text
        for name, text in missing_annotations(deployment, worker, cluster).items()
        if name not in annotations and not _is_set(deployment, name)
    }
    if not absent:
        return deployment
    metadata = msgspec.structs.replace(deployment.metadata, annotations={**annotations, **absent})
    return msgspec.structs.replace(deployment, metadata=metadata)


def set_annotations(draft: Draft, annotations: Mapping[str, str]) -> None:
    """Set annotations in a draft and remove the fields that they replace."""
    if not annotations:
        return
    draft["metadata"].setdefault("annotations", {}).update(annotations)
    spec = draft.setdefault("spec", {})
    for field, annotation in FIELDS.items():
        if annotation in annotations:
            spec.pop(field, None)


def strategy_of(cluster: Cluster | None) -> str:
    """Return the sizing strategy of a Shoot; empty if it has none."""
    shoot = cluster.spec.shoot if cluster is not None else None
    if shoot is None:
        return ""
    autoscaler = shoot.spec.kubernetes.cluster_autoscaler
    written = autoscaler.sizing_strategy if autoscaler is not None else ""
    found = written or shoot.metadata.annotations.get(names.SIZING_STRATEGY, "")
    return found if found in sizing.STRATEGIES else ""


def _fields(deployment: MachineDeployment) -> Mapping[str, int | str | None]:
    spec = deployment.spec
    return {
        "poolMinimum": spec.pool_minimum,
        "poolMaximum": spec.pool_maximum,
        "poolMaxSurge": spec.pool_max_surge,
        "poolMaxUnavailable": spec.pool_max_unavailable,
        "zoneIndex": spec.zone_index,
        "zoneCount": spec.zone_count,
        "sizingStrategy": spec.sizing_strategy or None,
    }


def _is_set(deployment: MachineDeployment, annotation: str) -> bool:
    fields = _fields(deployment)
    return any(fields[field] is not None for field, name in FIELDS.items() if name == annotation)


def _zone_position(deployment: MachineDeployment, zones: Sequence[str]) -> int | None:
    zone = deployment.spec.template.spec.node_template.metadata.labels.get(names.ZONE_LABEL, "")
    if zone in zones:
        return zones.index(zone)
    own = deployment.spec.zone_index
    if own is not None or FIELDS["zoneIndex"] in deployment.metadata.annotations:
        return None
    return zone_index(deployment)


def _index(deployment: MachineDeployment) -> int:
    found = _count("zoneIndex", deployment.spec.zone_index, deployment.metadata.annotations)
    if found is None:
        found = zone_index(deployment)
    if found is None:
        annotation = FIELDS["zoneIndex"]
        raise PoolDefinitionError(
            f"spec.zoneIndex: required where the name does not end in -z1, -z2 …,"
            f" or annotation {annotation}"
        )
    return found


def _count(field: str, value: int | None, annotations: Mapping[str, str]) -> int | None:
    text = annotations.get(FIELDS[field]) if value is None else str(value)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text) or int(text) > MAX_INT32:
        where = f"spec.{field}" if value is not None else FIELDS[field]
        raise PoolDefinitionError(f"{where}: {text!r} is not a number from 0 to {MAX_INT32}")
    return int(text)


def _share(
    field: str, value: int | str | None, annotations: Mapping[str, str], default: int
) -> int | str:
    text = annotations.get(FIELDS[field]) if value is None else str(value)
    if text is None:
        return default
    if _PERCENTAGE.fullmatch(text):
        return text
    if not _NUMBER.fullmatch(text) or int(text) > MAX_INT32:
        where = f"spec.{field}" if value is not None else FIELDS[field]
        raise PoolDefinitionError(
            f"{where}: {text!r} is neither a number nor a percentage like 25%"
        )
    return int(text)


def _strategy(text: str) -> SizingStrategy:
    if not text:
        return sizing.DEFAULT_STRATEGY
    for strategy in sizing.STRATEGIES:
        if text == strategy:
            return strategy
    choices = ", ".join(sizing.STRATEGIES)
    raise PoolDefinitionError(f"spec.sizingStrategy: {text!r} is unknown, choose one of {choices}")
