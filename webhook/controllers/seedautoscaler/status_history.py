"""Recent recommendations and changes in a SeedAutoscaler's status, for windows and rates.

A new leader reads them there. A stabilization window needs only the largest and the smallest
number that was proposed in it, so each number is kept once, with its last time.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, cast

from webhook.api.seedautoscalers import ScalingRules, SeedAutoscaler
from webhook.domain.sets.replica_calculator import TOLERANCE, Tolerance
from webhook.domain.sets.scale_behavior import (
    SCALE_DOWN,
    SCALE_UP,
    Behavior,
    History,
    PolicyType,
    Proposal,
    RatePolicy,
    ScaleEvent,
    ScaleRules,
    SelectPolicy,
)
from webhook.kube import quantity
from webhook.kube.meta import Draft
from webhook.kube.quantity import QuantityError
from webhook.kube.timestamps import TimestampError, format_micro_time, parse_time

_TYPES: Final[Mapping[str, PolicyType]] = {
    "Replicas": "Replicas",
    "Seeds": "Replicas",
    "Pods": "Replicas",
    "Percent": "Percent",
}
"""`Seeds` and, in rules copied from a HorizontalPodAutoscaler, `Pods` mean replicas."""

_COARSE: Final = 10
"""A proposal is written again only after this fraction of the longest window, to save writes."""


def read(autoscaler: SeedAutoscaler) -> History:
    """Read the history; entries that cannot be parsed are dropped."""
    status = autoscaler.status
    proposals = [
        Proposal(at, noted.replicas)
        for noted in status.recent_recommendations
        if (at := _time(noted.at)) is not None
    ]
    changes = [
        ScaleEvent(at, noted.by)
        for noted in status.recent_changes
        if (at := _time(noted.at)) is not None
    ]
    return History(tuple(sorted(proposals)), tuple(sorted(changes)))


def write(history: History, before: History, behavior: Behavior) -> Draft:
    """Encode each proposed number once, and every change."""
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
    """Read how fast a set may change, with the defaults of HorizontalPodAutoscalers."""
    given = autoscaler.spec.behavior
    if given is None:
        return Behavior()
    return Behavior(_rules(given.scale_up, SCALE_UP), _rules(given.scale_down, SCALE_DOWN))


def tolerance_of(autoscaler: SeedAutoscaler) -> Tolerance:
    """Read the tolerances of an autoscaler in both directions."""
    given = autoscaler.spec.behavior
    if given is None:
        return Tolerance()
    return Tolerance(_tolerance(given.scale_down), _tolerance(given.scale_up))


def _rules(given: ScalingRules | None, default: ScaleRules) -> ScaleRules:
    if given is None:
        return default
    window = given.stabilization_window_seconds
    policies = tuple(_policies(given)) or default.policies
    select = given.select_policy or default.select
    return ScaleRules(
        default.stabilization if window is None else timedelta(seconds=window),
        policies,
        cast("SelectPolicy", select) if select in ("Max", "Min", "Disabled") else default.select,
    )


def _policies(given: ScalingRules) -> Iterable[RatePolicy]:
    for policy in given.policies:
        kind = _TYPES.get(policy.type)
        if kind is not None:
            yield RatePolicy(kind, policy.value, timedelta(seconds=policy.period_seconds))


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
