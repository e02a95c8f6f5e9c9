"""tortoise.constraints: the floors of now in the status, and hours that a window must not teach."""

from webhook.admission.decision import Request
from webhook.admission.rules import floors
from webhook.api.core import HorizontalPodAutoscaler
from webhook.api.meta import Draft, ObjectKey
from webhook.api.scaling import Tortoise
from webhook.domain import constraints, learning, schedules
from webhook.domain.floors import Floors
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> None:
    """Put back what Tortoise's whole-status writes erase, and hold its replica slots."""
    meant = floors.take_meant(draft, request, snapshot)
    held = floors.held(request.key, snapshot) if meant is None else meant
    constraints.constrain(draft, held)
    if snapshot.options.scaling.unlearn and _must_not_learn(request, held, snapshot):
        learning.hold_slots(draft, request.old_raw() or {})


def _must_not_learn(request: Request, held: Floors, snapshot: Snapshot) -> bool:
    tortoise = snapshot.get(Tortoise, request.key)
    if tortoise is None:
        return False
    wanted = schedules.effective(tortoise, held, snapshot.options.scaling)
    key = ObjectKey(tortoise.namespace, schedules.autoscaler_of(tortoise))
    autoscaler = snapshot.get(HorizontalPodAutoscaler, key)
    return learning.is_suspended(tortoise, autoscaler, wanted.replicas)
