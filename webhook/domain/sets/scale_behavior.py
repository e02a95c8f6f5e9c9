"""How fast a set of seeds is scaled: the `behavior` of a HorizontalPodAutoscaler, for seeds."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, Literal, NamedTuple, TypeAlias

PolicyType: TypeAlias = Literal["Replicas", "Percent"]
SelectPolicy: TypeAlias = Literal["Max", "Min", "Disabled"]


@dataclass(frozen=True, slots=True)
class RatePolicy:
    """The largest change within a period."""

    type: PolicyType
    value: int
    period: timedelta


@dataclass(frozen=True, slots=True)
class ScaleRules:
    """How fast replicas may change in one direction."""

    stabilization: timedelta
    policies: tuple[RatePolicy, ...]
    select: SelectPolicy = "Max"


_QUARTER_MINUTE: Final = timedelta(seconds=15)
SCALE_UP: Final = ScaleRules(
    timedelta(0),
    (RatePolicy("Replicas", 4, _QUARTER_MINUTE), RatePolicy("Percent", 100, _QUARTER_MINUTE)),
)
SCALE_DOWN: Final = ScaleRules(timedelta(minutes=5), (RatePolicy("Percent", 100, _QUARTER_MINUTE),))


@dataclass(frozen=True, slots=True)
class Behavior:
    """The rules of both directions."""

    up: ScaleRules = SCALE_UP
    down: ScaleRules = SCALE_DOWN


class Proposal(NamedTuple):
    """A past recommendation, kept for the length of the stabilization windows."""

    at: datetime
    replicas: int


class ScaleEvent(NamedTuple):
    """A past change of replicas, kept for the longest period of the rate policies."""

    at: datetime
    by: int


@dataclass(frozen=True, slots=True)
class History:
    """Recent recommendations and changes, oldest first."""

    proposals: tuple[Proposal, ...] = ()
    changes: tuple[ScaleEvent, ...] = ()


class ScaleDecision(NamedTuple):
    """The replicas to set, what limited them, and the new history."""

    replicas: int
    limited_by: str | None
    history: History


def decide(
    replicas: int,
    wanted: int,
    limits: tuple[int, int],
    behavior: Behavior,
    history: History,
    now: datetime,
) -> ScaleDecision:
    """Apply stabilization, rate policies and bounds to a recommendation, in that order."""
    low, high = limits
    proposals = (*history.proposals, Proposal(now, wanted))
    stable = _stabilized(replicas, wanted, proposals, behavior, now)
    limited = _rate_limited(replicas, stable, behavior, history.changes, now)
    final = min(max(limited, low), high)
    limited_by = None
    if final != limited:
        limited_by = "TooFewReplicas" if final == low else "TooManyReplicas"
    elif limited != stable:
        limited_by = "ScaleUpLimit" if stable > replicas else "ScaleDownLimit"
    elif stable != wanted:
        limited_by = "ScaleDownStabilized" if wanted < stable else "ScaleUpStabilized"
    return ScaleDecision(final, limited_by, _trimmed(proposals, history.changes, behavior, now))


def record_change(history: History, before: int, after: int, now: datetime) -> History:
    """Add a change that was written to the history."""
    if before == after:
        return history
    return History(history.proposals, (*history.changes, ScaleEvent(now, after - before)))


def _stabilized(
    replicas: int, wanted: int, proposals: Iterable[Proposal], behavior: Behavior, now: datetime
) -> int:
    """Scale up at most to the lowest proposal of its window, down to the highest of its window."""
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


def _rate_limited(
    replicas: int, wanted: int, behavior: Behavior, changes: Sequence[ScaleEvent], now: datetime
) -> int:
    if wanted > replicas:
        rules = behavior.up
        return min(wanted, _limit(replicas, rules, changes, now, direction=1))
    if wanted < replicas:
        rules = behavior.down
        return max(wanted, _limit(replicas, rules, changes, now, direction=-1))
    return wanted


def _limit(
    replicas: int, rules: ScaleRules, changes: Sequence[ScaleEvent], now: datetime, direction: int
) -> int:
    """Return how far one direction may go now, given the changes within each policy's period."""
    if rules.select == "Disabled" or not rules.policies:
        return replicas
    limits = [_policy_limit(replicas, policy, changes, now, direction) for policy in rules.policies]
    select = max if (rules.select == "Max") == (direction > 0) else min
    # Changes under other rules may have exceeded a policy already: never reverse the direction.
    return max(replicas, select(limits)) if direction > 0 else min(replicas, select(limits))


def _policy_limit(
    replicas: int, policy: RatePolicy, changes: Sequence[ScaleEvent], now: datetime, direction: int
) -> int:
    done = sum(by for at, by in changes if at > now - policy.period and by * direction > 0)
    start = replicas - done
    if policy.type == "Replicas":
        return start + direction * policy.value
    share = Decimal(start) * (100 + direction * policy.value) / 100
    return math.ceil(share) if direction > 0 else int(share)


def _trimmed(
    proposals: Sequence[Proposal], changes: Sequence[ScaleEvent], behavior: Behavior, now: datetime
) -> History:
    window = now - max(behavior.up.stabilization, behavior.down.stabilization)
    periods = [policy.period for rules in (behavior.up, behavior.down) for policy in rules.policies]
    horizon = now - max(periods, default=timedelta(0))
    return History(
        tuple(proposal for proposal in proposals if proposal.at > window),
        tuple(change for change in changes if change.at > horizon),
    )
