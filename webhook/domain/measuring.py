"""What metrics propose: how many seeds a set needs for the load that it has, and that waits."""

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias

TargetType: TypeAlias = Literal["Utilization", "AverageValue"]

TOLERANCE = Decimal("0.1")


class Tolerance(NamedTuple):
    """How far load may be off its target, as a share of it, before replicas change."""

    down: Decimal = TOLERANCE
    up: Decimal = TOLERANCE

    def covers(self, ratio: Decimal) -> bool:
        return -self.down <= ratio - 1 <= self.up


class Load(NamedTuple):
    """What one seed of the set uses and offers of one resource."""

    used: Decimal
    allocatable: Decimal
    ready: bool = True


class Target(NamedTuple):
    """What one metric asks for: percent of allocatable, or an amount per seed."""

    type: TargetType
    value: Decimal


class Measure(NamedTuple):
    """One metric's proposal, and the value that led to it; no proposal where it has no value."""

    replicas: int | None
    current: Decimal | None


class Recommendation(NamedTuple):
    """What all metrics together propose."""

    replicas: int
    reason: str


_TOLERANT = Tolerance()
_NONE = Decimal(0)


def measure(
    replicas: int,
    loads: Sequence[Load],
    target: Target,
    pending: Decimal,
    tolerance: Tolerance = _TOLERANT,
    size: Decimal = _NONE,
) -> Measure:
    """Let one metric propose a number of seeds.

    `pending` is what shoots without a seed would use: demand that the ready seeds do not show.
    Seeds that are not ready are counted conservatively: as empty when the rest asks for more
    seeds, as exactly on target when it asks for fewer, so they never push in either direction.
    `size` is what a new seed will offer, for sets that have none yet.
    """
    ready = [load for load in loads if load.ready]
    current = _average(ready, target.type)
    waiting = _for_pending(replicas, loads, pending, size)
    if current is None or target.value <= 0:
        return Measure(waiting, current)
    ratio = _ratio(ready, target, pending)
    proposed = _follow(replicas, len(ready), ratio, tolerance)
    return Measure(max(proposed, waiting or proposed), current)


def _follow(replicas: int, ready: int, ratio: Decimal, tolerance: Tolerance) -> int:
    """Turn a ratio of load to target into replicas, unless it is within tolerance."""
    if tolerance.covers(ratio):
        return replicas
    missing = replicas - ready
    if missing <= 0:
        return math.ceil(ratio * ready)
    assumed = ready * ratio + (missing if ratio < 1 else 0)
    overall = assumed / replicas
    turned = (overall > 1) != (ratio > 1)
    if turned or tolerance.covers(overall):
        return replicas
    proposed = math.ceil(overall * replicas)
    moved_back = (ratio > 1 and proposed < replicas) or (ratio < 1 and proposed > replicas)
    return replicas if moved_back else proposed


def _ratio(ready: Sequence[Load], target: Target, pending: Decimal) -> Decimal:
    used = sum((load.used for load in ready), Decimal(0)) + pending
    if target.type == "AverageValue":
        return used / len(ready) / target.value
    offered = sum((load.allocatable for load in ready), Decimal(0))
    return used / offered * 100 / target.value


def _average(ready: Sequence[Load], kind: TargetType) -> Decimal | None:
    """Return the metric over ready seeds: utilisation in percent, or the amount per seed."""
    if not ready:
        return None
    used = sum((load.used for load in ready), Decimal(0))
    if kind == "AverageValue":
        return used / len(ready)
    offered = sum((load.allocatable for load in ready), Decimal(0))
    return used / offered * 100 if offered > 0 else None


def _for_pending(
    replicas: int, loads: Sequence[Load], pending: Decimal, size: Decimal
) -> int | None:
    """Say how many seeds it takes until everything that waits has room, whatever the tolerance.

    What waits found no room on the ready seeds, so it needs new ones, less those on their way.
    """
    if pending <= 0:
        return None
    ready = [load for load in loads if load.ready]
    sizes = [load.allocatable for load in ready if load.allocatable > 0]
    if not sizes:
        return max(replicas, math.ceil(pending / size) if size > 0 else 1)
    return max(replicas, len(ready) + math.ceil(pending / (sum(sizes, Decimal(0)) / len(sizes))))


def combine(replicas: int, measures: Sequence[Measure]) -> Recommendation:
    """Take the largest proposal; a metric without a value forbids going down, not up."""
    known = [measured.replicas for measured in measures if measured.replicas is not None]
    if not known:
        return Recommendation(replicas, "no metric has a value")
    largest = max(known)
    if largest < replicas and len(known) < len(measures):
        return Recommendation(replicas, "a metric has no value, so replicas are not lowered")
    return Recommendation(largest, "the largest of all metrics")
