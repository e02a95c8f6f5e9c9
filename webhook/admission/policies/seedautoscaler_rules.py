"""seedautoscaler.rules: bounds, metrics, behaviour and target of a SeedAutoscaler are valid."""

from collections.abc import Iterator
from typing import Final

from webhook.admission.decision import Finding, Request
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.seedautoscalers import (
    Metric,
    MetricTarget,
    ScalingRules,
    SeedAutoscaler,
    SeedAutoscalerSpec,
)
from webhook.kube import quantity
from webhook.kube.meta import ObjectKey
from webhook.kube.quantity import QuantityError
from webhook.state.indexes import AUTOSCALERS_BY_TARGET
from webhook.state.snapshot import Snapshot

_GROUP: Final = "seedmanagement.gardener.cloud"
_MODES: Final = ("Auto", "Recommend")
_TARGETS: Final = ("Utilization", "AverageValue")
_SELECTS: Final = ("Max", "Min", "Disabled")
_POLICIES: Final = ("Replicas", "Seeds", "Pods", "Percent")
_LONGEST_WINDOW: Final = 3600
_LONGEST_PERIOD: Final = 1800


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Validate bounds, metrics, behaviour and the ManagedSeedSet that is scaled."""
    autoscaler = request.object_as(SeedAutoscaler)
    spec = autoscaler.spec
    yield from _bounds(spec)
    if not spec.metrics:
        yield Finding.required("spec.metrics", "name at least one metric, e.g. resource shoots")
    seen: set[str] = set()
    for index, metric in enumerate(spec.metrics):
        yield from _metric(metric, f"spec.metrics[{index}]", seen)
    if spec.behavior is not None:
        for rules, name in (
            (spec.behavior.scale_up, "scaleUp"),
            (spec.behavior.scale_down, "scaleDown"),
        ):
            if rules is not None:
                yield from _behavior(rules, f"spec.behavior.{name}")
    yield from _target(spec, request, snapshot)


def _bounds(spec: SeedAutoscalerSpec) -> Iterator[Finding]:
    least = spec.min_replicas if spec.min_replicas is not None else 1
    if least < 1:
        yield Finding.invalid("spec.minReplicas", least, "must be at least 1")
    if spec.max_replicas < 1:
        yield Finding.invalid("spec.maxReplicas", spec.max_replicas, "must be at least 1")
    elif spec.max_replicas < least:
        yield Finding.invalid(
            "spec.maxReplicas", spec.max_replicas, f"must be at least minReplicas ({least})"
        )
    if spec.mode and spec.mode not in _MODES:
        yield Finding.not_supported("spec.mode", spec.mode, _MODES)


def _metric(metric: Metric, field: str, seen: set[str]) -> Iterator[Finding]:
    if metric.type != "Resource":
        yield Finding.not_supported(f"{field}.type", metric.type, ("Resource",))
        return
    if metric.resource is None:
        yield Finding.required(f"{field}.resource", "name the resource and its target")
        return
    name = metric.resource.name
    if not name:
        yield Finding.required(f"{field}.resource.name", "name a resource of seeds, e.g. shoots")
    elif name in seen:
        yield Finding.duplicate(f"{field}.resource.name", name, "name each resource once")
    seen.add(name)
    yield from _metric_target(metric.resource.target, f"{field}.resource.target")


def _metric_target(target: MetricTarget, field: str) -> Iterator[Finding]:
    utilization, value = target.average_utilization, target.average_value
    if target.type not in _TARGETS:
        yield Finding.not_supported(f"{field}.type", target.type, _TARGETS)
    if utilization is not None and value is not None:
        yield Finding.forbidden(
            f"{field}.averageValue", "give either averageUtilization or averageValue"
        )
    if target.type == "Utilization" and utilization is None:
        yield Finding.required(f"{field}.averageUtilization", "type Utilization needs it, 1 to 100")
    if target.type == "AverageValue" and value is None:
        yield Finding.required(f"{field}.averageValue", "type AverageValue needs it")
    if utilization is not None and not 1 <= utilization <= 100:
        yield Finding.invalid(f"{field}.averageUtilization", utilization, "must be from 1 to 100")
    if value is not None:
        try:
            if quantity.parse(value) <= 0:
                yield Finding.invalid(f"{field}.averageValue", value, "must be more than 0")
        except QuantityError as error:
            yield Finding.invalid(f"{field}.averageValue", value, str(error))


def _behavior(rules: ScalingRules, field: str) -> Iterator[Finding]:
    window = rules.stabilization_window_seconds
    if window is not None and not 0 <= window <= _LONGEST_WINDOW:
        yield Finding.invalid(
            f"{field}.stabilizationWindowSeconds", window, f"must be from 0 to {_LONGEST_WINDOW}"
        )
    if rules.select_policy and rules.select_policy not in _SELECTS:
        yield Finding.not_supported(f"{field}.selectPolicy", rules.select_policy, _SELECTS)
    for index, policy in enumerate(rules.policies):
        path = f"{field}.policies[{index}]"
        if policy.type not in _POLICIES:
            yield Finding.not_supported(f"{path}.type", policy.type, _POLICIES)
        if policy.value < 1:
            yield Finding.invalid(f"{path}.value", policy.value, "must be at least 1")
        if not 1 <= policy.period_seconds <= _LONGEST_PERIOD:
            yield Finding.invalid(
                f"{path}.periodSeconds",
                policy.period_seconds,
                f"must be from 1 to {_LONGEST_PERIOD}",
            )


def _target(spec: SeedAutoscalerSpec, request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    reference, field = spec.scale_target_ref, "spec.scaleTargetRef"
    if reference.kind != "ManagedSeedSet":
        yield Finding.not_supported(f"{field}.kind", reference.kind, ("ManagedSeedSet",))
        return
    group = reference.api_version.partition("/")[0]
    if group and group != _GROUP:
        yield Finding.invalid(
            f"{field}.apiVersion", reference.api_version, f"must be of group {_GROUP}"
        )
        return
    if not reference.name:
        yield Finding.required(f"{field}.name", "name the ManagedSeedSet to scale")
        return
    key = ObjectKey(request.key.namespace, reference.name)
    if snapshot.look_up(ManagedSeedSet, key) is None:
        yield Finding.invalid(
            f"{field}.name", reference.name, f"there is no ManagedSeedSet {key}, create it first"
        )
    for other in snapshot.by_index(AUTOSCALERS_BY_TARGET, str(key)):
        if other.name != request.key.name:
            yield Finding.invalid(
                f"{field}.name", reference.name, f"is already scaled by SeedAutoscaler {other.key}"
            )
