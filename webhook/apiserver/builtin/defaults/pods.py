"""Defaults of Pods and of everything that holds a pod template."""

from typing import Any

Object = dict[str, Any]

_FILE_MODE = 0o644
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_FILE_SOURCES = ("secret", "configMap", "downwardAPI", "projected")


def pod(obj: Object) -> None:
    """Fill in a Pod."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("enableServiceLinks", True)
    for container in _containers(spec):
        # What may be used at most is also what is asked for, unless that is said.
        limits = (container.get("resources") or {}).get("limits") or {}
        if limits:
            requests = container["resources"].setdefault("requests", {})
            for name, value in limits.items():
                requests.setdefault(name, value)
    pod_spec(spec)


def template(holder: Object) -> None:
    """Fill in the pod template of a workload."""
    pod_spec(holder.setdefault("template", {}).setdefault("spec", {}))


def pod_spec(spec: Object) -> None:
    """Fill in what Pods and templates share."""
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    for container in _containers(spec):
        _container(container, bool(spec.get("hostNetwork")))
    for volume in spec.get("volumes") or ():
        _volume(volume)


def _containers(spec: Object) -> list[Object]:
    kinds = ("initContainers", "containers", "ephemeralContainers")
    return [container for kind in kinds for container in spec.get(kind) or ()]


def _container(container: Object, host_network: bool) -> None:
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if host_network and "containerPort" in port:
            port.setdefault("hostPort", port["containerPort"])
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("fieldRef")
        if reference is not None:
            reference.setdefault("apiVersion", "v1")
    for name in _PROBES:
        if container.get(name) is not None:
            _probe(container[name])
    for hook in (container.get("lifecycle") or {}).values():
        _http_get(hook)


def _pull_policy(image: str) -> str:
    """Without a tag, or with the one that moves, an image is pulled each time."""
    if "@" in image:
        return "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _probe(probe: Object) -> None:
    for name, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not probe.get(name):
            probe[name] = value
    _http_get(probe)
    if probe.get("grpc") is not None:
        probe["grpc"].setdefault("service", "")


def _http_get(action: Any) -> None:
    request = action.get("httpGet") if isinstance(action, dict) else None
    if request is not None:
        request.setdefault("path", "/")
        request.setdefault("scheme", "HTTP")


def _volume(volume: Object) -> None:
    if not any(key != "name" for key in volume):
        volume["emptyDir"] = {}
    for name in _FILE_SOURCES:
        if volume.get(name) is not None:
            volume[name].setdefault("defaultMode", _FILE_MODE)
    if volume.get("hostPath") is not None:
        volume["hostPath"].setdefault("type", "")
    for item in (volume.get("downwardAPI") or {}).get("items") or ():
        (item.get("fieldRef") or {}).setdefault("apiVersion", "v1")
    for source in (volume.get("projected") or {}).get("sources") or ():
        if source.get("serviceAccountToken") is not None:
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
        for item in (source.get("downwardAPI") or {}).get("items") or ():
            (item.get("fieldRef") or {}).setdefault("apiVersion", "v1")
