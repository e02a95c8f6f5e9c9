"""The Deployment of a gardenlet."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from webhook.api.shoots import Shoot
from webhook.controllers.managedseed.gardenlet_files import MountedFile
from webhook.controllers.managedseed.seed_manifest import checksum
from webhook.kube.meta import Draft, Raw

NAME: Final = "gardenlet"
PRIORITY_CLASS_NAME: Final = "gardener-system-critical"
IMAGE: Final = "europe-docker.pkg.dev/gardener-project/releases/gardener/gardenlet"
LABELS: Final = {"app": "gardener", "role": NAME}
METRICS_PORT: Final = 2729

_PROBE_PORT: Final = 2728
_USER: Final = 65532
_TOLERATION_SECONDS: Final = 60
_RESOURCES: Final = {"requests": {"cpu": "100m", "memory": "100Mi"}}
_NETWORK: Final = "networking.resources.gardener.cloud"
# Gardener's resource manager leaves these pods as they are, and lets them reach control planes.
_POD_LABELS: Final = {
    "projected-token-mount.resources.gardener.cloud/skip": "true",
    "seccompprofile.resources.gardener.cloud/skip": "true",
    **{
        f"{_NETWORK}/to-{target}": "allowed"
        for target in (
            "all-shoots-etcd-main-client-tcp-8080",
            "all-shoots-kube-apiserver-tcp-443",
            "all-shoots-prometheus-shoot-tcp-9090",
            "prometheus-aggregate-tcp-9090",
            "prometheus-cache-tcp-9090",
            "prometheus-seed-tcp-9090",
        )
    },
}
_HOST: Final = "KUBERNETES_SERVICE_HOST"
_TOKEN_VOLUME: Final = "kube-api-access-gardener"  # noqa: S105 - the name of a volume
_TOKEN_FOLDER: Final = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path


def deployment(
    shoot: Shoot, config: Raw, given: Raw, files: Sequence[MountedFile], bootstrap: str | None
) -> Draft:
    """Return the body of the Deployment but for its metadata."""
    replicas = or_default(given.get("replicaCount"), 2)
    pod: Draft = {
        "priorityClassName": PRIORITY_CLASS_NAME,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER,
            "runAsGroup": _USER,
            "fsGroup": _USER,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(shoot, config, given, files)],
        "tolerations": [*(given.get("tolerations") or ()), *_tolerations(config)],
        "volumes": [
            _token_volume(),
            *(each.volume for each in files),
            *(given.get("additionalVolumes") or ()),
        ],
        **_account(config, given),
    }
    if spread := [*_spread(replicas, _zones(config))]:
        pod["topologySpreadConstraints"] = spread
    labels = {**LABELS, **_POD_LABELS, **(given.get("podLabels") or {})}
    annotations = _annotations(config, given, files, bootstrap)
    return {
        "replicas": replicas,
        "revisionHistoryLimit": or_default(given.get("revisionHistoryLimit"), 2),
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod},
    }


def port(config: Raw, server: str, default: int) -> int:
    """Return the port of one of a gardenlet's servers: `metrics` or `healthProbes`."""
    servers = config.get("server") or {}
    return int((servers.get(server) or {}).get("port") or default)


def or_default(value: Any, default: Any) -> Any:
    """Return a value, or the default if it is not given."""
    return default if value is None else value


def _annotations(
    config: Raw, given: Raw, files: Sequence[MountedFile], bootstrap: str | None
) -> Draft:
    """Return annotations that change with every file, so that the pods are replaced."""
    annotations: Draft = {
        "prometheus.io/scrape": "true",
        "prometheus.io/scheme": "http",
        "prometheus.io/name": NAME,
        "prometheus.io/port": str(port(config, "metrics", METRICS_PORT)),
        **(given.get("podAnnotations") or {}),
        **{f"checksum/{each.name}": checksum(each.content) for each in files},
    }
    if bootstrap is not None:
        annotations["checksum/gardenlet-kubeconfig-bootstrap"] = checksum(bootstrap)
    return annotations


def _account(config: Raw, given: Raw) -> Draft:
    """Use the ServiceAccount, unless a kubeconfig leads to the gardenlet's own cluster."""
    if (config.get("seedClientConnection") or {}).get("kubeconfig"):
        return {"automountServiceAccountToken": False}
    return {"serviceAccountName": given.get("serviceAccountName") or NAME}


def _container(shoot: Shoot, config: Raw, given: Raw, files: Sequence[MountedFile]) -> Draft:
    image = given.get("image") or {}
    token = {"name": _TOKEN_VOLUME, "mountPath": _TOKEN_FOLDER, "readOnly": True}
    mounts = [{"name": each.name, "mountPath": each.folder, "readOnly": True} for each in files]
    container: Draft = {
        "name": NAME,
        "image": image.get("ref") or _image(image),
        "imagePullPolicy": image.get("pullPolicy") or "IfNotPresent",
        "args": [f"--config={files[0].path}"],
        "env": [*_environment(shoot, given, files)],
        "resources": given.get("resources") or _RESOURCES,
        "securityContext": {"allowPrivilegeEscalation": False},
        "volumeMounts": [token, *mounts, *(given.get("additionalVolumeMounts") or ())],
    }
    if or_default(given.get("enableHealthProbes"), True):
        container["livenessProbe"] = _probe(config, "/healthz", 15)
        container["readinessProbe"] = _probe(config, "/readyz", 10)
    return container


def _probe(config: Raw, path: str, delay: int) -> Draft:
    there = {"path": path, "port": port(config, "healthProbes", _PROBE_PORT), "scheme": "HTTP"}
    return {"httpGet": there, "initialDelaySeconds": delay, "timeoutSeconds": 5}


def _image(image: Raw) -> str:
    repository, tag = image.get("repository") or IMAGE, image.get("tag") or "latest"
    return f"{repository}{'@' if tag.startswith('sha256:') else ':'}{tag}"


def _environment(shoot: Shoot, given: Raw, files: Sequence[MountedFile]) -> Iterator[Draft]:
    """Have the gardenlet use the external name of its API server, which its certificate has."""
    added = given.get("env") or ()
    names = {each.get("name") for each in added}
    yield {"name": "NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}
    for each in files:
        if each.variable:
            yield {"name": each.variable, "value": each.path}
    domain = shoot.spec.dns.domain if shoot.spec.dns is not None else ""
    if domain and _HOST not in names:
        yield {"name": _HOST, "value": f"api.{domain}"}
    yield from added


def _tolerations(config: Raw) -> Iterator[Draft]:
    """Tolerate a lost node for a minute instead of five."""
    given = config.get("nodeToleration") or {}
    for taint, field in (("not-ready", "NotReady"), ("unreachable", "Unreachable")):
        seconds = given.get(f"default{field}TolerationSeconds", _TOLERATION_SECONDS)
        if seconds is not None:
            yield {
                "effect": "NoExecute",
                "key": f"node.kubernetes.io/{taint}",
                "operator": "Exists",
                "tolerationSeconds": seconds,
            }


def _zones(config: Raw) -> int:
    spec = (config.get("seedConfig") or {}).get("spec") or {}
    return len((spec.get("provider") or {}).get("zones") or ()) or 1


def _spread(replicas: int, zones: int) -> Iterator[Draft]:
    """Spread several gardenlets over nodes if possible, and over the seed's zones always."""
    if replicas <= 1:
        return
    common = {
        "maxSkew": 1,
        "labelSelector": {"matchLabels": LABELS},
        "matchLabelKeys": ["pod-template-hash"],
    }
    nodes = {"topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "ScheduleAnyway"}
    yield {**common, **nodes}
    if zones > 1:
        yield {
            **common,
            "minDomains": min(replicas, zones),
            "topologyKey": "topology.kubernetes.io/zone",
            "whenUnsatisfiable": "DoNotSchedule",
        }


def _token_volume() -> Draft:
    namespace = {"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}
    authority = {"key": "ca.crt", "path": "ca.crt"}
    sources = [
        {"serviceAccountToken": {"path": "token", "expirationSeconds": 43200}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [authority]}},
        {"downwardAPI": {"items": [namespace]}},
    ]
    return {"name": _TOKEN_VOLUME, "projected": {"defaultMode": 0o644, "sources": sources}}
