"""The annotation by which operators ask a controller to act."""

from collections.abc import Iterator

from webhook.admission.decision import Finding
from webhook.api import names
from webhook.api.meta import Metadata


def judge(new: Metadata, old: Metadata | None, supported: tuple[str, ...]) -> Iterator[Finding]:
    """Refuse an unknown operation, and one that would take the place of another."""
    asked = new.annotations.get(names.OPERATION)
    if asked is None:
        return
    field = f"metadata.annotations[{names.OPERATION}]"
    if asked and asked not in supported:
        yield Finding.not_supported(field, asked, supported)
    running = old.annotations.get(names.OPERATION) if old is not None else None
    if running and asked != running:
        yield Finding.forbidden(field, f"{running} has not been done yet, wait until it is gone")
