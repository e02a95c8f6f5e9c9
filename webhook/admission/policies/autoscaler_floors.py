"""autoscaler.floors: an HPA of a Tortoise has at least the replicas of open scaling windows."""

from collections.abc import Iterable

from webhook.admission.decision import Request
from webhook.admission.rules import floors
from webhook.api.scaling import Tortoise
from webhook.domain.scaling import raised_values, schedules
from webhook.domain.scaling.floors import NO_FLOORS, Floors
from webhook.kube.meta import Draft, ObjectKey
from webhook.state.indexes import TORTOISES_BY_AUTOSCALER
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> Iterable[str]:
    """Raise both bounds to the current floor, or restore the bounds that were raised before.

    Floors apply to the autoscaler that the Tortoise names; any other with a note of raised bounds,
    such as a copy, only gets its bounds restored.
    """
    requested = floors.pop_requested(draft, request, snapshot)
    note = raised_values.read_or_previous(draft, request.old_raw())
    tortoise = _tortoise(request.key, snapshot)
    if tortoise is None and note is None:
        return ()
    held = _held(tortoise, requested, snapshot)
    scheduled = held.replicas
    wanted = schedules.effective_floors(tortoise, held, snapshot.options.scaling).replicas
    name = tortoise.name if tortoise is not None else note.tortoise if note else ""
    raised_values.apply_floor_to_autoscaler(draft, request.old_raw(), name, wanted)
    if wanted is not None and scheduled is not None and wanted < scheduled:
        return (
            f"spec.minReplicas: {scheduled} replicas are scheduled, at most {wanted} are allowed",
        )
    return ()


def _tortoise(key: ObjectKey, snapshot: Snapshot) -> Tortoise | None:
    return next(iter(snapshot.by_index(TORTOISES_BY_AUTOSCALER, str(key))), None)


def _held(tortoise: Tortoise | None, requested: Floors | None, snapshot: Snapshot) -> Floors:
    if tortoise is None or snapshot.options.scaling.effect == "none":
        return NO_FLOORS
    return floors.active(tortoise.key, snapshot) if requested is None else requested
