"""Requests that only let go of an object which is being deleted: those always pass."""

from collections.abc import Mapping
from typing import Final

from webhook.admission.decision import UNREADABLE, Request
from webhook.api.meta import Raw

_BOOKKEEPING: Final = frozenset({"finalizers", "managedFields", "resourceVersion", "generation"})


def only_loses_finalizers(request: Request) -> bool:
    """Tell whether the request only lets go of an object that is being deleted."""
    if request.operation != "UPDATE" or request.kind is None:
        return False
    stored = request.old_as(request.kind.model)
    if stored is not None and not stored.is_deleting:
        return False
    try:
        old, new = request.old_raw(), request.raw()
        return old is not None and _lets_go(old, new)
    except UNREADABLE:
        return False


def _lets_go(old: Raw, new: Raw) -> bool:
    before, after = old.get("metadata"), new.get("metadata")
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return False
    if not before.get("deletionTimestamp") or not _shrinks(before, after):
        return False
    rest = {key: value for key, value in old.items() if key != "metadata"}
    return rest == {key: value for key, value in new.items() if key != "metadata"} and {
        key: value for key, value in before.items() if key not in _BOOKKEEPING
    } == {key: value for key, value in after.items() if key not in _BOOKKEEPING}


def _shrinks(before: Raw, after: Raw) -> bool:
    held, kept = before.get("finalizers") or [], after.get("finalizers") or []
    if not isinstance(held, list) or not isinstance(kept, list):
        return False
    return len(kept) < len(held) and all(finalizer in held for finalizer in kept)
