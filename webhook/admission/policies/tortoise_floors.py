"""tortoise.floors: resource floors go through the Tortoise's own policy, and are on record there.

Tortoise strips what it does not know from everybody's writes, so what we set comes from the
windows in memory, never from the object as it was sent or stored.
"""

from typing import Any, Final

from webhook.admission import drafts
from webhook.admission.decision import Request
from webhook.admission.rules import floors
from webhook.api import names
from webhook.api.meta import Draft
from webhook.api.scaling import Tortoise
from webhook.domain import notes, schedules
from webhook.domain.floors import NO_FLOORS, Floors
from webhook.state.snapshot import Snapshot

_ENTRY: Final[Draft] = {"name": names.RECOMMENDER, "responsibleFor": [names.CONSTRAINTS]}


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> None:
    """Raise the resource policy to the floors of now, settle what is owed, claim constraints."""
    meant = floors.take_meant(draft, request, snapshot)
    held = floors.held(request.key, snapshot) if meant is None else meant
    claim(draft, held)
    tortoise = request.object_as(Tortoise)
    options = snapshot.options.scaling
    wanted = schedules.effective(tortoise, held, options) if options.effect != "none" else NO_FLOORS
    notes.settle_tortoise(draft, request.old_raw(), wanted)


def claim(draft: Draft, held: Floors) -> None:
    """Name us as the recommender of constraints while a window is open, and only then."""
    spec = drafts.section(draft, "spec")
    present: list[Any] = spec.get("recommenders") or []
    others = [each for each in present if not _is_ours(each)]
    wanted = [*others, _ENTRY] if held else others
    if wanted == present:
        return
    if wanted:
        spec["recommenders"] = wanted
    else:
        spec.pop("recommenders", None)


def _is_ours(entry: Any) -> bool:
    return isinstance(entry, dict) and entry.get("name") == names.RECOMMENDER
