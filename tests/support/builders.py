"""Minimal valid objects as JSON documents; a test states only what matters to it."""

import copy
from collections.abc import Mapping
from typing import Any

CORE = "core.gardener.cloud/v1beta1"
SEEDMANAGEMENT = "seedmanagement.gardener.cloud/v1alpha1"
CREDENTIALS = {"apiVersion": "v1", "kind": "Secret", "name": "d", "namespace": "garden"}


def merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge changes into an object: objects are merged, other values replaced, None removes."""
    result = copy.deepcopy(dict(base))
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping) and isinstance(result.get(key), Mapping):
            result[key] = merged(result[key], value)
        else:
            result[key] = copy.deepcopy(value)
    return result


def make_object(
    api_version: str, kind: str, name: str, namespace: str = "", **rest: Any
) -> dict[str, Any]:
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return merged({"apiVersion": api_version, "kind": kind, "metadata": metadata}, rest)


def make_worker(name: str = "pool", zones: str | list[str] = "a", **changes: Any) -> dict[str, Any]:
    """A worker pool with a node for each zone; zones are letters or names."""
    worker = {
        "name": name,
        "minimum": 1,
        "maximum": max(1, len(zones)),
        "zones": [*zones],
        "machine": {
            "type": "small",
            "architecture": "amd64",
            "image": {"name": "linux", "version": "2.0.0"},
        },
        "volume": {"type": "fast", "size": "50Gi"},
    }
    return merged(worker, changes)


def make_shoot(
    name: str = "shoot",
    namespace: str = "garden-dev",
    *,
    workers: list[dict[str, Any]] | None = None,
    spec: Mapping[str, Any] | None = None,
    **rest: Any,
) -> dict[str, Any]:
    """A shoot with one pool, on provider local in region here."""
    default = {
        "cloudProfileName": "local",
        "region": "here",
        "provider": {
            "type": "local",
            "workers": [make_worker()] if workers is None else workers,
        },
        "networking": {
            "nodes": "10.1.0.0/16",
            "pods": "10.2.0.0/16",
            "services": "10.3.0.0/16",
        },
        "kubernetes": {"version": "1.33.1"},
    }
    return make_object(CORE, "Shoot", name, namespace, spec=merged(default, spec or {}), **rest)


def make_seed_shoot(name: str = "seed", zones: str = "abc", **spec: Any) -> dict[str, Any]:
    """A shoot in the garden that can become a seed."""
    fit = {
        "dns": {"domain": f"{name}.example.org"},
        "kubernetes": {"verticalPodAutoscaler": {"enabled": True}},
    }
    workers = [make_worker(zones=zones, minimum=3, maximum=max(3, len(zones)))]
    return merged(make_shoot(name, "garden", workers=workers, spec=fit), {"spec": spec})


def make_cloud_profile(name: str = "local", **spec: Any) -> dict[str, Any]:
    """A profile with one region of three zones, two machine types and two volume types."""
    default = {
        "type": "local",
        "kubernetes": {"versions": [{"version": "1.33.1"}]},
        "machineImages": [
            {
                "name": "linux",
                "versions": [
                    {"version": "1.9.0"},
                    {"version": "2.0.0"},
                    {"version": "2.1.0"},
                    {"version": "3.0.0", "classification": "preview"},
                ],
            }
        ],
        "machineTypes": [
            {"name": "small", "cpu": "2", "gpu": "0", "memory": "8Gi"},
            {"name": "large", "cpu": "8", "gpu": "1", "memory": "32Gi"},
        ],
        "volumeTypes": [
            {"name": "fast", "class": "standard"},
            {"name": "faster", "class": "premium"},
        ],
        "regions": [{"name": "here", "zones": [{"name": zone} for zone in "abc"]}],
    }
    return make_object(CORE, "CloudProfile", name, spec=merged(default, spec))


def make_seed(name: str = "seed", *, zones: str = "a", **rest: Any) -> dict[str, Any]:
    """A seed with room for 250 shoots, on provider local in region here."""
    default: dict[str, Any] = {
        "metadata": {"labels": {}},
        "spec": {
            "provider": {"type": "local", "region": "here", "zones": [*zones]},
            "networks": {
                "nodes": "10.1.0.0/16",
                "pods": "10.2.0.0/16",
                "services": "10.3.0.0/16",
            },
            "ingress": {"domain": f"ingress.{name}.example.org", "controller": {"kind": "nginx"}},
            "dns": {
                "provider": {"type": "d", "credentialsRef": CREDENTIALS},
                "internal": {
                    "type": "d",
                    "domain": "internal.example.org",
                    "credentialsRef": CREDENTIALS,
                },
            },
        },
        "status": {"allocatable": {"shoots": "250"}},
    }
    return merged(make_object(CORE, "Seed", name, **default), rest)


def make_seed_template(name: str = "seed", zones: str = "abc", **changes: Any) -> dict[str, Any]:
    """The Seed template that matches `make_seed_shoot` of that name."""
    spec = make_seed(name, zones=zones)["spec"]
    return merged({"metadata": {"labels": {"set": "s"}}, "spec": spec}, changes)


def make_managed_seed(
    name: str = "seed", *, template: Mapping[str, Any] | None = None, **spec: Any
) -> dict[str, Any]:
    """A ManagedSeed with a gardenlet, as it is after defaulting."""
    default = {
        "shoot": {"name": name},
        "gardenlet": {
            "bootstrap": "BootstrapToken",
            "mergeWithParent": True,
            "config": {
                "apiVersion": "gardenlet.config.gardener.cloud/v1alpha1",
                "kind": "GardenletConfiguration",
                "resources": {"capacity": {"shoots": 250}},
                "seedConfig": make_seed_template(name) if template is None else template,
            },
        },
    }
    return make_object(SEEDMANAGEMENT, "ManagedSeed", name, "garden", spec=merged(default, spec))


def make_managed_seed_set(name: str = "set", **spec: Any) -> dict[str, Any]:
    """A set of one replica whose labels match its selector."""
    managed_seed, shoot = make_managed_seed(), make_seed_shoot()
    labels = {"metadata": {"labels": {"set": "s"}}}
    del managed_seed["spec"]["shoot"]
    default = {
        "replicas": 1,
        "selector": {"matchLabels": {"set": "s"}},
        "template": labels | {"spec": managed_seed["spec"]},
        "shootTemplate": labels | {"spec": shoot["spec"]},
        "updateStrategy": {"type": "RollingUpdate"},
        "revisionHistoryLimit": 10,
    }
    return make_object(SEEDMANAGEMENT, "ManagedSeedSet", name, "garden", spec=merged(default, spec))
