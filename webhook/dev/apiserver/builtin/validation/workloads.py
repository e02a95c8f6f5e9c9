"""Validation of workloads, HorizontalPodAutoscalers and PodDisruptionBudgets."""

from typing import Final

from webhook.dev.apiserver.builtin.validation import checks, podspecs
from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.kube import fielderrors, selectors
from webhook.kube.meta import Raw

_STRATEGY: Final = {"type": "Type", "rollingUpdate": "RollingUpdate"}
_STATEFUL_SET_ROLLING_UPDATE: Final = {"partition": "Partition", "maxUnavailable": "MaxUnavailable"}
_BUDGET: Final = {
    "minAvailable": "MinAvailable",
    "selector": "Selector",
    "maxUnavailable": "MaxUnavailable",
    "unhealthyPodEvictionPolicy": "UnhealthyPodEvictionPolicy",
}
_STATEFUL_SET_MUTABLE: Final = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)
_MAX_STABILIZATION_WINDOW: Final = 3600
_MAX_POLICY_PERIOD: Final = 1800
_METRICS: Final = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}


def validate_deployment(obj: Raw) -> Errors:
    """Validate a Deployment."""
    spec = obj.get("spec") or {}
    yield from checks.not_negative("spec.replicas", spec.get("replicas"))
    yield from _selector("deployment", spec)
    yield from _template(spec)
    yield from _deployment_strategy("spec.strategy", spec.get("strategy") or {})
    yield from checks.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from checks.not_negative("spec.revisionHistoryLimit", spec.get("revisionHistoryLimit"))
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None:
        yield from checks.not_negative("spec.progressDeadlineSeconds", deadline)
        if deadline <= spec.get("minReadySeconds", 0) and deadline >= 0:
            detail = "must be greater than minReadySeconds"
            yield fielderrors.invalid("spec.progressDeadlineSeconds", deadline, detail)


def _selector(kind: str, spec: Raw) -> Errors:
    selector = spec.get("selector")
    if selector is None:
        yield fielderrors.required("spec.selector")
    else:
        found = list(checks.label_selector("spec.selector", selector))
        yield from found
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            detail = f"empty selector is invalid for {kind}"
            yield fielderrors.invalid("spec.selector", selector, detail)
            return
        if found:
            yield fielderrors.invalid("spec.selector", selector, "invalid label selector")
            return
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if selector is None or not selectors.from_object(selector).matches(labels or {}):
        detail = "`selector` does not match template `labels`"
        yield fielderrors.invalid("spec.template.metadata.labels", labels, detail)


def _template(spec: Raw) -> Errors:
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    yield from checks.labels("spec.template.labels", labels)
    inner = template.get("spec") or {}
    yield from podspecs.validate_pod_spec("spec.template.spec", inner)
    if inner.get("containers"):
        policy = inner.get("restartPolicy")
        if policy in podspecs.RESTART_POLICIES:
            yield from checks.one_of("spec.template.spec.restartPolicy", policy, ("Always",))
        if inner.get("activeDeadlineSeconds") is not None:
            detail = "activeDeadlineSeconds in ReplicaSet is not Supported"
            yield fielderrors.forbidden("spec.template.spec.activeDeadlineSeconds", detail)


def _deployment_strategy(path: str, strategy: Raw) -> Errors:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate":
        if rolling is not None:
            detail = "may not be specified when strategy `type` is 'Recreate'"
            yield fielderrors.forbidden(f"{path}.rollingUpdate", detail)
    elif kind == "RollingUpdate":
        yield from _rolling_update(f"{path}.rollingUpdate", rolling or {})
    else:
        shown = checks.go_struct(strategy, _STRATEGY)
        yield fielderrors.not_supported(path, shown, ("Recreate", "RollingUpdate"))


def _rolling_update(path: str, rolling: Raw) -> Errors:
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    yield from checks.int_or_percent(f"{path}.maxUnavailable", unavailable)
    yield from checks.int_or_percent(f"{path}.maxSurge", surge)
    if checks.is_zero(unavailable) and checks.is_zero(surge):
        detail = "may not be 0 when `maxSurge` is 0"
        yield fielderrors.invalid(f"{path}.maxUnavailable", unavailable, detail)
    yield from checks.not_more_than_100_percent(f"{path}.maxUnavailable", unavailable)


def validate_selector_update(obj: Raw, old: Raw) -> Errors:
    """Validate an update of a Deployment or ReplicaSet; its selector is immutable."""
    selector = (obj.get("spec") or {}).get("selector")
    if selector != (old.get("spec") or {}).get("selector"):
        yield fielderrors.invalid("spec.selector", selector, checks.IMMUTABLE)


def validate_replica_set(obj: Raw) -> Errors:
    """Validate a ReplicaSet."""
    spec = obj.get("spec") or {}
    yield from checks.not_negative("spec.replicas", spec.get("replicas"))
    yield from checks.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from _selector("deployment", spec)
    yield from _template(spec)


def validate_stateful_set(obj: Raw) -> Errors:
    """Validate a StatefulSet."""
    spec = obj.get("spec") or {}
    policy = spec.get("podManagementPolicy")
    if policy not in ("OrderedReady", "Parallel"):
        detail = "must be 'OrderedReady' or 'Parallel'"
        yield fielderrors.invalid("spec.podManagementPolicy", policy, detail)
    yield from _stateful_set_strategy("spec.updateStrategy", spec.get("updateStrategy") or {})
    yield from checks.not_negative("spec.replicas", spec.get("replicas"))
    yield from checks.not_negative("spec.minReadySeconds", spec.get("minReadySeconds"))
    yield from _selector("statefulset", spec)
    yield from _template(spec)


def _stateful_set_strategy(path: str, strategy: Raw) -> Errors:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "OnDelete":
        if rolling is not None:
            detail = "only allowed for updateStrategy 'RollingUpdate'"
            shown = checks.go_struct(rolling, _STATEFUL_SET_ROLLING_UPDATE)
            yield fielderrors.invalid(f"{path}.rollingUpdate", shown, detail)
    elif kind == "RollingUpdate":
        partition = (rolling or {}).get("partition")
        yield from checks.not_negative(f"{path}.rollingUpdate.partition", partition)
    else:
        shown = checks.go_struct(strategy, _STRATEGY)
        yield fielderrors.invalid(path, shown, "must be 'RollingUpdate' or 'OnDelete'")


def validate_stateful_set_update(obj: Raw, old: Raw) -> Errors:
    """Validate an update of a StatefulSet; only few fields of its spec are mutable."""

    def fixed(spec: Raw) -> Raw:
        return {name: value for name, value in spec.items() if name not in _STATEFUL_SET_MUTABLE}

    if fixed(obj.get("spec") or {}) != fixed(old.get("spec") or {}):
        listed = ", ".join(f"'{name}'" for name in _STATEFUL_SET_MUTABLE[:-1])
        detail = (
            f"updates to statefulset spec for fields other than {listed} and "
            f"'{_STATEFUL_SET_MUTABLE[-1]}' are forbidden"
        )
        yield fielderrors.forbidden("spec", detail)


def validate_controller_revision(obj: Raw) -> Errors:
    """Validate a ControllerRevision."""
    if obj.get("data") is None:
        yield fielderrors.required("data", "data is mandatory")
    yield from checks.not_negative("revision", obj.get("revision"))


def validate_controller_revision_update(obj: Raw, old: Raw) -> Errors:
    """Validate an update of a ControllerRevision; its data is immutable."""
    if obj.get("data") != old.get("data"):
        yield fielderrors.invalid("data", obj.get("data"), checks.IMMUTABLE)


def validate_pod_disruption_budget(obj: Raw) -> Errors:
    """Validate a PodDisruptionBudget."""
    spec = obj.get("spec") or {}
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        detail = "minAvailable and maxUnavailable cannot be both set"
        yield fielderrors.invalid("spec", checks.go_struct(spec, _BUDGET), detail)
    for name in ("minAvailable", "maxUnavailable"):
        if spec.get(name) is not None:
            yield from checks.int_or_percent(f"spec.{name}", spec[name])
            yield from checks.not_more_than_100_percent(f"spec.{name}", spec[name])
    yield from checks.label_selector("spec.selector", spec.get("selector"))
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None:
        allowed = ("AlwaysAllow", "IfHealthyBudget")
        yield from checks.one_of("spec.unhealthyPodEvictionPolicy", policy, allowed)


def validate_horizontal_pod_autoscaler(obj: Raw) -> Errors:
    """Validate a HorizontalPodAutoscaler."""
    spec = obj.get("spec") or {}
    low, high = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if low is not None and low < 1:
        detail = "must be greater than or equal to 1"
        yield fielderrors.invalid("spec.minReplicas", low, detail)
    if high < 1:
        yield fielderrors.required("spec.maxReplicas", "must be set and greater than 0")
    if low is not None and high < low:
        detail = "must be greater than or equal to `minReplicas`"
        yield fielderrors.invalid("spec.maxReplicas", high, detail)
    target = spec.get("scaleTargetRef") or {}
    yield from checks.required("spec.scaleTargetRef.kind", target.get("kind"))
    yield from checks.required("spec.scaleTargetRef.name", target.get("name"))
    version = target.get("apiVersion", "")
    if "/" not in version:
        detail = "apiVersion must specify API group"
        yield fielderrors.invalid("spec.scaleTargetRef.apiVersion", version, detail)
    for index, metric in enumerate(spec.get("metrics") or ()):
        yield from _metric(f"spec.metrics[{index}]", metric)
    for direction, rules in (spec.get("behavior") or {}).items():
        yield from _scaling_rules(f"spec.behavior.{direction}", rules)


def _metric(path: str, metric: Raw) -> Errors:
    kind = metric.get("type", "")
    if not kind:
        yield fielderrors.required(f"{path}.type", "must specify a metric source type")
    if kind not in _METRICS:
        yield from checks.one_of(f"{path}.type", kind, tuple(_METRICS))
        if not kind:
            # Kubernetes validates an absent type twice.
            yield from checks.one_of(f"{path}.type", kind, tuple(_METRICS))
        return
    name = _METRICS[kind]
    source = metric.get(name)
    if source is None:
        detail = "must populate information for the given metric source"
        yield fielderrors.required(f"{path}.{name}", detail)
    elif kind in ("Resource", "ContainerResource"):
        if kind == "ContainerResource":
            container = source.get("container")
            yield from checks.required(
                f"{path}.{name}.container", container, "must specify a container"
            )
        yield from checks.required(
            f"{path}.{name}.name", source.get("name"), "must specify a resource name"
        )
        target = source.get("target") or {}
        if target.get("averageUtilization") is None and target.get("averageValue") is None:
            detail = "must set either a target raw value or a target utilization"
            yield fielderrors.required(f"{path}.{name}.target.averageUtilization", detail)


def _scaling_rules(path: str, rules: Raw) -> Errors:
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and window < 0:
        detail = "must be greater than or equal to zero"
        yield fielderrors.invalid(f"{path}.stabilizationWindowSeconds", window, detail)
    if window is not None and window > _MAX_STABILIZATION_WINDOW:
        detail = f"must be less than or equal to {_MAX_STABILIZATION_WINDOW}"
        yield fielderrors.invalid(f"{path}.stabilizationWindowSeconds", window, detail)
    allowed = ("Disabled", "Max", "Min")
    yield from checks.one_of(f"{path}.selectPolicy", rules.get("selectPolicy", "Max"), allowed)
    if not rules.get("policies"):
        yield fielderrors.required(f"{path}.policies", "must specify at least one Policy")
    for index, policy in enumerate(rules.get("policies") or ()):
        where = f"{path}.policies[{index}]"
        yield from checks.one_of(f"{where}.type", policy.get("type"), ("Percent", "Pods"))
        if policy.get("periodSeconds", 0) > _MAX_POLICY_PERIOD:
            detail = f"must be less than or equal to {_MAX_POLICY_PERIOD}"
            yield fielderrors.invalid(f"{where}.periodSeconds", policy["periodSeconds"], detail)
        for name in ("value", "periodSeconds"):
            if policy.get(name, 0) <= 0:
                yield fielderrors.invalid(
                    f"{where}.{name}", policy.get(name, 0), "must be greater than zero"
                )
