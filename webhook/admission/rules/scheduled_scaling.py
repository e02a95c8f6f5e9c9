"""ScheduledScalings: a schedule that means something, and floors that can be kept."""

from collections.abc import Iterator
from datetime import datetime

from webhook.admission.decision import Finding
from webhook.api.scaling import Schedule, ScheduledScalingSpec
from webhook.domain import soundness


def judge(spec: ScheduledScalingSpec) -> Iterator[Finding]:
    """Judge everything that does not depend on what time it is."""
    return (Finding(*fault) for fault in soundness.faults(spec))


def judge_now(schedule: Schedule, now: datetime) -> Iterator[Finding]:
    """Refuse a schedule that is over before it begins."""
    return (Finding(*fault) for fault in soundness.faults_now(schedule, now))
