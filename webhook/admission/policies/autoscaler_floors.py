"""autoscaler.floors: the autoscaler of a Tortoise keeps at least the replicas of open windows."""

from collections.abc import Iterable

from webhook.admission.decision import Request
from webhook.admission.rules import floors
from webhook.api.meta import Draft, ObjectKey
from webhook.api.scaling import Tortoise
from webhook.domain import notes, schedules
from webhook.domain.floors import NO_FLOORS, Floors
from webhook.state.indexes import TORTOISES_BY_AUTOSCALER
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> Iterable[str]:
    """Raise both bounds to the floor of now, or give back what was raised before.

    Floors are for the autoscaler that its Tortoise names; any other that carries a note, such as
    a copy, only gives back what it owes.
    """
    meant = floors.take_meant(draft, request, snapshot)
    owed = notes.carried(draft, request.old_raw())
    tortoise = _tortoise(request.key, snapshot)
    if tortoise is None and owed is None:
        return ()
    held = _held(tortoise, meant, snapshot)
    asked = held.replicas
    wanted = schedules.effective(tortoise, held, snapshot.options.scaling).replicas
    name = tortoise.name if tortoise is not None else owed.tortoise if owed else ""
    notes.settle_autoscaler(draft, request.old_raw(), name, wanted)
    if wanted is not None and asked is not None and wanted < asked:
        return (f"spec.minReplicas: {asked} replicas are scheduled, {wanted} are the most allowed",)
    return ()


def _tortoise(key: ObjectKey, snapshot: Snapshot) -> Tortoise | None:
    return next(iter(snapshot.by_index(TORTOISES_BY_AUTOSCALER, str(key))), None)


def _held(tortoise: Tortoise | None, meant: Floors | None, snapshot: Snapshot) -> Floors:
    if tortoise is None or snapshot.options.scaling.effect == "none":
        return NO_FLOORS
    return floors.held(tortoise.key, snapshot) if meant is None else meant
