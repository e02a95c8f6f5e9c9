"""Defaults of Pods and of pod templates."""

from typing import Any, Final

from webhook.kube.meta import Draft

_FILE_MODE: Final = 0o644
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_FILE_SOURCES: Final = ("secret", "configMap", "downwardAPI", "projected")


def set_pod_defaults(obj: Draft) -> None:
    """Set the defaults of a Pod."""
    spec = obj.setdefault("spec", {})
    spec.setdefault("enableServiceLinks", True)
    for container in _containers(spec):
        # A limit without a request is also the request.
        limits = (container.get("resources") or {}).get("limits") or {}
        if limits:
            requests = container["resources"].setdefault("requests", {})
            for name, value in limits.items():
                requests.setdefault(name, value)
    set_pod_spec_defaults(spec)


def set_pod_template_defaults(holder: Draft) -> None:
    """Set the defaults of the pod template of a workload."""
    set_pod_spec_defaults(holder.setdefault("template", {}).setdefault("spec", {}))


def set_pod_spec_defaults(spec: Draft) -> None:
    """Set the defaults of a pod spec, which Pods and pod templates share."""
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    for container in _containers(spec):
        _set_container_defaults(container, bool(spec.get("hostNetwork")))
    for volume in spec.get("volumes") or ():
        _set_volume_defaults(volume)


def _containers(spec: Draft) -> list[Draft]:
    kinds = ("initContainers", "containers", "ephemeralContainers")
    return [container for kind in kinds for container in spec.get(kind) or ()]


def _set_container_defaults(container: Draft, host_network: bool) -> None:
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
            _set_probe_defaults(container[name])
    for hook in (container.get("lifecycle") or {}).values():
        _set_http_get_defaults(hook)


def _pull_policy(image: str) -> str:
    """Return Always for an image without a tag or with `latest`, else IfNotPresent."""
    if "@" in image:
        return "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in ("", "latest") else "IfNotPresent"


def _set_probe_defaults(probe: Draft) -> None:
    for name, value in (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ):
        if not probe.get(name):
            probe[name] = value
    _set_http_get_defaults(probe)
    if probe.get("grpc") is not None:
        probe["grpc"].setdefault("service", "")


def _set_http_get_defaults(action: Any) -> None:
    request = action.get("httpGet") if isinstance(action, dict) else None
    if request is not None:
        request.setdefault("path", "/")
        request.setdefault("scheme", "HTTP")


def _set_volume_defaults(volume: Draft) -> None:
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
