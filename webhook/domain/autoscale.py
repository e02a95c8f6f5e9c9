"""How many seeds a set should have: the HorizontalPodAutoscaler's rules, for seeds."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_CEILING, Decimal
from typing import Literal, NamedTuple, TypeAlias

TargetType: TypeAlias = Literal["Utilization", "AverageValue"]
PolicyType: TypeAlias = Literal["Replicas", "Percent"]
SelectPolicy: TypeAlias = Literal["Max", "Min", "Disabled"]

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


@dataclass(frozen=True, slots=True)
class Policy:
    """At most this much change within a period."""

    type: PolicyType
    value: int
    period: timedelta


@dataclass(frozen=True, slots=True)
class Rules:
    """How fast replicas may change in one direction."""

    stabilization: timedelta
    policies: tuple[Policy, ...]
    select: SelectPolicy = "Max"


_QUARTER_MINUTE = timedelta(seconds=15)
SCALE_UP = Rules(
    timedelta(0),
    (Policy("Replicas", 4, _QUARTER_MINUTE), Policy("Percent", 100, _QUARTER_MINUTE)),
)
SCALE_DOWN = Rules(timedelta(minutes=5), (Policy("Percent", 100, _QUARTER_MINUTE),))


@dataclass(frozen=True, slots=True)
class Behavior:
    """The rules for both directions."""

    up: Rules = SCALE_UP
    down: Rules = SCALE_DOWN


class Proposal(NamedTuple):
    """A recommendation that was made, kept for as long as a stabilisation window looks back."""

    at: datetime
    replicas: int


class Change(NamedTuple):
    """A change of replicas that was made, kept for as long as a rate policy looks back."""

    at: datetime
    by: int


@dataclass(frozen=True, slots=True)
class History:
    """What was proposed and done lately, oldest first."""

    proposals: tuple[Proposal, ...] = ()
    changes: tuple[Change, ...] = ()


class Decision(NamedTuple):
    """The replicas to set, why they differ from what the metrics propose, and what to remember."""

    replicas: int
    limited_by: str | None
    history: History


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
        return _ceil(ratio * ready)
    assumed = ready * ratio + (missing if ratio < 1 else 0)
    overall = assumed / replicas
    turned = (overall > 1) != (ratio > 1)
    if turned or tolerance.covers(overall):
        return replicas
    proposed = _ceil(overall * replicas)
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
        return max(replicas, _ceil(pending / size) if size > 0 else 1)
    return max(replicas, len(ready) + _ceil(pending / (sum(sizes, Decimal(0)) / len(sizes))))


def combine(replicas: int, measures: Sequence[Measure]) -> Recommendation:
    """Take the largest proposal; a metric without a value forbids going down, not up."""
    known = [measured.replicas for measured in measures if measured.replicas is not None]
    if not known:
        return Recommendation(replicas, "no metric has a value")
    largest = max(known)
    if largest < replicas and len(known) < len(measures):
        return Recommendation(replicas, "a metric has no value, so replicas are not lowered")
    return Recommendation(largest, "the largest of all metrics")


def decide(
    replicas: int,
    wanted: int,
    limits: tuple[int, int],
    behavior: Behavior,
    history: History,
    now: datetime,
) -> Decision:
    """Hold a recommendation against stabilisation, rates, minimum and maximum, in that order."""
    low, high = limits
    remembered = (*history.proposals, Proposal(now, wanted))
    stable = _stabilised(replicas, wanted, remembered, behavior, now)
    rated = _rated(replicas, stable, behavior, history.changes, now)
    final = min(max(rated, low), high)
    limited_by = None
    if final != rated:
        limited_by = "TooFewReplicas" if final == low else "TooManyReplicas"
    elif rated != stable:
        limited_by = "ScaleUpLimit" if stable > replicas else "ScaleDownLimit"
    elif stable != wanted:
        limited_by = "ScaleDownStabilized" if wanted < stable else "ScaleUpStabilized"
    return Decision(final, limited_by, _trimmed(remembered, history.changes, behavior, now))


def remember_change(history: History, before: int, after: int, now: datetime) -> History:
    """Note a change that was really written."""
    if before == after:
        return history
    return History(history.proposals, (*history.changes, Change(now, after - before)))


def _stabilised(
    replicas: int, wanted: int, proposals: Iterable[Proposal], behavior: Behavior, now: datetime
) -> int:
    """Go up only as far as every proposal of the up window, down only as far as every down one."""
    up = now - behavior.up.stabilization
    down = now - behavior.down.stabilization
    lowest = highest = wanted
    for at, proposed in proposals:
        if at > up:
            lowest = min(lowest, proposed)
        if at > down:
            highest = max(highest, proposed)
    if replicas < lowest:
        return lowest
    return min(replicas, highest)


def _rated(
    replicas: int, wanted: int, behavior: Behavior, changes: Sequence[Change], now: datetime
) -> int:
    if wanted > replicas:
        rules = behavior.up
        return min(wanted, _furthest(replicas, rules, changes, now, direction=1))
    if wanted < replicas:
        rules = behavior.down
        return max(wanted, _furthest(replicas, rules, changes, now, direction=-1))
    return wanted


def _furthest(
    replicas: int, rules: Rules, changes: Sequence[Change], now: datetime, direction: int
) -> int:
    """Say how far one direction may go now, given what was done within each policy's period."""
    if rules.select == "Disabled" or not rules.policies:
        return replicas
    reach = [_reach(replicas, policy, changes, now, direction) for policy in rules.policies]
    generous = max if (rules.select == "Max") == (direction > 0) else min
    # A policy may already be overdrawn by changes made under other rules: never turn around.
    return max(replicas, generous(reach)) if direction > 0 else min(replicas, generous(reach))


def _reach(
    replicas: int, policy: Policy, changes: Sequence[Change], now: datetime, direction: int
) -> int:
    done = sum(by for at, by in changes if at > now - policy.period and by * direction > 0)
    start = replicas - done
    if policy.type == "Replicas":
        return start + direction * policy.value
    share = Decimal(start) * (100 + direction * policy.value) / 100
    return _ceil(share) if direction > 0 else int(share)


def _trimmed(
    proposals: Sequence[Proposal], changes: Sequence[Change], behavior: Behavior, now: datetime
) -> History:
    window = now - max(behavior.up.stabilization, behavior.down.stabilization)
    periods = [policy.period for rules in (behavior.up, behavior.down) for policy in rules.policies]
    horizon = now - max(periods, default=timedelta(0))
    return History(
        tuple(proposal for proposal in proposals if proposal.at > window),
        tuple(change for change in changes if change.at > horizon),
    )


def _ceil(number: Decimal) -> int:
    return int(number.to_integral_value(ROUND_CEILING))
