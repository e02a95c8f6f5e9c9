"""How fast a set of seeds follows its metrics: the HorizontalPodAutoscaler's rules, for seeds."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal, NamedTuple, TypeAlias

PolicyType: TypeAlias = Literal["Replicas", "Percent"]
SelectPolicy: TypeAlias = Literal["Max", "Min", "Disabled"]


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
    return math.ceil(share) if direction > 0 else int(share)


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
