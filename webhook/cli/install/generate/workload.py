"""The workload: namespaces, Deployment, Service, and the policies that protect them."""

import hashlib
import math
from collections.abc import Iterator
from typing import Any, Final

from webhook.api import names
from webhook.cli.install.generate import permissions
from webhook.cli.install.layout import (
    CLIENT_CA_MAP,
    GROUPS_PORT,
    KUBECONFIG_SECRET,
    NAME,
    PLAIN_PORT,
    SERVING_PORT,
    SETTINGS_KEY,
    SETTINGS_MAP,
    Layout,
    labels,
    metadata,
    selector,
)
from webhook.domain.features import ALL_FEATURES, FEATURE_NAMES
from webhook.kube.meta import Draft

_NOBODY: Final = 65532
MEMORY_LIMIT: Final = "1Gi"
"""The default of the setting maxBodyBytes follows from it."""

_SCRATCH: Final = "/tmp"  # noqa: S108 -- a volume of the pod's own
_GARDEN: Final = "/etc/espalier/garden"
_SETTINGS: Final = "/etc/espalier/settings"
_CLIENT_CA: Final = "/etc/espalier/client-ca"


def namespaces(layout: Layout) -> Iterator[Draft]:
    """Generate the namespaces; the garden namespace has no labels of the installation."""
    garden = layout.garden_namespace
    if layout.namespace != garden:
        enforce = {"pod-security.kubernetes.io/enforce": "restricted"}
        yield {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": metadata(layout.namespace, labels=enforce),
        }
    uses_garden = any(rule.scope == "garden" for rule in permissions.granted(layout))
    if layout.has_garden and not layout.beside_gardener and uses_garden:
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": garden}}


def priority_class() -> Draft:
    """Generate the PriorityClass of the pods: without admission, other requests fail."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": metadata(NAME),
        "value": 1_000_000,
        "description": "admission and scheduling of a Gardener-style landscape",
    }


def settings(layout: Layout) -> Draft:
    """Generate the ConfigMap with the settings file of the server."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(SETTINGS_MAP, layout.namespace),
        "data": {SETTINGS_KEY: layout.settings_text},
    }


def deployment(layout: Layout) -> Draft:
    """Generate the Deployment; every replica serves, one of them leads."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(NAME, layout.namespace),
        "spec": {
            "replicas": layout.replicas,
            "revisionHistoryLimit": 3,
            "selector": {"matchLabels": selector()},
            # A replica stops only after its successor is ready, or calls would fail in between.
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
            },
            "template": {
                "metadata": {
                    "labels": {**labels(), **selector()},
                    "annotations": {names.SETTINGS_CHECKSUM: _checksum(layout.settings_text)},
                },
                "spec": _pod(layout),
            },
        },
    }


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _pod(layout: Layout) -> Draft:
    return {
        "serviceAccountName": NAME,
        "priorityClassName": NAME,
        "automountServiceAccountToken": not layout.is_split,
        "terminationGracePeriodSeconds": math.ceil(layout.stop_seconds),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _NOBODY,
            "runAsGroup": _NOBODY,
            "fsGroup": _NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": {"podAntiAffinity": _anti_affinity("kubernetes.io/hostname")},
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


def _anti_affinity(topology: str) -> Draft:
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
        # No CPU limit: throttling would slow down all requests of the cluster.
        "resources": {
            "requests": {"cpu": "250m", "memory": "256Mi"},
            "limits": {"memory": MEMORY_LIMIT},
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
    yield f"--config={_SETTINGS}/{SETTINGS_KEY}"
    yield f"--port={SERVING_PORT}"
    yield f"--http-port={PLAIN_PORT}"
    if layout.features != ALL_FEATURES:
        chosen = [each for each in FEATURE_NAMES if each in layout.features]
        yield f"--features={','.join(chosen)}"
    if layout.own:
        yield f"--own={','.join(layout.own)}"
    if layout.is_split:
        yield f"--kubeconfig={_GARDEN}/kubeconfig"
        yield f"--advertise-url={layout.webhook_url or service_url(layout)}"


def _environment(layout: Layout) -> Iterator[Draft]:
    yield {"name": "ESPALIER_NAMESPACE", "valueFrom": _field("metadata.namespace")}
    yield {"name": "ESPALIER_IDENTITY", "valueFrom": _field("metadata.name")}
    if layout.garden_namespace != names.GARDEN_NAMESPACE:
        yield {"name": "ESPALIER_GARDEN_NAMESPACE", "value": layout.garden_namespace}


def service_url(layout: Layout) -> str:
    """Return the URL of the Service for the API server of a virtual garden."""
    return f"https://{NAME}.{layout.namespace}.svc:443"


def _volumes(layout: Layout) -> dict[str, Draft]:
    """Return the volumes by mount path; the root file system is read-only."""
    volumes: dict[str, Draft] = {
        _SCRATCH: {"name": "tmp", "emptyDir": {"sizeLimit": "64Mi"}},
        _SETTINGS: {"name": "settings", "configMap": {"name": SETTINGS_MAP}},
        _CLIENT_CA: {"name": "client-ca", "configMap": {"name": CLIENT_CA_MAP, "optional": True}},
    }
    if layout.is_split:
        secret = {"secretName": KUBECONFIG_SECRET}
        volumes[_GARDEN] = {"name": "garden", "secret": secret}
    return volumes


def _field(path: str) -> Draft:
    return {"fieldRef": {"fieldPath": path}}


def _probe(path: str, **timing: Any) -> Draft:
    return {"httpGet": {"path": path, "port": "http"}, "timeoutSeconds": 2, **timing}


def service(layout: Layout) -> Draft:
    """Generate the Service of webhooks, extender and node groups."""
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
    """Generate the PodDisruptionBudget: one replica at a time, unhealthy ones always."""
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
