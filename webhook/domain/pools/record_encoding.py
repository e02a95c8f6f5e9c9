"""The ConfigMap of a pool record: its name and its data."""

import hashlib
import re
from typing import Any, Final, TypeVar

import msgspec

from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.domain.pools.discovery import PoolKey
from webhook.domain.pools.pool_record import (
    HeldOut,
    OpenIncrease,
    PermitGrant,
    PoolRecord,
    SizeTarget,
    ZoneState,
)
from webhook.kube.meta import Draft, Model

V = TypeVar("V")
E = TypeVar("E", bound=Model)

_PREFIX: Final = "espalier-pool-"
_NAMES: Final = (
    "targets", "increases", "zones", "grants", "heldOut", "seenThrough", "disagreeing",
)  # fmt: skip
_INVALID: Final = re.compile(r"[^a-z0-9-]+")


def name_of(key: PoolKey) -> str:
    """Return the name of a pool's ConfigMap: readable and unique."""
    readable = _INVALID.sub("-", f"{key.namespace}-{key.name}".lower()).strip("-")[:160]
    digest = hashlib.sha256("\0".join(key).encode()).hexdigest()[:10]
    return f"{_PREFIX}{readable}-{digest}"


def decode(config_map: ConfigMap) -> PoolRecord | None:
    """Decode a record; None for another ConfigMap. Malformed entries are ignored."""
    if names.POOL_LABEL not in config_map.metadata.labels:
        return None
    key = _section(config_map, "pool", dict[str, str])
    try:
        pool = PoolKey(key["namespace"], key["discovery"], key["name"])
    except KeyError:
        return None
    return PoolRecord(
        pool,
        targets=_entries(config_map, "targets", SizeTarget),
        increases=_entries(config_map, "increases", OpenIncrease),
        zones=_entries(config_map, "zones", ZoneState),
        grants=_entries(config_map, "grants", PermitGrant),
        held_out=_entries(config_map, "heldOut", HeldOut),
        disagreeing=config_map.data.get("disagreeing", ""),
        seen_through=_section(config_map, "seenThrough", dict[str, str]),
        version=config_map.resource_version,
    )


def encode(record: PoolRecord, namespace: str) -> Draft:
    """Encode a record as a ConfigMap, with the version on which an update is conditional."""
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
        "increases": record.increases,
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


def merge_patch(record: PoolRecord, namespace: str) -> Draft:
    """Encode a record as a merge patch, which removes sections that are empty now."""
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
