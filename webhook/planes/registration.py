"""What a garden cluster holds before its first Seed: Gardener's APIs, extensions, one project."""

import base64
from collections.abc import Mapping, Sequence

from webhook.planes.kubectl import Manifest

CORE = "core.gardener.cloud/v1beta1"
GARDEN = "garden"
SERVICE = "gardener-apiserver"
API_VERSIONS = (
    ("core.gardener.cloud", "v1beta1"),
    ("core.gardener.cloud", "v1"),
    ("seedmanagement.gardener.cloud", "v1alpha1"),
    ("operations.gardener.cloud", "v1alpha1"),
    ("security.gardener.cloud", "v1alpha1"),
)
DOMAIN = "shoots.espalier.test"
DNS_SECRET = "dns"  # noqa: S105  a name

_PROVIDERS = ("alicloud", "aws", "azure", "gcp", "openstack", "local")
_DNS = ("alicloud-dns", "aws-route53", "azure-dns", "google-clouddns", "openstack-designate")
EXTENSION_TYPES: Mapping[str, Sequence[str]] = {
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


def api_services(port: int, ca: bytes) -> list[Manifest]:
    """Register gardener-apiserver with the aggregation layer of kube-apiserver."""
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": SERVICE, "namespace": GARDEN},
        # A Service with endpoints cannot lead here: endpoints may not be loopback addresses.
        "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]},
    }
    return [
        _project_namespace(GARDEN, GARDEN),
        service,
        *(_api_service(*each, port, ca) for each in API_VERSIONS),
    ]


def extensions(types: Mapping[str, Sequence[str]] = EXTENSION_TYPES) -> list[Manifest]:
    """Name every extension type in use: Seeds and Shoots of others are refused."""
    deployment = {
        "apiVersion": "core.gardener.cloud/v1",
        "kind": "ControllerDeployment",
        "metadata": {"name": "local"},
        # Never fetched: what would deploy it is a gardenlet, and nobody runs one here.
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


def project(name: str, namespace: str, provider: str = "local") -> list[Manifest]:
    """Make a project with its namespace, and credentials for its shoots under its own name."""
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


def default_domain() -> Manifest:
    """Let Gardener give each Shoot a domain, without which a ManagedSeed cannot use it."""
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


def dns_credentials() -> Manifest:
    """Keep what Seeds refer to: without it Gardener installs no extension for any of them."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": DNS_SECRET, "namespace": GARDEN},
    }


def cloud_profile(name: str = "local", regions: Sequence[str] = ("local",)) -> Manifest:
    """Make a profile of the provider `local`, each region with three zones."""
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


def shoot(name: str, namespace: str, project_name: str) -> Manifest:
    """Make the smallest Shoot with workers that the above lets in and a seed can take."""
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


def _project_namespace(name: str, project_name: str) -> Manifest:
    labels = {"gardener.cloud/role": "project", "project.gardener.cloud/name": project_name}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def _api_service(group: str, version: str, port: int, ca: bytes) -> Manifest:
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
