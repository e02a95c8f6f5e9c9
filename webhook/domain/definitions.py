"""What one MachineDeployment says of its pool, in fields or in their twin annotations."""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from webhook.api import names
from webhook.api.extensions import Cluster, Worker
from webhook.api.machines import MachineDeployment
from webhook.api.meta import Draft
from webhook.domain import sizing
from webhook.domain.sizing import Strategy

FIELDS: Final[Mapping[str, str]] = {
    "poolMinimum": names.POOL_MINIMUM,
    "poolMaximum": names.POOL_MAXIMUM,
    "poolMaxSurge": names.POOL_MAX_SURGE,
    "poolMaxUnavailable": names.POOL_MAX_UNAVAILABLE,
    "zoneIndex": names.POOL_ZONE_INDEX,
    "zoneCount": names.POOL_ZONE_COUNT,
    "sizingStrategy": names.SIZING_STRATEGY,
}
"""Fields of a MachineDeployment's spec, and the annotations that say the same where the served
kind prunes them."""

MOST: Final = 2**31 - 1

_SUFFIX: Final = re.compile(r".*-z([1-9][0-9]{0,3})", re.ASCII | re.DOTALL)
_PERCENTAGE: Final = re.compile(r"[0-9]{1,4}%", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]{1,10}", re.ASCII)


class DefinitionError(ValueError):
    """A MachineDeployment that cannot be part of a pool; the message names field and remedy."""


class Definition(NamedTuple):
    """A pool's numbers as one zone has them."""

    minimum: int
    maximum: int
    position: int
    zones: int | None = None
    strategy: Strategy = sizing.DEFAULT_STRATEGY
    surge: int | str = 1
    unavailable: int | str = 0


def read(deployment: MachineDeployment) -> Definition:
    """Read what a MachineDeployment says of its pool; raises DefinitionError.

    A field counts more than its annotation: where it is served, people see and edit it.
    """
    spec = deployment.spec
    notes = deployment.metadata.annotations
    if deployment.spec.replicas < 0:
        raise DefinitionError(f"spec.replicas: {spec.replicas} is negative")
    minimum = _count("poolMinimum", spec.pool_minimum, notes)
    maximum = _count("poolMaximum", spec.pool_maximum, notes)
    if maximum is None:
        twin = FIELDS["poolMaximum"]
        raise DefinitionError(f"spec.poolMaximum: required, or annotation {twin}")
    if (minimum or 0) > maximum:
        raise DefinitionError(f"spec.poolMinimum: {minimum} is above spec.poolMaximum {maximum}")
    return Definition(
        minimum or 0,
        maximum,
        _index(deployment),
        _count("zoneCount", spec.zone_count, notes) or None,
        _strategy(spec.sizing_strategy or notes.get(FIELDS["sizingStrategy"], "")),
        _share("poolMaxSurge", spec.pool_max_surge, notes, 1),
        _share("poolMaxUnavailable", spec.pool_max_unavailable, notes, 0),
    )


def number(deployment: MachineDeployment, field: str) -> int | None:
    """Read one number of a pool, from its field or its twin; None for what is none."""
    said = {
        "poolMinimum": deployment.spec.pool_minimum,
        "poolMaximum": deployment.spec.pool_maximum,
        "zoneCount": deployment.spec.zone_count,
    }
    try:
        return _count(field, said[field], deployment.metadata.annotations)
    except DefinitionError:
        return None


def zone_index(deployment: MachineDeployment) -> int | None:
    """Tell a zone's place from the end of its name, `-z1` being the first; None if it has none."""
    found = _SUFFIX.fullmatch(deployment.name)
    return int(found.group(1)) - 1 if found else None


def wanted(
    deployment: MachineDeployment, worker: Worker | None, cluster: Cluster | None
) -> Mapping[str, int | str]:
    """Say which fields a MachineDeployment should have by its Worker and its Cluster.

    Where its pool is not defined there, what it says itself is all there is. The place of a zone
    that the definition does not name comes from the end of the MachineDeployment's name.
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
    index = _place(deployment, pool.zones if pool is not None else ())
    if index is not None:
        found["zoneIndex"] = index
    return found


def is_asked_for(deployment: MachineDeployment, cluster: Cluster | None) -> bool:
    """Tell whether anybody wants a pool to be sized at run time: its Shoot, or what it says itself.

    Without that a pool beside a Gardener is nobody's business but its own actuator's.
    """
    spec, notes = deployment.spec, deployment.metadata.annotations
    said = {
        "sizingStrategy": bool(spec.sizing_strategy),
        "poolMaximum": spec.pool_maximum is not None,
    }
    return bool(strategy_of(cluster)) or any(
        is_set or FIELDS[field] in notes for field, is_set in said.items()
    )


def missing(
    deployment: MachineDeployment, worker: Worker | None, cluster: Cluster | None
) -> Mapping[str, str]:
    """List the annotations that would make a MachineDeployment say what its Worker does.

    A field that says so already needs none.
    """
    said = _fields(deployment)
    notes = deployment.metadata.annotations
    return {
        FIELDS[field]: str(value)
        for field, value in wanted(deployment, worker, cluster).items()
        if said[field] != value and notes.get(FIELDS[field]) != str(value)
    }


def complete_from(
    deployment: MachineDeployment, worker: Worker | None, cluster: Cluster | None
) -> MachineDeployment:
    """Give a MachineDeployment what it does not say itself and its Worker or Cluster does.

    What it says counts, though: whoever changes a pool changes its zones one at a time, and both
    numbers are there to be compared only while each zone keeps its own.
    """
    said = deployment.metadata.annotations
    silent = {
        name: text
        for name, text in missing(deployment, worker, cluster).items()
        if name not in said and not _is_set(deployment, name)
    }
    if not silent:
        return deployment
    metadata = msgspec.structs.replace(deployment.metadata, annotations={**said, **silent})
    return msgspec.structs.replace(deployment, metadata=metadata)


def fill(draft: Draft, annotations: Mapping[str, str]) -> None:
    """Put annotations into a draft; a field of the same meaning that contradicts goes."""
    if not annotations:
        return
    draft["metadata"].setdefault("annotations", {}).update(annotations)
    spec = draft.setdefault("spec", {})
    for field, twin in FIELDS.items():
        if twin in annotations:
            spec.pop(field, None)


def strategy_of(cluster: Cluster | None) -> str:
    """Tell the sizing strategy that a Shoot asks for, empty if it asks for none."""
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
    return any(fields[field] is not None for field, twin in FIELDS.items() if twin == annotation)


def _place(deployment: MachineDeployment, zones: Sequence[str]) -> int | None:
    zone = deployment.spec.template.spec.node_template.metadata.labels.get(names.ZONE_LABEL, "")
    if zone in zones:
        return zones.index(zone)
    said = deployment.spec.zone_index
    if said is not None or FIELDS["zoneIndex"] in deployment.metadata.annotations:
        return None
    return zone_index(deployment)


def _index(deployment: MachineDeployment) -> int:
    found = _count("zoneIndex", deployment.spec.zone_index, deployment.metadata.annotations)
    if found is None:
        found = zone_index(deployment)
    if found is None:
        twin = FIELDS["zoneIndex"]
        raise DefinitionError(
            f"spec.zoneIndex: required where the name does not end in -z1, -z2 …,"
            f" or annotation {twin}"
        )
    return found


def _count(field: str, value: int | None, notes: Mapping[str, str]) -> int | None:
    text = notes.get(FIELDS[field]) if value is None else str(value)
    if text is None:
        return None
    if not _NUMBER.fullmatch(text) or int(text) > MOST:
        where = f"spec.{field}" if value is not None else FIELDS[field]
        raise DefinitionError(f"{where}: {text!r} is no number from 0 to {MOST}")
    return int(text)


def _share(
    field: str, value: int | str | None, notes: Mapping[str, str], default: int
) -> int | str:
    text = notes.get(FIELDS[field]) if value is None else str(value)
    if text is None:
        return default
    if _PERCENTAGE.fullmatch(text):
        return text
    if not _NUMBER.fullmatch(text) or int(text) > MOST:
        where = f"spec.{field}" if value is not None else FIELDS[field]
        raise DefinitionError(f"{where}: {text!r} is neither a number nor a percentage like 25%")
    return int(text)


def _strategy(text: str) -> Strategy:
    if not text:
        return sizing.DEFAULT_STRATEGY
    for strategy in sizing.STRATEGIES:
        if text == strategy:
            return strategy
    choices = ", ".join(sizing.STRATEGIES)
    raise DefinitionError(f"spec.sizingStrategy: {text!r} is unknown, choose one of {choices}")
