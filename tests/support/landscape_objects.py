"""Builders of Seeds, Shoots and related Structs; a test states only what matters to it."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeVar

import msgspec

from webhook.api.cloudprofiles import CloudProfile
from webhook.api.core import ConfigMap
from webhook.api.managedseeds import ManagedSeed
from webhook.api.projects import Project
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.kube.meta import Draft, Object

T = TypeVar("T", bound=Object)

REGION = "eu-west-1"
MULTI_ZONE = {"enabled": True, "type": "multi-zone"}
SINGLE_ZONE = {"enabled": True, "type": "single-zone"}
ANYWAY = {
    "enabled": True,
    "failureDomain": {"type": "multi-zone", "whenUnsatisfied": "ScheduleAnyway"},
}


def read(model: type[T], raw: Draft) -> T:
    return msgspec.json.decode(msgspec.json.encode(raw), type=model)


def raw_seed(
    name: str = "seed",
    *,
    region: str = REGION,
    provider: str = "aws",
    zones: Sequence[str] = ("a",),
    shoots: int | str | None = 250,
    allocatable: Mapping[str, Any] | None = None,
    ready: bool = True,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Draft:
    limits = {} if shoots is None else {"shoots": str(shoots)}
    limits |= {key: str(value) for key, value in (allocatable or {}).items()}
    return {
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Seed",
        "metadata": {
            "name": name,
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
        },
        "spec": {
            "provider": {"type": provider, "region": region, "zones": [*zones]},
            "networks": {
                "nodes": "10.240.0.0/16",
                "pods": "10.241.0.0/16",
                "services": "10.242.0.0/16",
            },
            **spec,
        },
        "status": {
            "conditions": [{"type": "GardenletReady", "status": "True" if ready else "False"}],
            "lastOperation": {"type": "Reconcile", "state": "Succeeded"},
            "capacity": limits,
            "allocatable": limits,
        },
    }


def make_seed(name: str = "seed", **changes: Any) -> Seed:
    return read(Seed, raw_seed(name, **changes))


def multi_zonal(name: str = "wide", **changes: Any) -> Seed:
    return make_seed(name, **{"zones": ("a", "b", "c"), **changes})


def raw_shoot(
    name: str = "shoot",
    *,
    namespace: str = "garden-dev",
    region: str = REGION,
    provider: str = "aws",
    ha: Mapping[str, Any] | None = None,
    affinity: str = "",
    seed: str = "",
    actual_seed: str = "",
    uid: str = "",
    zones: Sequence[str] = ("a",),
    annotations: Mapping[str, str] | None = None,
    pool: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Draft:
    control_plane: Draft = {}
    worker = {"name": "pool", "minimum": 1, "maximum": 3, "zones": [*zones], **(pool or {})}
    if ha is not None:
        control_plane["highAvailability"] = dict(ha)
    if affinity:
        control_plane["regionAffinity"] = affinity
    return {
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "uid": uid or f"uid-{namespace}-{name}",
            "resourceVersion": "1",
            "annotations": dict(annotations or {}),
        },
        "spec": {
            "cloudProfile": {"name": provider},
            "region": region,
            "provider": {"type": provider, "workers": [worker]},
            "kubernetes": {"controlPlane": control_plane} if control_plane else {},
            **({"seedName": seed} if seed else {}),
            **spec,
        },
        "status": {"seedName": actual_seed} if actual_seed else {},
    }


def make_shoot(name: str = "shoot", **changes: Any) -> Shoot:
    return read(Shoot, raw_shoot(name, **changes))


def make_profile(name: str = "aws", **spec: Any) -> CloudProfile:
    return read(CloudProfile, {"metadata": {"name": name}, "spec": {"type": name, **spec}})


def make_project(name: str = "dev", namespace: str = "garden-dev") -> Project:
    return read(Project, {"metadata": {"name": name}, "spec": {"namespace": namespace}})


def make_region_config(data: Mapping[str, str], profiles: str = "aws") -> ConfigMap:
    return read(
        ConfigMap,
        {
            "metadata": {
                "name": "distances",
                "namespace": "garden",
                "labels": {"scheduling.gardener.cloud/purpose": "region-config"},
                "annotations": {"scheduling.gardener.cloud/cloudprofiles": profiles},
            },
            "data": dict(data),
        },
    )


def make_managed_seed(name: str, **changes: Any) -> ManagedSeed:
    metadata = {"name": name, "namespace": "garden", **changes.pop("metadata", {})}
    return read(ManagedSeed, {"metadata": metadata, "spec": {"shoot": {"name": name}, **changes}})


def amounts(**changes: int) -> dict[str, Decimal]:
    return {key.replace("_", "-"): Decimal(value) for key, value in changes.items()}
