"""Validation of the spec that Pods and pod templates share."""

from collections.abc import Iterator
from typing import Any, Final

from webhook.dev.apiserver.builtin.validation import (
    affinities,
    checks,
    containers,
    securitycontexts,
)
from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.kube import fielderrors, identifiers
from webhook.kube.meta import Raw

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_INT32: Final = 2**31 - 1


def validate_pod_spec(path: str, spec: Raw) -> Errors:
    """Validate a pod spec without looking at other objects."""
    volumes = spec.get("volumes") or ()
    for index, volume in enumerate(volumes):
        yield from _volume(f"{path}.volumes[{index}]", volume)
    names = {volume.get("name") for volume in volumes}
    yield from _containers(path, spec, names)
    yield from checks.one_of(f"{path}.restartPolicy", spec.get("restartPolicy"), RESTART_POLICIES)
    yield from checks.one_of(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES)
    yield from _dns_config(path, spec)
    yield from securitycontexts.validate_pod_context(
        f"{path}.securityContext", spec.get("securityContext") or {}
    )
    yield from checks.labels(f"{path}.nodeSelector", spec.get("nodeSelector") or {})
    yield from _names(path, spec)
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        yield from _toleration(f"{path}.tolerations[{index}]", toleration)
    yield from affinities.validate_affinity(f"{path}.affinity", spec.get("affinity") or {})
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        yield from _spread(f"{path}.topologySpreadConstraints[{index}]", constraint)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _INT32:
        detail = f"must be between 1 and {_INT32}, inclusive"
        yield fielderrors.invalid(f"{path}.activeDeadlineSeconds", deadline, detail)


def _containers(path: str, spec: Raw, volumes: set[Any]) -> Errors:
    found = spec.get("containers") or ()
    if not found:
        yield fielderrors.required(f"{path}.containers")
    seen: set[str] = set()
    host_network = bool(spec.get("hostNetwork"))
    for kind in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(kind) or ()):
            where = f"{path}.{kind}[{index}]"
            name = container.get("name", "")
            yield from _container_name(where, name, seen)
            yield from containers.validate_container(where, container, volumes, host_network)


def _container_name(path: str, name: str, seen: set[str]) -> Errors:
    if not name:
        yield fielderrors.required(f"{path}.name")
        return
    problems = identifiers.dns1123_label_errors(name)
    yield from checks.invalid_each(f"{path}.name", name, problems)
    if not problems and name in seen:
        yield fielderrors.duplicate(f"{path}.name", name)
    seen.add(name)


def _names(path: str, spec: Raw) -> Errors:
    for field, validate in (
        ("serviceAccountName", identifiers.subdomain_errors),
        ("nodeName", identifiers.subdomain_errors),
        ("hostname", identifiers.dns1123_label_errors),
        ("subdomain", identifiers.dns1123_label_errors),
        ("priorityClassName", identifiers.subdomain_errors),
    ):
        name = spec.get(field)
        if name:
            yield from checks.invalid_each(f"{path}.{field}", name, validate(name))


def _dns_config(path: str, spec: Raw) -> Errors:
    config, where = spec.get("dnsConfig"), f"{path}.dnsConfig"
    if spec.get("dnsPolicy") == "None":
        if config is None:
            detail = "must provide `dnsConfig` when `dnsPolicy` is None"
            yield fielderrors.required(where, detail)
        elif not config.get("nameservers"):
            detail = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield fielderrors.required(f"{where}.nameservers", detail)
    for index, address in enumerate((config or {}).get("nameservers") or ()):
        yield from checks.ip_address(f"{where}.nameservers[{index}]", address)


def _volume(path: str, volume: Raw) -> Errors:
    name = volume.get("name", "")
    if name:
        yield from checks.invalid_each(f"{path}.name", name, identifiers.dns1123_label_errors(name))
    else:
        yield fielderrors.required(f"{path}.name")
    sources = [key for key in _ordered_sources(volume) if volume[key] is not None]
    if not sources:
        yield fielderrors.required(path, "must specify a volume type")
    for key in sources[1:]:
        yield fielderrors.forbidden(f"{path}.{key}", "may not specify more than 1 volume type")
    if len(sources) == 1:
        yield from _source(f"{path}.{sources[0]}", sources[0], volume[sources[0]])


def _ordered_sources(volume: Raw) -> Iterator[str]:
    """Yield the sources in the order of Kubernetes' checks; all but the first are errors."""
    checked_first = ("emptyDir", "hostPath", "gitRepo", "nfs", "secret", "configMap", "downwardAPI")
    yield from (key for key in checked_first if key in volume)
    yield from (key for key in volume if key not in checked_first and key != "name")


def _source(path: str, kind: str, source: Raw) -> Errors:
    required_field = {
        "secret": "secretName",
        "configMap": "name",
        "hostPath": "path",
        "persistentVolumeClaim": "claimName",
    }.get(kind)
    if required_field is not None:
        yield from checks.required(f"{path}.{required_field}", source.get(required_field))


def _toleration(path: str, toleration: Raw) -> Errors:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    if key:
        yield from checks.invalid_each(f"{path}.key", key, identifiers.label_key_errors(key))
    elif operator != "Exists":
        detail = (
            'operator must be Exists when `key` is empty, which means "match all values and all '
            'keys"'
        )
        yield fielderrors.invalid(f"{path}.operator", operator, detail)
    effect = toleration.get("effect", "")
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield fielderrors.invalid(f"{path}.effect", effect, detail)
    value = toleration.get("value", "")
    if operator == "Exists":
        if value:
            detail = "value must be empty when `operator` is 'Exists'"
            yield fielderrors.invalid(f"{path}.operator", value, detail)
    elif operator not in ("Equal", ""):
        yield from checks.one_of(f"{path}.operator", operator, ("Equal", "Exists"))
    if effect:
        yield from checks.one_of(f"{path}.effect", effect, checks.TAINT_EFFECTS)


def _spread(path: str, constraint: Raw) -> Errors:
    skew = constraint.get("maxSkew", 0)
    if skew <= 0:
        yield fielderrors.invalid(f"{path}.maxSkew", skew, "must be greater than zero")
    key = constraint.get("topologyKey")
    yield from checks.required(f"{path}.topologyKey", key, "can not be empty")
    allowed = ("DoNotSchedule", "ScheduleAnyway")
    yield from checks.one_of(
        f"{path}.whenUnsatisfiable", constraint.get("whenUnsatisfiable", ""), allowed
    )
