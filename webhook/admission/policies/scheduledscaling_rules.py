"""scheduledscaling.rules: a floor for a Tortoise, from when to when."""

from collections.abc import Iterator

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import scheduled_scaling
from webhook.api.meta import ObjectKey
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.state.snapshot import Snapshot


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Judge the schedule and its floors; against the clock only where the schedule changes."""
    scaling, old = request.object_as(ScheduledScaling), request.old_as(ScheduledScaling)
    yield from scheduled_scaling.judge(scaling.spec)
    if old is None or old.spec.schedule != scaling.spec.schedule:
        yield from scheduled_scaling.judge_now(scaling.spec.schedule, snapshot.taken_at)
    name = scaling.spec.target_refs.tortoise_name
    if name and (old is None or old.spec.target_refs != scaling.spec.target_refs):
        yield from _tortoise(ObjectKey(request.key.namespace, name), snapshot)


def _tortoise(key: ObjectKey, snapshot: Snapshot) -> Iterator[Finding]:
    if not snapshot.serves(Tortoise) or snapshot.look_up(Tortoise, key) is None:
        yield Finding.warning(
            "spec.targetRefs.tortoiseName",
            f"there is no Tortoise {key} yet, nothing is scaled until there is",
        )
