"""The floors that hold on a Tortoise while a request is judged."""

from typing import Final

import msgspec

from webhook.admission.decision import Request
from webhook.api import names
from webhook.api.meta import Draft, ObjectKey
from webhook.domain import schedules
from webhook.domain.floors import Floors
from webhook.state.indexes import SCALINGS_BY_TORTOISE
from webhook.state.snapshot import Snapshot

MEANT: Final = names.SCALING_FLOORS


def take_meant(draft: Draft, request: Request, snapshot: Snapshot) -> Floors | None:
    """Take the floors that a write names off the draft; believe them only if it is our own.

    Our controller knows best what holds at an edge: the replica that answers may have an older
    cache or a slower clock. From anybody else the annotation means nothing and is not kept.
    """
    annotations = (draft.get("metadata") or {}).get("annotations") or {}
    text = annotations.pop(MEANT, None)
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


def held(tortoise: ObjectKey, snapshot: Snapshot) -> Floors:
    """Sum up the windows on a Tortoise that are open now."""
    scalings = snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise))
    return schedules.held(scalings, snapshot.taken_at)
