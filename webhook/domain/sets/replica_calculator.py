"""The number of seeds that metrics require, computed like in a HorizontalPodAutoscaler.

Unlike pods, seeds do not show the whole demand: shoots that found no seed are pending, and count.
"""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Final, Literal, NamedTuple, TypeAlias

TargetType: TypeAlias = Literal["Utilization", "AverageValue"]

TOLERANCE: Final = Decimal("0.1")


class Tolerance(NamedTuple):
    """How far the load may deviate from its target, as a ratio, before replicas change."""

    down: Decimal = TOLERANCE
    up: Decimal = TOLERANCE

    def covers(self, ratio: Decimal) -> bool:
        return -self.down <= ratio - 1 <= self.up


class SeedLoad(NamedTuple):
    """What one seed uses and offers of one resource."""

    used: Decimal
    allocatable: Decimal
    ready: bool = True
    removable: bool = True
    """Whether the set could remove it now."""


class TargetValue(NamedTuple):
    """The target of one metric: a percentage of allocatable, or an amount per seed."""

    type: TargetType
    value: Decimal


class MetricProposal(NamedTuple):
    """One metric's proposal and the value behind it; None for a metric without a value."""

    replicas: int | None
    current: Decimal | None


class Recommendation(NamedTuple):
    """The proposal of all metrics together."""

    replicas: int
    reason: str


_DEFAULT_TOLERANCE: Final = Tolerance()
_NONE: Final = Decimal(0)


def propose_replicas(
    replicas: int,
    loads: Sequence[SeedLoad],
    target: TargetValue,
    pending: Decimal,
    tolerance: Tolerance = _DEFAULT_TOLERANCE,
    size: Decimal = _NONE,
) -> MetricProposal:
    """Return the number of seeds that one metric requires.

    `pending` is what shoots without a seed would use. Seeds that are not ready count as empty when
    the others require more seeds, and as exactly on target when they require fewer, so that they
    change nothing in either direction. `size` is what a new seed will offer, for sets without any.

    Within the tolerance the number stays, unless there are more ready seeds than replicas, because
    the set was scaled in and cannot shrink: then it is raised to the seeds that cannot be removed,
    and to those without which the load would exceed the tolerance.
    """
    ready = [load for load in loads if load.ready]
    current = _average(ready, target.type)
    for_pending = _replicas_for_pending(replicas, loads, pending, size)
    if current is None or target.value <= 0:
        return MetricProposal(for_pending, current)
    ratio = _ratio(ready, target, pending)
    proposed = _replicas_for_ratio(replicas, len(ready), ratio, tolerance)
    if tolerance.covers(ratio):
        proposed = max(proposed, _seeds_to_keep(ready, ratio, tolerance))
    return MetricProposal(max(proposed, for_pending or proposed), current)


def _replicas_for_ratio(replicas: int, ready: int, ratio: Decimal, tolerance: Tolerance) -> int:
    """Return the replicas for a ratio of load to target; unchanged within the tolerance."""
    if tolerance.covers(ratio):
        return replicas
    missing = replicas - ready
    if missing <= 0:
        return math.ceil(ratio * ready)
    assumed = ready * ratio + (missing if ratio < 1 else 0)
    overall = assumed / replicas
    reversed_direction = (overall > 1) != (ratio > 1)
    if reversed_direction or tolerance.covers(overall):
        return replicas
    proposed = math.ceil(overall * replicas)
    overshoots = (ratio > 1 and proposed < replicas) or (ratio < 1 and proposed > replicas)
    return replicas if overshoots else proposed


def _seeds_to_keep(ready: Sequence[SeedLoad], ratio: Decimal, tolerance: Tolerance) -> int:
    """Return how many of the ready seeds must stay while their load is on target."""
    fixed = sum(not load.removable for load in ready)
    needed = math.ceil(ratio * len(ready) / (1 + tolerance.up))
    return max(fixed, min(needed, len(ready)))


def _ratio(ready: Sequence[SeedLoad], target: TargetValue, pending: Decimal) -> Decimal:
    used = sum((load.used for load in ready), Decimal(0)) + pending
    if target.type == "AverageValue":
        return used / len(ready) / target.value
    offered = sum((load.allocatable for load in ready), Decimal(0))
    return used / offered * 100 / target.value


def _average(ready: Sequence[SeedLoad], kind: TargetType) -> Decimal | None:
    """Return the metric over ready seeds: utilisation in percent, or the amount per seed."""
    if not ready:
        return None
    used = sum((load.used for load in ready), Decimal(0))
    if kind == "AverageValue":
        return used / len(ready)
    offered = sum((load.allocatable for load in ready), Decimal(0))
    return used / offered * 100 if offered > 0 else None


def _replicas_for_pending(
    replicas: int, loads: Sequence[SeedLoad], pending: Decimal, size: Decimal
) -> int | None:
    """Return the number of seeds with which all pending shoots fit, whatever the tolerance.

    Pending shoots did not fit on the ready seeds, so they need new ones besides these.
    """
    if pending <= 0:
        return None
    ready = [load for load in loads if load.ready]
    sizes = [load.allocatable for load in ready if load.allocatable > 0]
    if not sizes:
        return max(replicas, math.ceil(pending / size) if size > 0 else 1)
    return max(replicas, len(ready) + math.ceil(pending / (sum(sizes, Decimal(0)) / len(sizes))))


def combine(replicas: int, measures: Sequence[MetricProposal]) -> Recommendation:
    """Return the largest proposal; a metric without a value prevents scaling down, not up."""
    known = [measured.replicas for measured in measures if measured.replicas is not None]
    if not known:
        return Recommendation(replicas, "no metric has a value")
    largest = max(known)
    if largest < replicas and len(known) < len(measures):
        return Recommendation(replicas, "a metric has no value, so replicas are not lowered")
    return Recommendation(largest, "the largest of all metrics")
