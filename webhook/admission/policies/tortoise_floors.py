"""tortoise.floors: resource floors go through the Tortoise's own policy, and are on record there.

Tortoise strips what it does not know from everybody's writes, so what we set comes from the
windows in memory, never from the object as it was sent or stored.
"""

from webhook.admission.decision import Request
from webhook.admission.rules import floors
from webhook.api.meta import Draft
from webhook.api.scaling import Tortoise
from webhook.domain import constraints, notes, schedules
from webhook.domain.floors import NO_FLOORS
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> None:
    """Raise the resource policy to the floors of now, settle what is owed, claim constraints."""
    meant = floors.take_meant(draft, request, snapshot)
    held = floors.held(request.key, snapshot) if meant is None else meant
    constraints.claim(draft, held)
    tortoise = request.object_as(Tortoise)
    options = snapshot.options.scaling
    wanted = schedules.effective(tortoise, held, options) if options.effect != "none" else NO_FLOORS
    notes.settle_tortoise(draft, request.old_raw(), wanted)
