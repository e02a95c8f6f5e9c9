"""Conditions and status patches, as every controller writes them."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from webhook.api.kinds import Kind
from webhook.kube import conditions
from webhook.kube.meta import Draft, Object, Raw
from webhook.kube.patches import merge_diff
from webhook.runtime.actions import Patch, WriteRefusal


class ConditionDraft(NamedTuple):
    """A condition without its timestamps."""

    type: str
    status: str
    reason: str
    message: str


def set_conditions(
    status: Mapping[str, Any], drafts: Iterable[ConditionDraft], now: datetime
) -> list[Draft]:
    """Return the conditions of a status with drafts set; other conditions stay as they are."""
    present: list[Draft] = [dict(each) for each in status.get("conditions") or ()]
    for draft in drafts:
        conditions.set(
            present, draft.type, draft.status, reason=draft.reason, message=draft.message, now=now
        )
    return present


def patch_status(
    kind: Kind, obj: Object, old: Raw, new: Raw, *, any_version: bool = False
) -> Iterator[Patch]:
    """Patch the fields of a status that changed, if any.

    With `any_version` the patch does not require the object's resourceVersion: an earlier write of
    the same plan may have changed it.
    """
    if change := merge_diff(old, new):
        version = "" if any_version else obj.resource_version
        yield Patch(kind, obj.key, {"status": change}, obj.uid, version, "status")


def describe_refusal(refusal: WriteRefusal) -> str:
    """Return the fields that the API server rejects with its reasons, or its message."""
    causes = [f"{cause.get('field')}: {cause.get('message')}" for cause in refusal.causes]
    return "; ".join(causes) or refusal.message
