"""Protect metadata.managedFields from the patches of webhooks."""

from typing import Any

from webhook.kube.meta import Draft


def entries_of(obj: Draft | None) -> Any:
    """Return the managedFields of an object."""
    return ((obj or {}).get("metadata") or {}).get("managedFields")


def restore_if_invalid(obj: Draft | None, before: Any) -> None:
    """Restore the managedFields if a webhook made them invalid."""
    after = entries_of(obj)
    if obj is None or after == before:
        return
    valid = isinstance(after, list) and all(
        isinstance(entry, dict)
        and entry.get("operation") in ("Apply", "Update")
        and entry.get("fieldsType") == "FieldsV1"
        for entry in after
    )
    if not valid and before is not None:
        obj["metadata"]["managedFields"] = before
