"""Manifests of a garden cluster without seeds: APIServices, extensions, projects, CloudProfile."""

import base64
from collections.abc import Mapping, Sequence
from typing import Final

from webhook.kube.meta import Raw

CORE: Final = "core.gardener.cloud/v1beta1"
GARDEN: Final = "garden"
SERVICE: Final = "gardener-apiserver"
API_VERSIONS: Final = (
    ("core.gardener.cloud", "v1beta1"),
    ("core.gardener.cloud", "v1"),
    ("seedmanagement.gardener.cloud", "v1alpha1"),
    ("operations.gardener.cloud", "v1alpha1"),
    ("security.gardener.cloud", "v1alpha1"),
)
DOMAIN: Final = "shoots.espalier.test"
DNS_SECRET: Final = "dns"  # noqa: S105  a name

_PROVIDERS: Final = ("alicloud", "aws", "azure", "gcp", "openstack", "local")
_DNS: Final = ("alicloud-dns", "aws-route53", "azure-dns", "google-clouddns", "openstack-designate")
EXTENSION_TYPES: Final[Mapping[str, Sequence[str]]] = {
    "Infrastructure": _PROVIDERS,
    "ControlPlane": _PROVIDERS,
    "Worker": _PROVIDERS,
    "BackupBucket": _PROVIDERS,
    "BackupEntry": _PROVIDERS,
    "DNSRecord": (*_DNS, "local"),
    "OperatingSystemConfig": ("gardenlinux", "flatcar", "suse-chost", "ubuntu", "local"),
    "Network": ("calico", "cilium"),
    "ContainerRuntime": ("gvisor",),
}
"""The registered extension types, by kind."""


def api_services(port: int, ca: bytes) -> list[Raw]:
    """Return the APIServices that register gardener-apiserver with kube-apiserver."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": GARDEN},
        # Endpoints must not be loopback addresses, so the Service is an external name.
        "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]},
    }
    return [
        _project_namespace(GARDEN, GARDEN),
        service,
        *(_api_service(*each, port, ca) for each in API_VERSIONS),
    ]


def extensions(types: Mapping[str, Sequence[str]] = EXTENSION_TYPES) -> list[Raw]:
    """Return the registration of extension types; Gardener rejects others in Seeds and Shoots."""
    deployment = {
        "apiVersion": "core.gardener.cloud/v1",
        "kind": "ControllerDeployment",
        "metadata": {"name": "local"},
        # Never pulled: only a gardenlet would deploy it, and none runs here.
        "helm": {"ociRepository": {"ref": "charts.espalier.test/local:v1"}},
    }
    registration = {
        "apiVersion": CORE,
        "kind": "ControllerRegistration",
        "metadata": {"name": "local"},
        "spec": {
            "deployment": {"deploymentRefs": [{"name": "local"}]},
            "resources": [{"kind": kind, "type": t} for kind, all_ in types.items() for t in all_],
        },
    }
    return [deployment, registration]


def project(name: str, namespace: str, provider: str = "local") -> list[Raw]:
    """Return a project with its namespace and a CredentialsBinding of the project's name."""
    place = {"name": name, "namespace": namespace}
    return [
        _project_namespace(namespace, name),
        {
            "apiVersion": CORE,
            "kind": "Project",
            "metadata": {"name": name},
            "spec": {"namespace": namespace},
        },
        {"apiVersion": "v1", "kind": "Secret", "metadata": place},
        {
            "apiVersion": "security.gardener.cloud/v1alpha1",
            "kind": "CredentialsBinding",
            "metadata": place,
            "provider": {"type": provider},
            "credentialsRef": {"apiVersion": "v1", "kind": "Secret", **place},
        },
    ]


def default_domain() -> Raw:
    """Return the default domain, from which Shoots get the domain that ManagedSeeds require."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "default-domain",
            "namespace": GARDEN,
            "labels": {"gardener.cloud/role": "default-domain"},
            "annotations": {
                "dns.gardener.cloud/provider": "local",
                "dns.gardener.cloud/domain": DOMAIN,
            },
        },
    }


def dns_credentials() -> Raw:
    """Return the Secret that Seeds refer to; without it Gardener installs no extensions."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": DNS_SECRET, "namespace": GARDEN},
    }


def cloud_profile(name: str = "local", regions: Sequence[str] = ("local",)) -> Raw:
    """Return a CloudProfile of the provider `local`; each region has three zones."""
    return {
        "apiVersion": CORE,
        "kind": "CloudProfile",
        "metadata": {"name": name},
        "spec": {
            "type": "local",
            "regions": [
                {"name": region, "zones": [{"name": f"{region}-{zone}"} for zone in "abc"]}
                for region in regions
            ],
            "kubernetes": {
                "versions": [{"version": v} for v in ("1.36.0", "1.35.4", "1.35.3", "1.34.3")]
            },
            "machineTypes": [{"name": "local", "cpu": "2", "gpu": "0", "memory": "8Gi"}],
            "machineImages": [
                {
                    "name": "local",
                    "versions": [{"version": "1.0.0", "cri": [{"name": "containerd"}]}],
                }
            ],
        },
    }


def shoot(name: str, namespace: str, project_name: str) -> Raw:
    """Return a minimal Shoot with workers that Gardener accepts with the objects above."""
    worker = {"name": "local", "machine": {"type": "local"}, "minimum": 1, "maximum": 2}
    return {
        "apiVersion": CORE,
        "kind": "Shoot",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "cloudProfile": {"kind": "CloudProfile", "name": "local"},
            "credentialsBindingName": project_name,
            "region": "local",
            "networking": {
                "type": "calico",
                "nodes": "10.10.0.0/16",
                "pods": "10.11.0.0/16",
                "services": "10.12.0.0/16",
            },
            "provider": {"type": "local", "workers": [worker]},
        },
    }


def _project_namespace(name: str, project_name: str) -> Raw:
    labels = {"gardener.cloud/role": "project", "project.gardener.cloud/name": project_name}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def _api_service(group: str, version: str, port: int, ca: bytes) -> Raw:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{version}.{group}"},
        "spec": {
            "group": group,
            "version": version,
            "service": {"name": SERVICE, "namespace": GARDEN, "port": port},
            "caBundle": base64.b64encode(ca).decode(),
            "groupPriorityMinimum": 9999,
            "versionPriority": 20 if version == "v1beta1" else 19,
        },
    }
