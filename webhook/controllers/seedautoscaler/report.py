"""The status of a SeedAutoscaler: metrics, conditions, and the seeds that it waits for."""

from collections.abc import Iterator, Sequence
from typing import Final

from webhook.api import names
from webhook.api.kinds import kind_of_model
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.controllers.seedautoscaler import demand, measurement
from webhook.controllers.seedautoscaler.observation import ScaleObservation
from webhook.controllers.status_patch import ConditionDraft, patch_status, set_conditions
from webhook.domain.sets import scale_in
from webhook.domain.sets.scale_behavior import ScaleDecision
from webhook.kube import conditions
from webhook.kube.meta import Draft
from webhook.runtime.actions import Patch
from webhook.state.snapshot import Snapshot

_KIND: Final = kind_of_model(SeedAutoscaler)
_STABILIZED: Final = ("ScaleUpStabilized", "ScaleDownStabilized")


def write(
    view: ScaleObservation, decision: ScaleDecision, reason: str, replicas: int, more: Draft
) -> Iterator[Patch]:
    """Report a decision, and the replicas that the set has now."""
    status = {**_status(view, decision.replicas, replicas), **more}
    drafts = (
        _able(view, decision, replicas),
        _active(view, reason),
        _limited(decision),
    )
    yield from _report(view.autoscaler, status, drafts, view.snapshot)


def write_disabled(view: ScaleObservation) -> Iterator[Patch]:
    """Report that a set of 0 replicas is not scaled."""
    message = "scaling is disabled because the set has 0 replicas: scale it to at least 1"
    drafts = (
        _blocked(view, 0)
        or ConditionDraft(
            names.ABLE_TO_SCALE, conditions.TRUE, "ReadyForNewScale", "the set can be scaled"
        ),
        ConditionDraft(names.SCALING_ACTIVE, conditions.FALSE, "ScalingDisabled", message),
    )
    yield from _report(view.autoscaler, _status(view, 0, 0), drafts, view.snapshot)


def write_no_target(autoscaler: SeedAutoscaler, snapshot: Snapshot) -> Iterator[Patch]:
    """Report that the set does not exist."""
    message = f"ManagedSeedSet {demand.target_key(autoscaler)} does not exist (spec.scaleTargetRef)"
    drafts = (
        ConditionDraft(names.ABLE_TO_SCALE, conditions.FALSE, "FailedGetScale", message),
        ConditionDraft(names.SCALING_ACTIVE, conditions.FALSE, "FailedGetScale", message),
    )
    status = {"observedGeneration": autoscaler.metadata.generation}
    yield from _report(autoscaler, status, drafts, snapshot)


def _status(view: ScaleObservation, desired: int, replicas: int) -> Draft:
    pairs = zip(view.autoscaler.spec.metrics, view.measures, strict=True)
    described = (measurement.describe(metric, measured) for metric, measured in pairs)
    return {
        "observedGeneration": view.autoscaler.metadata.generation,
        "currentReplicas": view.owner.status.replicas,
        "desiredReplicas": desired,
        "pendingShoots": view.demand.shoots,
        "waitingFor": ", ".join(each.name for each in view.blocked(replicas) or view.draining),
        "currentMetrics": [each for each in described if each is not None],
    }


def _able(view: ScaleObservation, decision: ScaleDecision, replicas: int) -> ConditionDraft:
    name = names.ABLE_TO_SCALE
    pending = view.owner.status.pending_replica
    if pending is not None and _blocks(pending.reason, view, decision):
        message = f"the set waits for {pending.name}: {pending.reason}"
        return ConditionDraft(name, conditions.FALSE, "PendingReplica", message)
    if view.is_rolling and decision.replicas < view.replicas:
        message = "no seed is removed while the set is updated to another revision"
        return ConditionDraft(name, conditions.FALSE, "RollingUpdate", message)
    if (blocked := _blocked(view, replicas)) is not None:
        return blocked
    if replicas != view.replicas:
        message = f"the set was scaled to {replicas}"
        return ConditionDraft(name, conditions.TRUE, "SucceededRescale", message)
    if draining := view.draining:
        message = f"drained before the set shrinks: {scale_in.describe_blocked(draining)}"
        return ConditionDraft(name, conditions.TRUE, "Draining", message)
    if decision.limited_by in _STABILIZED:
        message = "recent recommendations hold the number of seeds for now"
        return ConditionDraft(name, conditions.TRUE, decision.limited_by or "", message)
    return ConditionDraft(name, conditions.TRUE, "ReadyForNewScale", "the set can be scaled")


def _blocked(view: ScaleObservation, replicas: int) -> ConditionDraft | None:
    """Report the seeds that the set should remove and cannot."""
    blocked = view.blocked(replicas)
    if not blocked:
        return None
    message = (
        f"the set has {len(view.seeds)} seeds and waits to remove all but {replicas}:"
        f" {scale_in.describe_blocked(blocked)}"
    )
    return ConditionDraft(names.ABLE_TO_SCALE, conditions.FALSE, "ScaleInBlocked", message)


def _blocks(reason: str, view: ScaleObservation, decision: ScaleDecision) -> bool:
    """Return whether a pending replica keeps the set from growing.

    Gardener creates no further replica before that one is ready, whatever it waits for.
    """
    if view.snapshot.options.beside_gardener:
        return max(decision.replicas, view.replicas) > view.owner.status.replicas
    return decision.replicas > view.replicas and reason.endswith("Failed")


def _active(view: ScaleObservation, reason: str) -> ConditionDraft:
    name = names.SCALING_ACTIVE
    if any(measured.replicas is not None for measured in view.measures):
        return ConditionDraft(name, conditions.TRUE, "ValidMetricFound", f"decided by {reason}")
    message = "no metric has a value: no seed of the set is ready"
    if not view.autoscaler.spec.metrics:
        message = "there are no metrics (spec.metrics)"
    return ConditionDraft(name, conditions.FALSE, "FailedGetResourceMetric", message)


def _limited(decision: ScaleDecision) -> ConditionDraft:
    name = names.SCALING_LIMITED
    if decision.limited_by is None or decision.limited_by in _STABILIZED:
        message = "the number of seeds is within all limits"
        return ConditionDraft(name, conditions.FALSE, "DesiredWithinRange", message)
    messages = {
        "TooFewReplicas": "the least number of seeds is spec.minReplicas",
        "TooManyReplicas": "the largest number of seeds is spec.maxReplicas",
        "ScaleUpLimit": "spec.behavior.scaleUp limits how fast the set grows",
        "ScaleDownLimit": "spec.behavior.scaleDown limits how fast the set shrinks",
    }
    return ConditionDraft(name, conditions.TRUE, decision.limited_by, messages[decision.limited_by])


def _report(
    autoscaler: SeedAutoscaler, status: Draft, drafts: Sequence[ConditionDraft], snapshot: Snapshot
) -> Iterator[Patch]:
    raw = snapshot.raw(SeedAutoscaler, autoscaler.key) or {}
    old: Draft = raw.get("status") or {}
    new = {**old, **status, "conditions": set_conditions(old, drafts, snapshot.taken_at)}
    yield from patch_status(_KIND, autoscaler, old, new)
