"""The demo landscape for a real Gardener: CredentialsBindings, registered types and a set."""

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.api import names
from webhook.dev.landscapes.demo import CORE, PROJECTS, PROVIDERS
from webhook.kube.meta import Draft

SET: Final = "leaf"
"""The ManagedSeedSet; it is short because Gardener limits the length of its replicas' names."""

_SEEDS: Final = "seedmanagement.gardener.cloud"
_GARDEN: Final = names.GARDEN_NAMESPACE
_LOCAL: Final = "local"
_PARENT: Final = {"demo": "parent"}
_MEMBERS: Final = {"demo": SET}
_NETWORKS: Final = {"nodes": "10.90.0.0/16", "pods": "10.190.0.0/16", "services": "10.191.0.0/16"}
_REPLICA_NETWORKS: Final = {
    "nodes": "10.91.0.0/16",
    "pods": "10.92.0.0/16",
    "services": "10.93.0.0/16",
}
_GARDENER_SCHEDULED: Final = f"garden-{PROJECTS[-1]}"
"""The project whose shoots gardener-scheduler places, for comparison."""


def adapt(drafts: Iterable[Draft]) -> Iterator[Draft]:
    """Adapt the demo: Gardener rejects extension types without a ControllerRegistration."""
    yield {
        "apiVersion": CORE,
        "kind": "ControllerRegistration",
        "metadata": {"name": "demo-dns"},
        "spec": {
            "deployment": {"deploymentRefs": [{"name": "local"}]},
            "resources": [{"kind": "DNSRecord", "type": each.name} for each in PROVIDERS],
        },
    }
    for draft in drafts:
        match draft["kind"]:
            case "SecretBinding":
                yield _credentials_binding(draft)
            case "Shoot":
                yield _shoot(draft)
            case _:
                yield draft
    yield from _managed_seed_set()


def _managed_seed_set() -> Iterator[Draft]:
    """Yield a ManagedSeedSet that Espalier rolls and autoscales, and the seed for its shoots."""
    yield {
        "apiVersion": CORE,
        "kind": "Seed",
        "metadata": {"name": "local-1", "labels": _PARENT},
        "spec": {
            "provider": {"type": _LOCAL, "region": _LOCAL, "zones": ["local-a"]},
            "networks": _NETWORKS,
            "dns": _dns(),
            "ingress": {"domain": "local-1.demo.example", "controller": {"kind": "nginx"}},
        },
    }
    yield {
        "apiVersion": f"{_SEEDS}/v1alpha1",
        "kind": "ManagedSeedSet",
        "metadata": {"name": SET, "namespace": _GARDEN, "annotations": {names.ROLLOUT: "true"}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": _MEMBERS},
            "template": {
                "metadata": {"labels": _MEMBERS},
                "spec": {"gardenlet": {"config": _gardenlet_config()}},
            },
            "shootTemplate": {"metadata": {"labels": _MEMBERS}, "spec": _shoot_template()},
        },
    }
    target = {"type": "Utilization", "averageUtilization": 80}
    metric = {"type": "Resource", "resource": {"name": "shoots", "target": target}}
    yield {
        "apiVersion": f"{_SEEDS}/v1beta1",
        "kind": "SeedAutoscaler",
        "metadata": {"name": SET, "namespace": _GARDEN},
        "spec": {
            "scaleTargetRef": {"kind": "ManagedSeedSet", "name": SET},
            "minReplicas": 1,
            "maxReplicas": 3,
            "metrics": [metric],
        },
    }


def _shoot_template() -> Draft:
    pool = {"name": _LOCAL, "machine": {"type": _LOCAL}, "minimum": 1, "maximum": 2}
    surge = {"maxSurge": 1, "maxUnavailable": 0, "zones": ["local-a"]}
    return {
        "cloudProfile": {"kind": "CloudProfile", "name": _LOCAL},
        "credentialsBindingName": _GARDEN,
        "region": _LOCAL,
        "schedulerName": names.SCHEDULER_NAME,
        "seedSelector": {"matchLabels": _PARENT},
        "kubernetes": {"version": "1.35.3", "verticalPodAutoscaler": {"enabled": True}},
        "maintenance": {"autoUpdate": {"kubernetesVersion": False, "machineImageVersion": False}},
        "networking": {"type": "calico", **_REPLICA_NETWORKS},
        "provider": {"type": _LOCAL, "workers": [{**pool, **surge}]},
    }


def _gardenlet_config() -> Draft:
    return {
        "apiVersion": "gardenlet.config.gardener.cloud/v1alpha1",
        "kind": "GardenletConfiguration",
        "resources": {"capacity": {"shoots": "10"}},
        "seedConfig": {"metadata": {"labels": _MEMBERS}, "spec": {"dns": _dns()}},
    }


def _dns() -> Draft:
    credentials = {"apiVersion": "v1", "kind": "Secret", "name": "dns", "namespace": _GARDEN}
    provider = {"type": _LOCAL, "credentialsRef": credentials}
    return {"provider": provider, "internal": {**provider, "domain": "internal.demo.example"}}


def _credentials_binding(draft: Draft) -> Draft:
    reference = {"apiVersion": "v1", "kind": "Secret", **draft["secretRef"]}
    return {
        "apiVersion": "security.gardener.cloud/v1alpha1",
        "kind": "CredentialsBinding",
        "metadata": draft["metadata"],
        "provider": draft["provider"],
        "credentialsRef": reference,
        "quotas": draft["quotas"],
    }


def _shoot(draft: Draft) -> Draft:
    spec = {**draft["spec"]}
    spec["credentialsBindingName"] = spec.pop("secretBindingName")
    if draft["metadata"]["namespace"] != _GARDENER_SCHEDULED:
        spec["schedulerName"] = names.SCHEDULER_NAME
    return {**draft, "spec": spec}
