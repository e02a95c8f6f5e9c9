"""The floors of a Tortoise at the time of a request."""

from typing import Final

import msgspec

from webhook.admission.decision import Request
from webhook.api import names
from webhook.domain.scaling import schedules
from webhook.domain.scaling.floors import Floors
from webhook.kube.meta import Draft, ObjectKey
from webhook.state.indexes import SCALINGS_BY_TORTOISE
from webhook.state.snapshot import Snapshot

_ANNOTATION: Final = names.SCALING_FLOORS


def pop_requested(draft: Draft, request: Request, snapshot: Snapshot) -> Floors | None:
    """Remove the annotation with floors from the draft; use it only in writes of our controller.

    At the edge of a window the controller is right: the replica that serves the request may have an
    older cache or a slower clock. In writes of other users the annotation is ignored and removed.
    """
    annotations = (draft.get("metadata") or {}).get("annotations") or {}
    text = annotations.pop(_ANNOTATION, None)
    if text is None:
        return None
    if not annotations:
        draft["metadata"].pop("annotations", None)
    if not snapshot.options.user or request.user.username != snapshot.options.user:
        return None
    try:
        return msgspec.json.decode(text, type=Floors)
    except (msgspec.MsgspecError, TypeError):
        return None


def active(tortoise: ObjectKey, snapshot: Snapshot) -> Floors:
    """Return the floors of the scaling windows of a Tortoise that are open now."""
    scalings = snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise))
    return schedules.schedules_of(tortoise, scalings, snapshot.taken_at).floors
