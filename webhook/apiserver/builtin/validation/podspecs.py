"""Objections to the spec that Pods and pod templates share."""

from collections.abc import Iterator
from typing import Any, Final

from webhook.api import fielderrors, identifiers
from webhook.apiserver.builtin.validation import checks, containers
from webhook.apiserver.builtin.validation.checks import Errors

Object = dict[str, Any]

RESTART_POLICIES: Final = ("Always", "OnFailure", "Never")
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_INT32: Final = 2**31 - 1


def pod_spec(path: str, spec: Object) -> Errors:
    """Judge everything that does not need another object."""
    volumes = spec.get("volumes") or ()
    for index, volume in enumerate(volumes):
        yield from _volume(f"{path}.volumes[{index}]", volume)
    names = {volume.get("name") for volume in volumes}
    yield from _containers(path, spec, names)
    yield from checks.one_of(f"{path}.restartPolicy", spec.get("restartPolicy"), RESTART_POLICIES)
    yield from checks.one_of(f"{path}.dnsPolicy", spec.get("dnsPolicy"), _DNS_POLICIES)
    yield from checks.labels(f"{path}.nodeSelector", spec.get("nodeSelector") or {})
    yield from _names(path, spec)
    for index, toleration in enumerate(spec.get("tolerations") or ()):
        yield from _toleration(f"{path}.tolerations[{index}]", toleration)
    yield from _affinity(f"{path}.affinity", spec.get("affinity") or {})
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        yield from _spread(f"{path}.topologySpreadConstraints[{index}]", constraint)
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _INT32:
        detail = f"must be between 1 and {_INT32}, inclusive"
        yield fielderrors.invalid(f"{path}.activeDeadlineSeconds", deadline, detail)


def _containers(path: str, spec: Object, volumes: set[Any]) -> Errors:
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
            yield from containers.container(where, container, volumes, host_network)


def _container_name(path: str, name: str, seen: set[str]) -> Errors:
    if not name:
        yield fielderrors.required(f"{path}.name")
        return
    problems = identifiers.dns1123_label_errors(name)
    yield from checks.worded(f"{path}.name", name, problems)
    if not problems and name in seen:
        yield fielderrors.duplicate(f"{path}.name", name)
    seen.add(name)


def _names(path: str, spec: Object) -> Errors:
    for field, judge in (
        ("serviceAccountName", identifiers.subdomain_errors),
        ("nodeName", identifiers.subdomain_errors),
        ("hostname", identifiers.dns1123_label_errors),
        ("subdomain", identifiers.dns1123_label_errors),
        ("priorityClassName", identifiers.subdomain_errors),
    ):
        name = spec.get(field)
        if name:
            yield from checks.worded(f"{path}.{field}", name, judge(name))


def _volume(path: str, volume: Object) -> Errors:
    name = volume.get("name", "")
    if name:
        yield from checks.worded(f"{path}.name", name, identifiers.dns1123_label_errors(name))
    else:
        yield fielderrors.required(f"{path}.name")
    sources = [key for key in _ordered_sources(volume) if volume[key] is not None]
    if not sources:
        yield fielderrors.required(path, "must specify a volume type")
    for key in sources[1:]:
        yield fielderrors.forbidden(f"{path}.{key}", "may not specify more than 1 volume type")
    if len(sources) == 1:
        yield from _source(f"{path}.{sources[0]}", sources[0], volume[sources[0]])


def _ordered_sources(volume: Object) -> Iterator[str]:
    """The order in which Kubernetes looks at them decides which one is one too many."""
    first = ("emptyDir", "hostPath", "gitRepo", "nfs", "secret", "configMap", "downwardAPI")
    yield from (key for key in first if key in volume)
    yield from (key for key in volume if key not in first and key != "name")


def _source(path: str, kind: str, source: Object) -> Errors:
    needed = {
        "secret": "secretName",
        "configMap": "name",
        "hostPath": "path",
        "persistentVolumeClaim": "claimName",
    }.get(kind)
    if needed is not None:
        yield from checks.required(f"{path}.{needed}", source.get(needed))


def _toleration(path: str, toleration: Object) -> Errors:
    key, operator = toleration.get("key", ""), toleration.get("operator", "")
    if key:
        yield from checks.worded(f"{path}.key", key, identifiers.label_key_errors(key))
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
        yield from checks.one_of(f"{path}.effect", effect, _EFFECTS)


def _affinity(path: str, affinity: Object) -> Errors:
    required = (affinity.get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    )
    if required is not None and not required.get("nodeSelectorTerms"):
        where = f"{path}.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        detail = "must have at least one node selector term"
        yield fielderrors.required(f"{where}.nodeSelectorTerms", detail)


def _spread(path: str, constraint: Object) -> Errors:
    skew = constraint.get("maxSkew", 0)
    if skew <= 0:
        yield fielderrors.invalid(f"{path}.maxSkew", skew, "must be greater than zero")
    key = constraint.get("topologyKey")
    yield from checks.required(f"{path}.topologyKey", key, "can not be empty")
    allowed = ("DoNotSchedule", "ScheduleAnyway")
    yield from checks.one_of(
        f"{path}.whenUnsatisfiable", constraint.get("whenUnsatisfiable", ""), allowed
    )
