"""Objections to all other built-in kinds."""

from typing import Any, Final

from webhook.api import fielderrors, identifiers, quantity
from webhook.apiserver.builtin.validation import checks
from webhook.apiserver.builtin.validation.checks import Errors

Object = dict[str, Any]

_HIGHEST: Final = 1_000_000_000
_SYSTEM_CLASSES: Final = ("system-node-critical", "system-cluster-critical")
_TAINT: Final = {"key": "Key", "value": "Value", "effect": "Effect", "timeAdded": "TimeAdded"}
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def namespace(obj: Object) -> Errors:
    """Judge a Namespace."""
    for finalizer in (obj.get("spec") or {}).get("finalizers") or ():
        if finalizer != "kubernetes" and "/" not in finalizer:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield fielderrors.invalid("spec.finalizers", finalizer, detail)


def node(obj: Object) -> Errors:
    """Judge a Node."""
    seen: set[tuple[Any, Any]] = set()
    for index, taint in enumerate((obj.get("spec") or {}).get("taints") or ()):
        path = f"metadata.taints[{index}]"
        key, effect = taint.get("key", ""), taint.get("effect", "")
        yield from checks.worded(f"{path}.key", key, identifiers.label_key_errors(key))
        value = taint.get("value", "")
        if value:
            yield from checks.worded(f"{path}.value", value, identifiers.label_value_errors(value))
        if not effect:
            yield fielderrors.required(f"{path}.effect")
        else:
            yield from checks.one_of(f"{path}.effect", effect, _EFFECTS)
        if (key, effect) in seen:
            shown = checks.go_struct({"value": "", **taint}, _TAINT)
            found = fielderrors.duplicate(path, shown)
            yield found._replace(detail="taints must be unique by key and effect pair")
        seen.add((key, effect))


def lease(obj: Object) -> Errors:
    """Judge a Lease."""
    spec = obj.get("spec") or {}
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        yield fielderrors.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    yield from checks.not_negative("spec.leaseTransitions", spec.get("leaseTransitions"))


def priority_class(obj: Object) -> Errors:
    """Judge a PriorityClass."""
    name, value = obj.get("metadata", {}).get("name", ""), obj.get("value", 0)
    if name.startswith("system-") and name not in _SYSTEM_CLASSES:
        detail = (
            "priority class names with 'system-' prefix are reserved for system use only. error: "
            f"{name} is not a known system priority class"
        )
        yield fielderrors.forbidden("metadata.name", detail)
    elif value > _HIGHEST and name not in _SYSTEM_CLASSES:
        detail = f"maximum allowed value of a user defined priority is {_HIGHEST}"
        yield fielderrors.forbidden("value", detail)
    policy = obj.get("preemptionPolicy")
    yield from checks.one_of("preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))


def priority_class_update(obj: Object, old: Object) -> Errors:
    """Judge a change of a PriorityClass."""
    for name in ("value", "preemptionPolicy"):
        if obj.get(name) != old.get(name):
            yield fielderrors.forbidden(name, "may not be changed in an update.")


def resource_quota(obj: Object) -> Errors:
    """Judge a ResourceQuota."""
    for name, value in ((obj.get("spec") or {}).get("hard") or {}).items():
        if quantity.parse(value) < 0:
            detail = "must be greater than or equal to 0"
            yield fielderrors.invalid(f"spec.hard[{name}]", str(value), detail)


def limit_range(obj: Object) -> Errors:
    """Judge a LimitRange: from minimum over default to maximum, nothing may fall."""
    for index, item in enumerate((obj.get("spec") or {}).get("limits") or ()):
        path = f"spec.limits[{index}]"
        for name, value in (item.get("min") or {}).items():
            for field, shown, blamed in (
                ("max", "max value", "min"),
                ("defaultRequest", "default request value", "defaultRequest"),
                ("default", "default value", "default"),
            ):
                other = (item.get(field) or {}).get(name)
                if other is not None and quantity.parse(value) > quantity.parse(other):
                    detail = f"min value {value} is greater than {shown} {other}"
                    given = other if field == "defaultRequest" else value
                    where = f"{path}.{blamed}[{name}]"
                    yield fielderrors.invalid(where, str(given), detail)


def api_service(obj: Object) -> Errors:
    """Judge an APIService."""
    spec = obj.get("spec") or {}
    name = obj.get("metadata", {}).get("name", "")
    wanted = f"{spec.get('version', '')}.{spec.get('group', '')}"
    if name != wanted:
        detail = f'must be `spec.version+"."+spec.group`: "{wanted}"'
        yield fielderrors.invalid("metadata.name", name, detail)
    for field, bound in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        value = spec.get(field, 0)
        if not 0 < value <= bound:
            detail = f"must be positive and less than {bound}"
            yield fielderrors.invalid(f"spec.{field}", value, detail)
