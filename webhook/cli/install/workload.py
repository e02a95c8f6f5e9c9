"""What runs in the cluster: Deployment, Service, and what protects them."""

from collections.abc import Iterator
from typing import Any, Final

from webhook.api import names
from webhook.api.meta import Draft
from webhook.cli.install.layout import (
    GROUPS_PORT,
    KUBECONFIG_SECRET,
    NAME,
    PLAIN_PORT,
    SERVING_PORT,
    Layout,
    labels,
    metadata,
    selector,
)

_NOBODY: Final = 65532
# Drain until quiet (45 s at most), then requests under way (10 s), then the lease.
_GRACE_SECONDS: Final = 75
_SCRATCH: Final = "/tmp"  # noqa: S108 -- a volume of the pod's own
_GARDEN: Final = "/etc/espalier/garden"


def namespaces(layout: Layout) -> Iterator[Draft]:
    """Make the namespaces that the other objects need; that of the garden is never ours."""
    garden = layout.garden_namespace
    if layout.namespace != garden:
        enforce = {"pod-security.kubernetes.io/enforce": "restricted"}
        yield {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": metadata(layout.namespace, labels=enforce),
        }
    if layout.has_garden and not layout.beside_gardener:
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": garden}}


def priority_class() -> Draft:
    """Make the priority of the pods: admission stops others when it cannot run."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": metadata(NAME),
        "value": 1_000_000,
        "description": "admission and scheduling of a Gardener-style landscape",
    }


def deployment(layout: Layout) -> Draft:
    """Make the Deployment; every replica serves, one of them leads."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(NAME, layout.namespace),
        "spec": {
            "replicas": layout.replicas,
            "revisionHistoryLimit": 3,
            "selector": {"matchLabels": selector()},
            # A replica goes only after its successor is ready, or calls would fail in between.
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
            },
            "template": {
                "metadata": {"labels": {**labels(), **selector()}},
                "spec": _pod(layout),
            },
        },
    }


def _pod(layout: Layout) -> Draft:
    return {
        "serviceAccountName": NAME,
        "priorityClassName": NAME,
        "automountServiceAccountToken": not layout.is_split,
        "terminationGracePeriodSeconds": _GRACE_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _NOBODY,
            "runAsGroup": _NOBODY,
            "fsGroup": _NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": {"podAntiAffinity": _apart("kubernetes.io/hostname")},
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": names.ZONE_LABEL,
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": selector()},
            }
        ],
        "containers": [_container(layout)],
        "volumes": list(_volumes(layout).values()),
    }


def _apart(topology: str) -> Draft:
    term = {"labelSelector": {"matchLabels": selector()}, "topologyKey": topology}
    return {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "podAffinityTerm": term}
        ]
    }


def _container(layout: Layout) -> Draft:
    return {
        "name": NAME,
        "image": layout.image,
        "args": list(_arguments(layout)),
        "env": list(_environment(layout)),
        "ports": [
            {"name": "https", "containerPort": SERVING_PORT},
            {"name": "http", "containerPort": PLAIN_PORT},
            {"name": "nodegroups", "containerPort": GROUPS_PORT},
        ],
        "startupProbe": _probe("/healthz", periodSeconds=2, failureThreshold=60),
        "livenessProbe": _probe("/healthz", periodSeconds=10, failureThreshold=6),
        "readinessProbe": _probe("/readyz", periodSeconds=2, failureThreshold=2),
        # No CPU limit: throttling would show as slow admission for everybody.
        "resources": {
            "requests": {"cpu": "250m", "memory": "256Mi"},
            "limits": {"memory": "1Gi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [
            {"name": volume["name"], "mountPath": path, "readOnly": path != _SCRATCH}
            for path, volume in _volumes(layout).items()
        ],
    }


def _arguments(layout: Layout) -> Iterator[str]:
    yield "serve"
    yield f"--port={SERVING_PORT}"
    yield f"--http-port={PLAIN_PORT}"
    if layout.is_split:
        yield f"--kubeconfig={_GARDEN}/kubeconfig"
        yield f"--advertise-url={service_url(layout)}"


def _environment(layout: Layout) -> Iterator[Draft]:
    yield {"name": "ESPALIER_NAMESPACE", "valueFrom": _field("metadata.namespace")}
    yield {"name": "ESPALIER_IDENTITY", "valueFrom": _field("metadata.name")}
    if layout.garden_namespace != names.GARDEN_NAMESPACE:
        for section in ("ADMISSION", "SCHEDULER"):
            name = f"ESPALIER_{section}__GARDEN_NAMESPACE"
            yield {"name": name, "value": layout.garden_namespace}


def service_url(layout: Layout) -> str:
    """Say where the API server of a virtual garden, which runs beside the pods, finds them."""
    return f"https://{NAME}.{layout.namespace}.svc:443"


def _volumes(layout: Layout) -> dict[str, Draft]:
    """List volumes by the place where they are mounted; the root file system is read-only."""
    volumes: dict[str, Draft] = {_SCRATCH: {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}}}
    if layout.is_split:
        secret = {"secretName": KUBECONFIG_SECRET}
        volumes[_GARDEN] = {"name": "garden", "secret": secret}
    return volumes


def _field(path: str) -> Draft:
    return {"fieldRef": {"fieldPath": path}}


def _probe(path: str, **timing: Any) -> Draft:
    return {"httpGet": {"path": path, "port": "http"}, "timeoutSeconds": 2, **timing}


def service(layout: Layout) -> Draft:
    """Make the Service that webhooks and the extender are called through."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(NAME, layout.namespace),
        "spec": {
            "selector": selector(),
            "ports": [
                {"name": "https", "port": 443, "targetPort": "https"},
                {"name": "http", "port": PLAIN_PORT, "targetPort": "http"},
                {"name": "nodegroups", "port": GROUPS_PORT, "targetPort": "nodegroups"},
            ],
        },
    }


def disruption_budget(layout: Layout) -> Draft:
    """Make the budget: at most one replica goes at a time, broken ones always may."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(NAME, layout.namespace),
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": selector()},
        },
    }


def network_policy(layout: Layout) -> Draft:
    """Make the policy: in to our own ports, out to DNS and to API servers."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(NAME, layout.namespace),
        "spec": {
            "podSelector": {"matchLabels": selector()},
            "policyTypes": ["Ingress", "Egress"],
            # API servers have no pods to select by, so anybody may knock; TLS tells who it is.
            "ingress": [{"ports": _ports("TCP", SERVING_PORT, PLAIN_PORT, GROUPS_PORT)}],
            "egress": [
                # Policies see the port behind the Service; CoreDNS of Gardener's listens on 8053.
                {"ports": [*_ports("UDP", 53, 8053), *_ports("TCP", 53, 8053)]},
                {"ports": _ports("TCP", 443, 6443)},
            ],
        },
    }


def _ports(protocol: str, *numbers: int) -> list[Draft]:
    return [{"protocol": protocol, "port": number} for number in numbers]
