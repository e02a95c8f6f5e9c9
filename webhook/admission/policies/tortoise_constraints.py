"""tortoise.constraints: current floors in the status; Tortoise does not learn from windows."""

from webhook.admission.decision import Request
from webhook.admission.rules import floors
from webhook.api.core import HorizontalPodAutoscaler
from webhook.api.scaling import Tortoise
from webhook.domain.scaling import aftermath, constraints, schedules
from webhook.domain.scaling.floors import Floors
from webhook.kube.meta import Draft, ObjectKey
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> None:
    """Restore what Tortoise's updates of the whole status remove, and freeze its replica slots."""
    requested = floors.pop_requested(draft, request, snapshot)
    held = floors.active(request.key, snapshot) if requested is None else requested
    constraints.set_constraints(draft, held)
    if snapshot.options.scaling.unlearn and _must_not_learn(request, held, snapshot):
        aftermath.cap_slots(draft, request.old_raw() or {})


def _must_not_learn(request: Request, held: Floors, snapshot: Snapshot) -> bool:
    # A cache that lists the kind anew may not have it yet; the request has it in any case.
    tortoise = snapshot.get(Tortoise, request.key) or request.object_as(Tortoise)
    wanted = schedules.effective_floors(tortoise, held, snapshot.options.scaling)
    key = ObjectKey(tortoise.namespace, schedules.autoscaler_of(tortoise))
    autoscaler = snapshot.get(HorizontalPodAutoscaler, key)
    return aftermath.is_learning_suspended(tortoise, autoscaler, wanted.replicas)
