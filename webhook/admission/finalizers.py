"""Updates that only remove finalizers of an object being deleted: those are always allowed."""

from collections.abc import Mapping
from typing import Final

from webhook.admission.decision import DECODE_ERRORS, Request
from webhook.kube.meta import Raw

_SERVER_FIELDS: Final = frozenset({"finalizers", "managedFields", "resourceVersion", "generation"})


def finalizers_only(request: Request) -> bool:
    """Return whether the request only removes finalizers of an object that is being deleted."""
    if request.operation != "UPDATE" or request.kind is None:
        return False
    stored = request.old_as(request.kind.model)
    if stored is not None and not stored.is_deleting:
        return False
    try:
        old, new = request.old_raw(), request.raw()
        return old is not None and _removes_finalizers_only(old, new)
    except DECODE_ERRORS:
        return False


def _removes_finalizers_only(old: Raw, new: Raw) -> bool:
    before, after = old.get("metadata"), new.get("metadata")
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return False
    if not before.get("deletionTimestamp") or not _removes_finalizers(before, after):
        return False
    rest = {key: value for key, value in old.items() if key != "metadata"}
    return rest == {key: value for key, value in new.items() if key != "metadata"} and {
        key: value for key, value in before.items() if key not in _SERVER_FIELDS
    } == {key: value for key, value in after.items() if key not in _SERVER_FIELDS}


def _removes_finalizers(before: Raw, after: Raw) -> bool:
    old, new = before.get("finalizers") or [], after.get("finalizers") or []
    if not isinstance(old, list) or not isinstance(new, list):
        return False
    return len(new) < len(old) and all(finalizer in old for finalizer in new)
