"""plan(): how many seeds a SeedAutoscaler wants now."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final, NamedTuple

from webhook.api import conditions, names, quantity
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.meta import Draft
from webhook.api.patches import merge_diff
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.timestamps import format_time
from webhook.controllers.seedautoscaler import cordon, demand, memory, metrics
from webhook.controllers.seedautoscaler.demand import Demand
from webhook.controllers.seedautoscaler.metrics import Member, NoSamples, Samples
from webhook.domain import autoscale, measuring, rollout
from webhook.domain.autoscale import Decision
from webhook.domain.measuring import Measure
from webhook.runtime.actions import Action, Emit, Patch, Plan
from webhook.state.snapshot import Snapshot

_KIND: Final = kind_of_model(SeedAutoscaler)
_SET: Final = kind_of_model(ManagedSeedSet)
_STABILIZED: Final = ("ScaleUpStabilized", "ScaleDownStabilized")
_NO_SAMPLES: Final = NoSamples()


class _Said(NamedTuple):
    """One condition."""

    type: str
    status: str
    reason: str
    message: str


class _View(NamedTuple):
    """A set that can be scaled, and what was measured of it."""

    autoscaler: SeedAutoscaler
    owner: ManagedSeedSet
    seeds: Sequence[Member]
    demand: Demand
    measures: Sequence[Measure]
    snapshot: Snapshot

    @property
    def replicas(self) -> int:
        wanted = self.owner.spec.replicas
        return 1 if wanted is None else wanted

    @property
    def limits(self) -> tuple[int, int]:
        spec = self.autoscaler.spec
        least = 1 if spec.min_replicas is None else spec.min_replicas
        return least, max(least, spec.max_replicas)

    @property
    def is_rolling(self) -> bool:
        """Whether replicas that a Gardener makes are being brought to another revision."""
        is_rolled = self.owner.metadata.annotations.get(names.ROLLOUT) == "true"
        beside = self.snapshot.options.beside_gardener
        return beside and is_rolled and rollout.is_under_way(self.owner)

    @property
    def cordons(self) -> bool:
        behavior = self.autoscaler.spec.behavior
        rules = behavior.scale_down if behavior is not None else None
        return rules is not None and rules.cordon


def plan(autoscaler: SeedAutoscaler, snapshot: Snapshot, samples: Samples = _NO_SAMPLES) -> Plan:
    """Measure, decide, scale through the scale subresource, and tell."""
    again = snapshot.options.seeds.autoscaler_seconds
    if autoscaler.is_deleting:
        return Plan()
    owner = snapshot.get(ManagedSeedSet, demand.key_of(autoscaler))
    if owner is None or autoscaler.spec.scale_target_ref.kind not in ("", _SET.name):
        return Plan(tuple(_tell_no_target(autoscaler, snapshot)), again)
    view = _measure(autoscaler, owner, snapshot, samples)
    return Plan(tuple(_act(view)), again)


def _measure(
    autoscaler: SeedAutoscaler, owner: ManagedSeedSet, snapshot: Snapshot, samples: Samples
) -> _View:
    seeds = metrics.members(owner, snapshot)
    wanted = demand.of_set(owner, snapshot)
    view = _View(autoscaler, owner, seeds, wanted, (), snapshot)
    sizes = demand.allocatable(owner, snapshot.options.capacity)
    tolerance = memory.tolerance_of(autoscaler)
    found: list[Measure] = []
    for metric in autoscaler.spec.metrics:
        resource = metric.resource
        target = metrics.target_of(resource) if resource is not None else None
        if resource is None or target is None:
            found.append(Measure(None, None))
            continue
        loads = metrics.loads(resource.name, seeds, snapshot, samples, wanted.arriving)
        if loads is None:
            found.append(Measure(None, None))
            continue
        pending = wanted.amounts.get(resource.name, Decimal(0))
        size = quantity.parse(sizes.get(resource.name, "0"))
        found.append(measuring.measure(view.replicas, loads, target, pending, tolerance, size))
    return view._replace(measures=tuple(found))


def _act(view: _View) -> Iterator[Action]:
    now = view.snapshot.taken_at
    behavior = memory.behavior_of(view.autoscaler)
    history = memory.read(view.autoscaler)
    wanted = measuring.combine(view.replicas, view.measures)
    decision = autoscale.decide(view.replicas, wanted.replicas, view.limits, behavior, history, now)
    acts = view.autoscaler.spec.mode == demand.AUTO
    replicas = decision.replicas
    if view.cordons and acts:
        drained = view.replicas - cordon.empty(view.seeds, view.snapshot)
        replicas = max(replicas, min(drained, view.replicas))
        yield from _cordon(view, wanted.replicas)
    if view.is_rolling:
        replicas = max(replicas, view.replicas)  # no seed goes while another one changes
    scales = acts and replicas != view.replicas
    remembered = decision.history
    if scales:
        yield _scale(view, replicas)
        remembered = autoscale.remember_change(remembered, view.replicas, replicas, now)
        message = f"{view.replicas} → {replicas}: {wanted.reason}"
        yield Emit(_KIND, view.autoscaler, "SuccessfulRescale", message)
    status = {
        **_status(view, decision),
        **memory.write(remembered, history, behavior),
        **({"lastScaleTime": format_time(now)} if scales else {}),
    }
    said = (
        _able(view, decision, scaled_to=replicas if scales else None),
        _active(view, wanted.reason),
        _limited(decision),
    )
    yield from _tell(view.autoscaler, status, said, view.snapshot)


def _cordon(view: _View, wanted: int) -> Iterator[Action]:
    """Drain while fewer seeds would do, and stop as soon as all of them are needed."""
    surplus = view.replicas - max(wanted, view.limits[0])
    if surplus > 0:
        yield from cordon.drain(view.seeds, surplus, view.snapshot)
    else:
        yield from cordon.release(view.seeds)


def _scale(view: _View, replicas: int) -> Patch:
    owner = view.owner
    change = {"spec": {"replicas": replicas}}
    return Patch(_SET, owner.key, change, owner.uid, owner.resource_version, "scale")


def _status(view: _View, decision: Decision) -> Draft:
    pairs = zip(view.autoscaler.spec.metrics, view.measures, strict=True)
    told = (metrics.describe(metric, measured) for metric, measured in pairs)
    return {
        "observedGeneration": view.autoscaler.metadata.generation,
        "currentReplicas": view.owner.status.replicas,
        "desiredReplicas": decision.replicas,
        "pendingShoots": view.demand.shoots,
        "currentMetrics": [each for each in told if each is not None],
    }


def _able(view: _View, decision: Decision, scaled_to: int | None) -> _Said:
    name = names.ABLE_TO_SCALE
    pending = view.owner.status.pending_replica
    if pending is not None and _blocks(pending.reason, view, decision):
        message = f"the set waits for {pending.name}: {pending.reason}"
        return _Said(name, conditions.FALSE, "PendingReplica", message)
    if view.is_rolling and decision.replicas < view.replicas:
        message = "no seed goes while the set is rolled to another revision"
        return _Said(name, conditions.FALSE, "RollingUpdate", message)
    if scaled_to is not None:
        message = f"the set was scaled to {scaled_to}"
        return _Said(name, conditions.TRUE, "SucceededRescale", message)
    if decision.limited_by in _STABILIZED:
        message = "recent recommendations hold the number of seeds for now"
        return _Said(name, conditions.TRUE, decision.limited_by or "", message)
    return _Said(name, conditions.TRUE, "ReadyForNewScale", "the set can be scaled")


def _blocks(reason: str, view: _View, decision: Decision) -> bool:
    """Tell whether a replica that is under way stands in the way of more.

    A Gardener makes no further replica before that one is ready, whatever it waits for.
    """
    if view.snapshot.options.beside_gardener:
        return max(decision.replicas, view.replicas) > view.owner.status.replicas
    return decision.replicas > view.replicas and reason.endswith("Failed")


def _active(view: _View, reason: str) -> _Said:
    name = names.SCALING_ACTIVE
    if any(measured.replicas is not None for measured in view.measures):
        return _Said(name, conditions.TRUE, "ValidMetricFound", f"decided by {reason}")
    message = "no metric has a value: no seed of the set is ready"
    if not view.autoscaler.spec.metrics:
        message = "there are no metrics (spec.metrics)"
    return _Said(name, conditions.FALSE, "FailedGetResourceMetric", message)


def _limited(decision: Decision) -> _Said:
    name = names.SCALING_LIMITED
    if decision.limited_by is None or decision.limited_by in _STABILIZED:
        message = "the number of seeds is within all limits"
        return _Said(name, conditions.FALSE, "DesiredWithinRange", message)
    told = {
        "TooFewReplicas": "the least number of seeds is spec.minReplicas",
        "TooManyReplicas": "the largest number of seeds is spec.maxReplicas",
        "ScaleUpLimit": "spec.behavior.scaleUp limits how fast the set grows",
        "ScaleDownLimit": "spec.behavior.scaleDown limits how fast the set shrinks",
    }
    return _Said(name, conditions.TRUE, decision.limited_by, told[decision.limited_by])


def _tell_no_target(autoscaler: SeedAutoscaler, snapshot: Snapshot) -> Iterator[Action]:
    message = f"ManagedSeedSet {demand.key_of(autoscaler)} does not exist (spec.scaleTargetRef)"
    said = (
        _Said(names.ABLE_TO_SCALE, conditions.FALSE, "FailedGetScale", message),
        _Said(names.SCALING_ACTIVE, conditions.FALSE, "FailedGetScale", message),
    )
    status = {"observedGeneration": autoscaler.metadata.generation}
    yield from _tell(autoscaler, status, said, snapshot)


def _tell(
    autoscaler: SeedAutoscaler, status: Draft, said: Sequence[_Said], snapshot: Snapshot
) -> Iterator[Patch]:
    raw = snapshot.raw(SeedAutoscaler, autoscaler.key) or {}
    old: Draft = raw.get("status") or {}
    told: list[Draft] = [dict(each) for each in old.get("conditions") or ()]
    for each in said:
        conditions.set(
            told,
            each.type,
            each.status,
            reason=each.reason,
            message=each.message,
            now=snapshot.taken_at,
        )
    if change := merge_diff(old, {**old, **status, "conditions": told}):
        version = autoscaler.resource_version
        body = {"status": change}
        yield Patch(_KIND, autoscaler.key, body, autoscaler.uid, version, "status")
