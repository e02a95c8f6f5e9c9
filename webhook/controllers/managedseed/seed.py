"""The Seed that a template and a Shoot make together."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Draft, ObjectKey, Raw
from webhook.api.seeds import Seed
from webhook.api.shoots import Networking, Shoot
from webhook.domain import zones
from webhook.runtime.actions import Apply

MANAGER: Final = "espalier-managedseed"
KIND: Final = kind_of_model(Seed)


def template_of(raw: Raw) -> tuple[Draft, bool]:
    """Return a copy of the Seed template, and whether a gardenlet is to register it."""
    spec = raw.get("spec") or {}
    own = spec.get("seedTemplate")
    if own is not None:
        return _copy(own), False
    config = (spec.get("gardenlet") or {}).get("config") or {}
    return _copy(config.get("seedConfig") or {}), True


def complete(template: Draft, managed_seed: ManagedSeed, shoot: Shoot) -> Draft:
    """Fill in what the template leaves to the Shoot, and what a ManagedSeed always adds."""
    spec: Draft = template.setdefault("spec", {})
    _default_from_shoot(spec, shoot)
    given = template.get("metadata") or {}
    labels = {**(given.get("labels") or {}), names.ROLE: names.ROLE_SEED}
    annotations = {**(given.get("annotations") or {}), names.MANAGED_SEED: str(managed_seed.key)}
    follow_zones(spec, labels, shoot)
    if names.SCALE_IN in managed_seed.metadata.annotations:
        scheduling = spec.setdefault("settings", {}).setdefault("scheduling", {})
        scheduling["visible"] = False
    return {"metadata": {"labels": labels, "annotations": annotations}, "spec": spec}


def follow_zones(spec: Draft, labels: Draft, shoot: Shoot) -> None:
    """Make the seed multi-zonal once its Shoot is, unless the template's label says "false"."""
    found = zones.shoot_zones(shoot)
    if len(found) < zones.FEWEST or labels.get(names.MULTI_ZONAL) == "false":
        return
    provider = spec.setdefault("provider", {})
    given = provider.get("zones") or []
    provider["zones"] = [*given, *sorted(found - {*given})]
    labels[names.MULTI_ZONAL] = "true"


def apply(managed_seed: ManagedSeed, wanted: Draft, existing: Seed | None) -> Apply:
    """Write the Seed; taints that others put there for a while stay."""
    spec = wanted["spec"]
    metadata = wanted["metadata"]
    annotations = {**metadata["annotations"], names.TEMPLATE_CHECKSUM: checksum(wanted)}
    if existing is not None and (cordon := _cordon(existing)):
        spec = {**spec, "taints": [*(spec.get("taints") or []), cordon]}
    body = {
        "apiVersion": KIND.api_version,
        "kind": KIND.name,
        "metadata": {
            "name": managed_seed.name,
            "labels": metadata["labels"],
            "annotations": annotations,
            "finalizers": [names.FINALIZER],
        },
        "spec": spec,
    }
    return Apply(KIND, ObjectKey("", managed_seed.name), body, manager=MANAGER)


def is_current(existing: Raw, apply: Apply) -> bool:
    """Tell whether a Seed is as we would write it; fields that others added do not matter."""
    metadata = {**apply.body["metadata"]}
    finalizers = (existing.get("metadata") or {}).get("finalizers") or ()
    return {*metadata.pop("finalizers")} <= {*finalizers} and covers(
        existing, {"metadata": metadata, "spec": apply.body["spec"]}
    )


def covers(actual: Any, wanted: Any) -> bool:
    """Tell whether everything that is wanted is there."""
    if isinstance(wanted, Mapping):
        return isinstance(actual, Mapping) and all(
            covers(actual.get(key), value) for key, value in wanted.items()
        )
    if isinstance(wanted, list) and isinstance(actual, list):
        return len(actual) == len(wanted) and all(map(covers, actual, wanted))
    return bool(actual == wanted)


def checksum(wanted: Any) -> str:
    """Tell two wishes apart: what one drops is no longer there to be compared."""
    encoded = msgspec.json.encode(wanted, order="deterministic")
    return hashlib.sha256(encoded).hexdigest()[:16]


def _cordon(seed: Seed) -> Draft | None:
    for taint in seed.spec.taints:
        if taint.key == names.CORDON_TAINT:
            return {"key": taint.key, **({"value": taint.value} if taint.value else {})}
    return None


def _default_from_shoot(spec: Draft, shoot: Shoot) -> None:
    provider: Draft = spec.setdefault("provider", {})
    networks: Draft = spec.setdefault("networks", {})
    networking = shoot.spec.networking or Networking()
    _default(provider, "type", shoot.spec.provider.type)
    _default(provider, "region", shoot.spec.region)
    _default(provider, "zones", sorted(zones.shoot_zones(shoot)))
    for field in ("nodes", "pods", "services"):
        _default(networks, field, getattr(networking, field))


def _default(draft: Draft, key: str, value: Any) -> None:
    if value and not draft.get(key):
        draft[key] = value


def _copy(template: Raw) -> Draft:
    copied: Draft = msgspec.json.decode(msgspec.json.encode(template))
    return copied
