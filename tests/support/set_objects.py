"""Builders of ManagedSeedSets and of the objects around them."""

from typing import Any

from tests.support.builders import merged
from tests.support.landscape_objects import raw_seed
from webhook.kube.meta import Draft

LABELS = {"set": "leaf"}


def make_set(name: str = "leaf", replicas: int = 3, **spec: Any) -> Draft:
    """A set whose replicas' Shoots run on the seed `parent`."""
    default: Draft = {
        "replicas": replicas,
        "selector": {"matchLabels": LABELS},
        "template": {
            "metadata": {"labels": LABELS},
            "spec": {
                "seedTemplate": {
                    "metadata": {"labels": LABELS},
                    "spec": {"provider": {"type": "aws", "region": "eu-west-1"}},
                }
            },
        },
        "shootTemplate": {
            "metadata": {"labels": LABELS},
            "spec": {
                "cloudProfileName": "aws",
                "region": "eu-west-1",
                "seedName": "parent",
                "dns": {"domain": "replica-name.example.org"},
                "networking": {
                    "nodes": "10.1.0.0/16",
                    "pods": "10.2.0.0/16",
                    "services": "10.3.0.0/16",
                },
                "provider": {"type": "aws", "workers": [make_pool()]},
                "kubernetes": {
                    "version": "1.35.1",
                    "verticalPodAutoscaler": {"enabled": True},
                },
            },
        },
    }
    return {
        "apiVersion": "seedmanagement.gardener.cloud/v1alpha1",
        "kind": "ManagedSeedSet",
        "metadata": {"name": name, "namespace": "garden"},
        "spec": merged(default, spec),
    }


def make_pool(zones: str = "ab") -> Draft:
    machine = {"type": "large", "image": {"name": "linux", "version": "1.0.0"}}
    return {"name": "pool", "minimum": 3, "maximum": 6, "zones": [*zones], "machine": machine}


def make_parent() -> Draft:
    """The seed that hosts the Shoots of replicas."""
    return raw_seed("parent")


def make_hosted_shoot(name: str, seed: str) -> Draft:
    """A shoot that runs on a seed."""
    return {
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": {"name": name, "namespace": "garden-dev"},
        "spec": {
            "seedName": seed,
            "region": "eu-west-1",
            "provider": {"type": "aws"},
            "kubernetes": {"version": "1.35.1"},
        },
    }


def make_autoscaler(
    target: str = "leaf", utilization: int = 50, most: int = 10, **spec: Any
) -> Draft:
    """A SeedAutoscaler of a set with a target for the utilization of its seeds."""
    metric = {
        "name": "shoots",
        "target": {"type": "Utilization", "averageUtilization": utilization},
    }
    return {
        "apiVersion": "seedmanagement.gardener.cloud/v1beta1",
        "kind": "SeedAutoscaler",
        "metadata": {"name": target, "namespace": "garden"},
        "spec": {
            "scaleTargetRef": {"kind": "ManagedSeedSet", "name": target},
            "minReplicas": 1,
            "maxReplicas": most,
            "metrics": [{"type": "Resource", "resource": metric}],
            **spec,
        },
    }
