"""tortoise.floors: resource floors are set and recorded in the Tortoise's own resource policy.

The webhook of Tortoise removes unknown fields from all writes, so floors are computed from the
scaling windows in the cache, never from the object as sent or stored.
"""

from webhook.admission.decision import Request
from webhook.admission.rules import floors
from webhook.api.scaling import Tortoise
from webhook.domain.scaling import constraints, raised_values, schedules
from webhook.domain.scaling.floors import NO_FLOORS
from webhook.kube.meta import Draft
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> None:
    """Raise the resource policy to the current floors, or restore it, and set constraints."""
    requested = floors.pop_requested(draft, request, snapshot)
    held = floors.active(request.key, snapshot) if requested is None else requested
    constraints.set_recommender(draft, held)
    tortoise = request.object_as(Tortoise)
    options = snapshot.options.scaling
    wanted = (
        schedules.effective_floors(tortoise, held, options)
        if options.effect != "none"
        else NO_FLOORS
    )
    raised_values.apply_floors_to_tortoise(draft, request.old_raw(), wanted)
