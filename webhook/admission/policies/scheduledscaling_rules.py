"""scheduledscaling.rules: the schedule and the floors of a ScheduledScaling are valid."""

from collections.abc import Iterator
from typing import Final

from webhook.admission.decision import Finding, Request
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.domain.scaling import validation
from webhook.kube.meta import ObjectKey
from webhook.state.indexes import SCALINGS_BY_TORTOISE
from webhook.state.snapshot import Snapshot

_TORTOISE_NAME: Final = "spec.targetRefs.tortoiseName"


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Validate the spec; its size, and the schedule at the present time, only if they change."""
    scaling, old = request.object_as(ScheduledScaling), request.old_as(ScheduledScaling)
    yield from (Finding(*fault) for fault in validation.validate(scaling.spec))
    if old is None or old.spec.schedule != scaling.spec.schedule:
        faults = validation.validate_finish(scaling.spec.schedule, snapshot.taken_at)
        yield from (Finding(*fault) for fault in faults)
        warnings = validation.warnings(scaling.spec.schedule, snapshot.taken_at)
        yield from (Finding.warning(*warning) for warning in warnings)
    if old is None or old.spec.strategy != scaling.spec.strategy:
        faults = validation.validate_size(scaling.spec.strategy.static)
        yield from (Finding(*fault) for fault in faults)
    name = scaling.spec.target_refs.tortoise_name
    if name and (old is None or old.spec.target_refs != scaling.spec.target_refs):
        tortoise = ObjectKey(request.key.namespace, name)
        yield from _tortoise(tortoise, snapshot)
        yield from _number(tortoise, snapshot)


def _tortoise(key: ObjectKey, snapshot: Snapshot) -> Iterator[Finding]:
    if not snapshot.serves(Tortoise) or snapshot.look_up(Tortoise, key) is None:
        yield Finding.warning(
            _TORTOISE_NAME,
            f"there is no Tortoise {key} yet, nothing is scaled until there is",
        )


def _number(tortoise: ObjectKey, snapshot: Snapshot) -> Iterator[Finding]:
    """Reject one schedule too many: at each edge every schedule of a Tortoise is evaluated."""
    number = len(snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise)))
    if number >= validation.MAX_SCHEDULES:
        yield Finding.forbidden(
            _TORTOISE_NAME,
            f"Tortoise {tortoise} has {number} ScheduledScalings, at most "
            f"{validation.MAX_SCHEDULES} are allowed; delete completed ones",
        )
