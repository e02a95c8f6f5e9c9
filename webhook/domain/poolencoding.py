"""The record of a worker pool as a ConfigMap: its name, and what stands in it."""

import hashlib
import re
from typing import Any, Final, TypeVar

import msgspec

from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.meta import Draft, Model
from webhook.domain.poolrecord import Grant, HeldOut, Record, Target, ZoneState
from webhook.domain.pools import PoolKey

V = TypeVar("V")
E = TypeVar("E", bound=Model)

_PREFIX: Final = "espalier-pool-"
_NAMES: Final = ("targets", "zones", "grants", "heldOut", "seenThrough", "disagreeing")
_UNFIT: Final = re.compile(r"[^a-z0-9-]+")


def name_of(key: PoolKey) -> str:
    """Name the ConfigMap of a pool: readable, and different for every pool."""
    readable = _UNFIT.sub("-", f"{key.namespace}-{key.name}".lower()).strip("-")[:160]
    digest = hashlib.sha256("\0".join(key).encode()).hexdigest()[:10]
    return f"{_PREFIX}{readable}-{digest}"


def decode(config_map: ConfigMap) -> Record | None:
    """Read a record; None for a ConfigMap that is none. What is not ours in it is left out."""
    if names.POOL_LABEL not in config_map.metadata.labels:
        return None
    key = _section(config_map, "pool", dict[str, str])
    try:
        pool = PoolKey(key["namespace"], key["discovery"], key["name"])
    except KeyError:
        return None
    return Record(
        pool,
        targets=_entries(config_map, "targets", Target),
        zones=_entries(config_map, "zones", ZoneState),
        grants=_entries(config_map, "grants", Grant),
        held_out=_entries(config_map, "heldOut", HeldOut),
        disagreeing=config_map.data.get("disagreeing", ""),
        seen_through=_section(config_map, "seenThrough", dict[str, str]),
        version=config_map.resource_version,
    )


def encode(record: Record, namespace: str) -> Draft:
    """Write a record as a ConfigMap; an existing one is replaced only at the version read."""
    metadata: Draft = {
        "name": name_of(record.key),
        "namespace": namespace,
        "labels": {names.POOL_LABEL: "record", names.MANAGED_BY: names.FIELD_MANAGER},
    }
    if record.version:
        metadata["resourceVersion"] = record.version
    sections: dict[str, Any] = {
        "pool": record.key._asdict(),
        "targets": record.targets,
        "zones": record.zones,
        "grants": record.grants,
        "heldOut": record.held_out,
        "seenThrough": record.seen_through,
    }
    data = {
        name: msgspec.json.encode(content).decode() for name, content in sections.items() if content
    }
    if record.disagreeing:
        data["disagreeing"] = record.disagreeing
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def change(record: Record, namespace: str) -> Draft:
    """Write what a record says as a merge patch, so that what it no longer says goes."""
    return {"data": {**dict.fromkeys(_NAMES), **encode(record, namespace)["data"]}}


def _section(config_map: ConfigMap, name: str, shape: type[V]) -> V:
    try:
        return msgspec.json.decode(config_map.data.get(name, "{}"), type=shape)
    except msgspec.MsgspecError:
        return shape()


def _entries(config_map: ConfigMap, name: str, shape: type[E]) -> dict[str, E]:
    entries = {}
    for key, value in _section(config_map, name, dict[str, Any]).items():
        try:
            entries[key] = msgspec.convert(value, shape)
        except msgspec.ValidationError:
            continue
    return entries
