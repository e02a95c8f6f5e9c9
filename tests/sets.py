"""Builders of sets of managed seeds, and of the landscape that they stand in."""

from typing import Any

from tests.builders import merged
from tests.landscapes import raw_seed
from webhook.api.meta import Draft

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
    """The seed that the Shoots of replicas run on."""
    return raw_seed("parent")


def make_guest(name: str, seed: str) -> Draft:
    """A shoot of somebody that runs on a seed."""
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
