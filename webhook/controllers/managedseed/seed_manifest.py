"""Renders the Seed of a ManagedSeed from its template and its Shoot."""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.api.shoots import Networking, Shoot
from webhook.domain.seeds import zones
from webhook.domain.sets import scale_in
from webhook.kube.jsontext import deep_copy
from webhook.kube.meta import Draft, ObjectKey, Raw
from webhook.runtime.actions import Apply

MANAGER: Final = "espalier-managedseed"
KIND: Final = kind_of_model(Seed)


def template_of(raw: Raw) -> Draft:
    """Return a copy of the Seed template, or of the one in the gardenlet's configuration."""
    spec = raw.get("spec") or {}
    found = spec.get("seedTemplate")
    if found is None:
        config = (spec.get("gardenlet") or {}).get("config") or {}
        found = config.get("seedConfig") or {}
    template: Draft = deep_copy(found)
    return template


def complete(template: Draft, managed_seed: ManagedSeed, shoot: Shoot) -> Draft:
    """Default the template from the Shoot, and add what every ManagedSeed adds."""
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
    """Make the seed multi-zonal once its Shoot is, unless the template's label is "false"."""
    found = zones.shoot_zones(shoot)
    if len(found) < zones.MIN_ZONES or labels.get(names.MULTI_ZONAL) == "false":
        return
    provider = spec.setdefault("provider", {})
    given = provider.get("zones") or []
    provider["zones"] = [*given, *sorted(found - {*given})]
    labels[names.MULTI_ZONAL] = "true"


def apply(managed_seed: ManagedSeed, wanted: Draft, existing: Seed | None) -> Apply:
    """Apply the Seed, and keep the taint of a cordon.

    The taint is kept with the version that was read: a cordon that was removed meanwhile must not
    come back, because nobody would remove it again.
    """
    spec = wanted["spec"]
    metadata = wanted["metadata"]
    annotations = {**metadata["annotations"], names.TEMPLATE_CHECKSUM: checksum(wanted)}
    if _is_hidden_by_us(managed_seed, existing):
        annotations[names.SCALE_IN] = scale_in.HIDDEN
    version: Draft = {}
    if existing is not None and (cordon := _cordon(existing)):
        spec = {**spec, "taints": [*(spec.get("taints") or []), cordon]}
        version = {"resourceVersion": existing.resource_version}
    body = {
        "apiVersion": KIND.api_version,
        "kind": KIND.name,
        "metadata": {
            "name": managed_seed.name,
            **version,
            "labels": metadata["labels"],
            "annotations": annotations,
            "finalizers": [names.FINALIZER],
        },
        "spec": spec,
    }
    return Apply(KIND, ObjectKey("", managed_seed.name), body, manager=MANAGER)


def is_current(existing: Raw, apply: Apply) -> bool:
    """Return whether a Seed has all that an apply sets; fields of other owners do not matter."""
    metadata = {**apply.body["metadata"]}
    metadata.pop("resourceVersion", None)
    finalizers = (existing.get("metadata") or {}).get("finalizers") or ()
    return {*metadata.pop("finalizers")} <= {*finalizers} and covers(
        existing, {"metadata": metadata, "spec": apply.body["spec"]}
    )


def covers(actual: Any, wanted: Any) -> bool:
    """Return whether a value has everything that is wanted."""
    if isinstance(wanted, Mapping):
        return isinstance(actual, Mapping) and all(
            covers(actual.get(key), value) for key, value in wanted.items()
        )
    if isinstance(wanted, list) and isinstance(actual, list):
        return len(actual) == len(wanted) and all(map(covers, actual, wanted))
    return bool(actual == wanted)


def checksum(wanted: Any) -> str:
    """Return a checksum, which also shows what a template no longer sets."""
    encoded = msgspec.json.encode(wanted, order="deterministic")
    return hashlib.sha256(encoded).hexdigest()[:16]


def _is_hidden_by_us(managed_seed: ManagedSeed, existing: Seed | None) -> bool:
    """Return whether the removal of a replica hides its seed, and not a user or the template."""
    if names.SCALE_IN not in managed_seed.metadata.annotations:
        return False
    if existing is not None:
        return existing.is_visible or names.SCALE_IN in existing.metadata.annotations
    template = managed_seed.seed_template
    return template is None or Seed(spec=template.spec).is_visible


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
