"""Shoots as in real landscapes, about 9 KB each as the API server sends them."""

from collections.abc import Iterator
from typing import Any

_REGIONS = ("eu-west-1", "eu-central-1", "us-east-1", "ap-south-1")
_CONDITIONS = (
    *("APIServerAvailable", "ControlPlaneHealthy", "ObservabilityComponentsHealthy"),
    *("EveryNodeReady", "SystemComponentsHealthy"),
)


def make_shoot(number: int) -> dict[str, Any]:
    region = _REGIONS[number % len(_REGIONS)]
    name = f"shoot-{number:05}"
    return {
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": {
            "name": name,
            "namespace": "garden-bench",
            "labels": {"shoot.gardener.cloud/status": "healthy", "team": f"team-{number % 97}"},
            "annotations": {
                "gardener.cloud/created-by": f"user-{number % 500}@example.org",
                "note": f"{name} " * 12,
            },
            "finalizers": ["gardener"],
        },
        "spec": _spec(number, name, region),
        "status": _status(number, name),
    }


def make_surroundings() -> Iterator[dict[str, Any]]:
    """Yield what policies read for these shoots: profile, bindings, a quota, seeds."""
    core = "core.gardener.cloud/v1beta1"
    types = ("m5.large", "m5.xlarge", "m5.2xlarge", "c5.large", "c5.xlarge", "r5.large")
    yield {
        "apiVersion": core,
        "kind": "CloudProfile",
        "metadata": {"name": "aws"},
        "spec": {
            "type": "aws",
            "regions": [
                {"name": region, "zones": [{"name": f"{region}{zone}"} for zone in "abc"]}
                for region in _REGIONS
            ],
            "machineTypes": [
                {"name": name, "cpu": "4", "gpu": "0", "memory": "16Gi"} for name in types
            ],
            "volumeTypes": [{"name": "gp3", "class": "standard"}],
            "machineImages": [{"name": "gardenlinux", "versions": [{"version": "1592.9.0"}]}],
        },
    }
    quota = {"scope": {"kind": "Project"}, "metrics": {"cpu": "10M", "memory": "100Pi"}}
    yield {
        "apiVersion": core,
        "kind": "Quota",
        "metadata": {"name": "all", "namespace": "garden"},
        "spec": quota,
    }
    for number in range(40):
        yield {
            "apiVersion": "security.gardener.cloud/v1alpha1",
            "kind": "CredentialsBinding",
            "metadata": {"name": f"binding-{number}", "namespace": "garden-bench"},
            "quotas": [{"name": "all", "namespace": "garden"}] if number < 2 else [],
        }
    for number in range(60):
        yield {
            "apiVersion": core,
            "kind": "Seed",
            "metadata": {"name": f"seed-{number}"},
            "spec": {"provider": {"type": "aws", "region": "eu-west-1"}},
            "status": {"allocatable": {"shoots": "250"}},
        }


def _spec(number: int, name: str, region: str) -> dict[str, Any]:
    return {
        "cloudProfile": {"kind": "CloudProfile", "name": "aws"},
        "region": region,
        "purpose": "production",
        "credentialsBindingName": f"binding-{number % 40}",
        "seedName": f"seed-{number % 60}",
        "schedulerName": "default-scheduler",
        "kubernetes": {
            "version": "1.33.2",
            "kubeAPIServer": {
                "requests": {"maxMutatingInflight": 400, "maxNonMutatingInflight": 800},
                "enableAnonymousAuthentication": False,
            },
            "kubeControllerManager": {"nodeCIDRMaskSize": 24},
            "kubeProxy": {"mode": "IPTables", "enabled": True},
            "kubelet": {"failSwapOn": True, "maxPods": 110},
            "verticalPodAutoscaler": {"enabled": True},
        },
        "networking": {
            "type": "calico",
            "pods": "100.96.0.0/11",
            "nodes": f"10.{number % 250}.0.0/16",
            "services": "100.64.0.0/13",
            "ipFamilies": ["IPv4"],
            "providerConfig": {
                "apiVersion": "calico.networking.extensions.gardener.cloud/v1alpha1"
            },
        },
        "dns": {"domain": f"{name}.bench.example.org"},
        "maintenance": {
            "timeWindow": {"begin": "220000+0100", "end": "230000+0100"},
            "autoUpdate": {"kubernetesVersion": True, "machineImageVersion": True},
        },
        "provider": {
            "type": "aws",
            "infrastructureConfig": {
                "apiVersion": "aws.provider.extensions.gardener.cloud/v1alpha1",
                "kind": "InfrastructureConfig",
                "networks": {
                    "vpc": {"cidr": f"10.{number % 250}.0.0/16"},
                    "zones": [
                        {
                            "name": f"{region}{zone}",
                            "internal": f"10.{number % 250}.112.0/22",
                            "public": f"10.{number % 250}.96.0/22",
                            "workers": f"10.{number % 250}.0.0/19",
                        }
                        for zone in "abc"
                    ],
                },
            },
            "workers": [_worker(number, pool, region) for pool in range(3)],
        },
    }


def _worker(number: int, pool: int, region: str) -> dict[str, Any]:
    return {
        "name": f"pool-{pool}",
        "minimum": 3,
        "maximum": 9,
        "maxSurge": 1,
        "maxUnavailable": 0,
        "zones": [f"{region}{zone}" for zone in "abc"],
        "machine": {
            "type": "m5.xlarge",
            "image": {"name": "gardenlinux", "version": "1592.9.0"},
            "architecture": "amd64",
        },
        "volume": {"type": "gp3", "size": "50Gi"},
        "cri": {"name": "containerd"},
        "labels": {"pool": f"pool-{pool}", "team": f"team-{number % 97}"},
        "systemComponents": {"allow": pool == 0},
    }


def _status(number: int, name: str) -> dict[str, Any]:
    return {
        "conditions": [
            {
                "type": condition,
                "status": "True",
                "reason": "HealthCheckSucceeded",
                "message": f"All checks of {condition} for {name} have passed.",
                "lastTransitionTime": "2026-01-04T10:00:00Z",
                "lastUpdateTime": "2026-01-05T10:00:00Z",
            }
            for condition in _CONDITIONS
        ],
        "gardener": {"id": "0123456789abcdef", "name": "gardenlet-0", "version": "v1.150.0"},
        "lastOperation": {
            "type": "Reconcile",
            "state": "Succeeded",
            "progress": 100,
            "description": "Shoot cluster has been successfully reconciled.",
            "lastUpdateTime": "2026-01-05T10:00:00Z",
        },
        "observedGeneration": 1,
        "seedName": f"seed-{number % 60}",
        "technicalID": f"shoot--bench--{number:05}",
        "uid": f"00000000-0000-4000-8000-{number:012}",
    }
