"""What windows and rates look back at, kept in the object's own status.

A leader that takes over finds it there. Windows ask only for the largest and the smallest number
that was proposed in them, so each number is kept once, with the last time that it was proposed.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, cast

from webhook.api import quantity
from webhook.api.meta import Draft
from webhook.api.quantity import QuantityError
from webhook.api.seedautoscalers import ScalingRules, SeedAutoscaler
from webhook.api.timestamps import TimestampError, format_micro_time, parse_time
from webhook.domain.autoscale import (
    SCALE_DOWN,
    SCALE_UP,
    Behavior,
    Change,
    History,
    Policy,
    PolicyType,
    Proposal,
    Rules,
    SelectPolicy,
)
from webhook.domain.measuring import TOLERANCE, Tolerance

_TYPES: Final[Mapping[str, PolicyType]] = {
    "Replicas": "Replicas",
    "Seeds": "Replicas",
    "Pods": "Replicas",
    "Percent": "Percent",
}
_COARSE: Final = 10
"""A proposal is noted again only after this part of the longest window: it saves writes."""


def read(autoscaler: SeedAutoscaler) -> History:
    """Read what was noted; what cannot be read is forgotten."""
    status = autoscaler.status
    proposals = [
        Proposal(at, noted.replicas)
        for noted in status.recent_recommendations
        if (at := _time(noted.at)) is not None
    ]
    changes = [
        Change(at, noted.by)
        for noted in status.recent_changes
        if (at := _time(noted.at)) is not None
    ]
    return History(tuple(sorted(proposals)), tuple(sorted(changes)))


def write(history: History, before: History, behavior: Behavior) -> Draft:
    """Write down each proposed number once, and every change."""
    latest = {proposal.replicas: proposal.at for proposal in sorted(history.proposals)}
    noted = {proposal.replicas: proposal.at for proposal in before.proposals}
    window = max(behavior.up.stabilization, behavior.down.stabilization)
    for replicas, at in latest.items():
        known = noted.get(replicas)
        if known is not None and at - known < window / _COARSE:
            latest[replicas] = known
    if not window:
        latest = {}
    return {
        "recentRecommendations": [
            {"at": format_micro_time(at), "replicas": replicas}
            for replicas, at in sorted(latest.items(), key=lambda item: (item[1], item[0]))
        ],
        "recentChanges": [
            {"at": format_micro_time(change.at), "by": change.by} for change in history.changes
        ],
    }


def behavior_of(autoscaler: SeedAutoscaler) -> Behavior:
    """Read how fast a set may change, with the well-known defaults where nothing is said."""
    given = autoscaler.spec.behavior
    if given is None:
        return Behavior()
    return Behavior(_rules(given.scale_up, SCALE_UP), _rules(given.scale_down, SCALE_DOWN))


def tolerance_of(autoscaler: SeedAutoscaler) -> Tolerance:
    """Read how far load may be off its target in either direction."""
    given = autoscaler.spec.behavior
    if given is None:
        return Tolerance()
    return Tolerance(_tolerance(given.scale_down), _tolerance(given.scale_up))


def _rules(given: ScalingRules | None, default: Rules) -> Rules:
    if given is None:
        return default
    window = given.stabilization_window_seconds
    policies = tuple(_policies(given)) or default.policies
    select = given.select_policy or default.select
    return Rules(
        default.stabilization if window is None else timedelta(seconds=window),
        policies,
        cast("SelectPolicy", select) if select in ("Max", "Min", "Disabled") else default.select,
    )


def _policies(given: ScalingRules) -> Iterable[Policy]:
    for policy in given.policies:
        kind = _TYPES.get(policy.type)
        if kind is not None:
            yield Policy(kind, policy.value, timedelta(seconds=policy.period_seconds))


def _tolerance(given: ScalingRules | None) -> Decimal:
    if given is None or given.tolerance is None:
        return TOLERANCE
    try:
        return quantity.parse(given.tolerance)
    except QuantityError:
        return TOLERANCE


def _time(text: str) -> datetime | None:
    try:
        return parse_time(text)
    except TimestampError:
        return None
