"""Validation of the built-in kinds that have no module of their own."""

from typing import Any, Final

from webhook.dev.apiserver.builtin.validation import checks
from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.kube import fielderrors, identifiers, quantity
from webhook.kube.meta import Raw

_MAX_USER_PRIORITY: Final = 1_000_000_000
_SYSTEM_CLASSES: Final = ("system-node-critical", "system-cluster-critical")
_QUOTA_RESOURCES: Final = frozenset(
    {
        *("cpu", "memory", "ephemeral-storage", "storage", "pods", "services", "secrets"),
        *("configmaps", "replicationcontrollers", "resourcequotas", "persistentvolumeclaims"),
        *("services.loadbalancers", "services.nodeports"),
    }
)
_QUOTA_PREFIXES: Final = ("requests.", "limits.", "hugepages-", "count/")
_TAINT: Final = {"key": "Key", "value": "Value", "effect": "Effect", "timeAdded": "TimeAdded"}


def validate_namespace(obj: Raw) -> Errors:
    """Validate a Namespace."""
    for finalizer in (obj.get("spec") or {}).get("finalizers") or ():
        if finalizer != "kubernetes" and "/" not in finalizer:
            detail = "name is neither a standard finalizer name nor is it fully qualified"
            yield fielderrors.invalid("spec.finalizers", finalizer, detail)


def validate_node(obj: Raw) -> Errors:
    """Validate a Node."""
    seen: set[tuple[Any, Any]] = set()
    for index, taint in enumerate((obj.get("spec") or {}).get("taints") or ()):
        path = f"metadata.taints[{index}]"
        key, effect = taint.get("key", ""), taint.get("effect", "")
        yield from checks.invalid_each(f"{path}.key", key, identifiers.label_key_errors(key))
        value = taint.get("value", "")
        if value:
            yield from checks.invalid_each(
                f"{path}.value", value, identifiers.label_value_errors(value)
            )
        if not effect:
            yield fielderrors.required(f"{path}.effect")
        else:
            yield from checks.one_of(f"{path}.effect", effect, checks.TAINT_EFFECTS)
        if (key, effect) in seen:
            description = checks.go_struct({"value": "", **taint}, _TAINT)
            found = fielderrors.duplicate(path, description)
            yield found._replace(detail="taints must be unique by key and effect pair")
        seen.add((key, effect))


def validate_lease(obj: Raw) -> Errors:
    """Validate a Lease."""
    spec = obj.get("spec") or {}
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        yield fielderrors.invalid("spec.leaseDurationSeconds", duration, "must be greater than 0")
    yield from checks.not_negative("spec.leaseTransitions", spec.get("leaseTransitions"))


def validate_priority_class(obj: Raw) -> Errors:
    """Validate a PriorityClass."""
    name, value = obj.get("metadata", {}).get("name", ""), obj.get("value", 0)
    if name.startswith("system-") and name not in _SYSTEM_CLASSES:
        detail = (
            "priority class names with 'system-' prefix are reserved for system use only. error: "
            f"{name} is not a known system priority class"
        )
        yield fielderrors.forbidden("metadata.name", detail)
    elif value > _MAX_USER_PRIORITY and name not in _SYSTEM_CLASSES:
        detail = f"maximum allowed value of a user defined priority is {_MAX_USER_PRIORITY}"
        yield fielderrors.forbidden("value", detail)
    policy = obj.get("preemptionPolicy")
    yield from checks.one_of("preemptionPolicy", policy, ("PreemptLowerPriority", "Never"))


def validate_priority_class_update(obj: Raw, old: Raw) -> Errors:
    """Validate an update of a PriorityClass."""
    for name in ("value", "preemptionPolicy"):
        if obj.get(name) != old.get(name):
            yield fielderrors.forbidden(name, "may not be changed in an update.")


def validate_resource_quota(obj: Raw) -> Errors:
    """Validate a ResourceQuota."""
    for name, value in ((obj.get("spec") or {}).get("hard") or {}).items():
        if (
            "/" not in name
            and name not in _QUOTA_RESOURCES
            and not name.startswith(_QUOTA_PREFIXES)
        ):
            for kind in (
                "a standard resource type or fully qualified",
                "a standard resource for quota",
            ):
                yield fielderrors.invalid(f"spec.hard[{name}]", name, f"must be {kind}")
        if quantity.parse(value) < 0:
            detail = "must be greater than or equal to 0"
            yield fielderrors.invalid(f"spec.hard[{name}]", str(value), detail)


def validate_limit_range(obj: Raw) -> Errors:
    """Validate a LimitRange: `min` is at most `max`, `defaultRequest` and `default`."""
    for index, item in enumerate((obj.get("spec") or {}).get("limits") or ()):
        path = f"spec.limits[{index}]"
        for name, value in (item.get("min") or {}).items():
            for field, description, error_field in (
                ("max", "max value", "min"),
                ("defaultRequest", "default request value", "defaultRequest"),
                ("default", "default value", "default"),
            ):
                other = (item.get(field) or {}).get(name)
                if other is not None and quantity.parse(value) > quantity.parse(other):
                    detail = f"min value {value} is greater than {description} {other}"
                    error_value = other if field == "defaultRequest" else value
                    where = f"{path}.{error_field}[{name}]"
                    yield fielderrors.invalid(where, str(error_value), detail)


def validate_api_service(obj: Raw) -> Errors:
    """Validate an APIService."""
    spec = obj.get("spec") or {}
    name = obj.get("metadata", {}).get("name", "")
    expected = f"{spec.get('version', '')}.{spec.get('group', '')}"
    if name != expected:
        detail = f'must be `spec.version+"."+spec.group`: "{expected}"'
        yield fielderrors.invalid("metadata.name", name, detail)
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        detail = "may not be true if caBundle is present"
        yield fielderrors.invalid("spec.insecureSkipTLSVerify", True, detail)
    for field, bound in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        value = spec.get(field, 0)
        if not 0 < value <= bound:
            detail = f"must be positive and less than {bound}"
            yield fielderrors.invalid(f"spec.{field}", value, detail)
