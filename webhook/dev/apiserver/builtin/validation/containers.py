"""Validation of containers."""

import re
from typing import Any, Final

from webhook.dev.apiserver.builtin.validation import checks, securitycontexts
from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.kube import fielderrors, identifiers, quantity
from webhook.kube.meta import Raw

_VARIABLE: Final = re.compile(r"[ -<>-~]+")
_VARIABLE_ERROR: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than "
    "'='"
)
_VALUE_SOURCES: Final = (
    "fieldRef",
    "resourceFieldRef",
    "configMapKeyRef",
    "secretKeyRef",
    "fileKeyRef",
)
_STANDARD_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage", "storage")
_FIELD_PATHS: Final = re.compile(
    r"metadata\.(name|namespace|uid|(annotations|labels)(\['.+'\])?)"
    r"|spec\.(nodeName|serviceAccountName)|status\.(hostIPs?|podIPs?)"
)
_HANDLERS: Final = ("exec", "httpGet", "tcpSocket", "grpc")
_PROBE_NUMBERS: Final = (
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
)


def validate_container(path: str, container: Raw, volumes: set[Any], host_network: bool) -> Errors:
    """Validate a container, except for its name."""
    image = container.get("image", "")
    if not image:
        yield fielderrors.required(f"{path}.image")
    elif image != image.strip():
        detail = "must not have leading or trailing whitespace"
        yield fielderrors.invalid(f"{path}.image", image, detail)
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(name) is not None:
            yield from _probe(f"{path}.{name}", name, container[name])
    policy = container.get("terminationMessagePolicy")
    allowed = ("File", "FallbackToLogsOnError")
    yield from checks.one_of(f"{path}.terminationMessagePolicy", policy, allowed)
    yield from _ports(f"{path}.ports", container.get("ports") or (), host_network)
    for index, variable in enumerate(container.get("env") or ()):
        yield from _variable(f"{path}.env[{index}]", variable)
    yield from _mounts(f"{path}.volumeMounts", container.get("volumeMounts") or (), volumes)
    pull_policy = container.get("imagePullPolicy")
    yield from checks.one_of(
        f"{path}.imagePullPolicy", pull_policy, ("Always", "IfNotPresent", "Never")
    )
    yield from _resources(f"{path}.resources", container.get("resources") or {})
    yield from securitycontexts.validate_container_context(
        f"{path}.securityContext", container.get("securityContext") or {}
    )


def _ports(path: str, ports: Any, host_network: bool) -> Errors:
    names: set[str] = set()
    for index, port in enumerate(ports):
        where = f"{path}[{index}]"
        name = port.get("name")
        if name:
            problems = list(checks.port_name_problems(name))
            yield from checks.invalid_each(f"{where}.name", name, problems)
            if not problems and name in names:
                yield fielderrors.duplicate(f"{where}.name", name)
            names.add(name)
        number = port.get("containerPort", 0)
        if number == 0:
            yield fielderrors.required(f"{where}.containerPort")
        else:
            yield from checks.port(f"{where}.containerPort", number)
        if port.get("hostPort"):
            yield from checks.port(f"{where}.hostPort", port["hostPort"])
        yield from checks.one_of(f"{where}.protocol", port.get("protocol"), checks.PROTOCOLS)
        if host_network and port.get("hostPort") not in (None, number):
            detail = "must match `containerPort` when `hostNetwork` is true"
            yield fielderrors.invalid(f"{where}.hostPort", port["hostPort"], detail)


def _variable(path: str, variable: Raw) -> Errors:
    name = variable.get("name", "")
    if not name:
        yield fielderrors.required(f"{path}.name")
    elif not _VARIABLE.fullmatch(name):
        yield fielderrors.invalid(f"{path}.name", name, _VARIABLE_ERROR)
    source = variable.get("valueFrom")
    if source is None:
        return
    where = f"{path}.valueFrom"
    specified = [kind for kind in _VALUE_SOURCES if source.get(kind) is not None]
    if not specified:
        listed = ", ".join(f"`{kind}`" for kind in _VALUE_SOURCES[:-1])
        detail = f"must specify one of: {listed} or `{_VALUE_SOURCES[-1]}`"
        yield fielderrors.invalid(where, "", detail)
    elif variable.get("value"):
        yield fielderrors.invalid(where, "", "may not be specified when `value` is not empty")
    elif len(specified) > 1:
        yield fielderrors.invalid(where, "", "may not have more than one field specified at a time")
    for kind in specified:
        yield from _value_source(f"{where}.{kind}", kind, source[kind])


def _value_source(path: str, kind: str, source: Raw) -> Errors:
    if kind in ("configMapKeyRef", "secretKeyRef"):
        yield from checks.required(f"{path}.name", source.get("name"))
        key = source.get("key")
        if not key:
            yield fielderrors.required(f"{path}.key")
        else:
            yield from checks.invalid_each(f"{path}.key", key, identifiers.config_key_errors(key))
    elif kind == "fieldRef":
        field = source.get("fieldPath", "")
        if not field:
            yield fielderrors.required(f"{path}.fieldPath")
        elif not _FIELD_PATHS.fullmatch(field):
            detail = f"error converting fieldPath: field label not supported: {field}"
            yield fielderrors.invalid(f"{path}.fieldPath", field, detail)


def _mounts(path: str, mounts: Any, volumes: set[Any]) -> Errors:
    paths: set[str] = set()
    for index, mount in enumerate(mounts):
        where = f"{path}[{index}]"
        name, mount_path = mount.get("name", ""), mount.get("mountPath", "")
        yield from checks.required(f"{where}.name", name)
        if name not in volumes:
            yield fielderrors.not_found(f"{where}.name", name)
        yield from checks.required(f"{where}.mountPath", mount_path)
        if mount_path in paths:
            yield fielderrors.invalid(f"{where}.mountPath", mount_path, "must be unique")
        paths.add(mount_path)


def _resources(path: str, resources: Raw) -> Errors:
    limits = resources.get("limits") or {}
    for name, value in limits.items():
        yield from _resource(f"{path}.limits[{name}]", name, value)
    for name, value in (resources.get("requests") or {}).items():
        yield from _resource(f"{path}.requests[{name}]", name, value)
        limit = limits.get(name)
        if limit is not None and quantity.parse(value) > quantity.parse(limit):
            detail = f"must be less than or equal to {name} limit of {limit}"
            yield fielderrors.invalid(f"{path}.requests", str(value), detail)


def _resource(path: str, name: str, value: Any) -> Errors:
    standard = name in _STANDARD_RESOURCES or name.startswith("hugepages-")
    if not standard and "/" not in name:
        detail = "must be a standard resource type or fully qualified"
        yield fielderrors.invalid(path, name, detail)
        yield fielderrors.invalid(path, name, "must be a standard resource for containers")
    if quantity.parse(value) < 0:
        detail = "must be greater than or equal to 0"
        yield fielderrors.invalid(path, str(value), detail)


def _probe(path: str, name: str, probe: Raw) -> Errors:
    specified = [kind for kind in _HANDLERS if probe.get(kind) is not None]
    if not specified:
        yield fielderrors.required(path, "must specify a handler type")
    for kind in specified[1:]:
        detail = "may not specify more than 1 handler type"
        yield fielderrors.forbidden(f"{path}.{kind}", detail)
    if specified:
        yield from _handler(f"{path}.{specified[0]}", specified[0], probe[specified[0]])
    for field in _PROBE_NUMBERS:
        yield from checks.not_negative(f"{path}.{field}", probe.get(field))
    threshold = probe.get("successThreshold", 1)
    if name != "readinessProbe" and threshold not in (None, 1):
        yield fielderrors.invalid(f"{path}.successThreshold", threshold, "must be 1")


def _handler(path: str, kind: str, handler: Raw) -> Errors:
    if kind == "exec":
        yield from checks.required(f"{path}.command", handler.get("command"))
    elif kind in ("httpGet", "tcpSocket"):
        yield from checks.port_or_name(f"{path}.port", handler.get("port"))
        if kind == "httpGet":
            scheme = handler.get("scheme", "HTTP")
            yield from checks.one_of(f"{path}.scheme", scheme, ("HTTP", "HTTPS"))
    else:
        yield from checks.port(f"{path}.port", handler.get("port"))
