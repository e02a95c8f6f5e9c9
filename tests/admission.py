"""Requests and verdicts for tests of policies."""

from collections.abc import Mapping
from typing import Any

import msgspec

from webhook.admission.decision import Operation, Request, UserInfo
from webhook.api import kinds
from webhook.api.meta import ObjectKey

JANE = UserInfo(username="jane")


def make_request(
    new: Mapping[str, Any] | None = None,
    old: Mapping[str, Any] | None = None,
    *,
    operation: Operation | None = None,
    subresource: str = "",
    user: UserInfo = JANE,
    dry_run: bool = False,
) -> Request:
    """Make the request that an API server would send for a change from `old` to `new`."""
    shown = new if new is not None else old
    assert shown is not None
    metadata = shown.get("metadata") or {}
    kind = kinds.find_kind(shown["apiVersion"], shown["kind"])
    assert kind is not None, shown["kind"]
    if operation is None:
        operation = "DELETE" if new is None else "CREATE" if old is None else "UPDATE"
    return Request(
        uid="0123",
        kind=kind,
        operation=operation,
        key=ObjectKey(metadata.get("namespace", ""), metadata.get("name", "")),
        subresource=subresource,
        user=user,
        dry_run=dry_run,
        new=None if new is None else msgspec.json.encode(new),
        old=None if old is None else msgspec.json.encode(old),
    )
