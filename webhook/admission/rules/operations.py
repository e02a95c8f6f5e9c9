"""The operation annotation, which triggers an action of a controller."""

from collections.abc import Iterator

from webhook.admission.decision import Finding
from webhook.api import names
from webhook.kube.meta import Metadata


def validate(new: Metadata, old: Metadata | None, supported: tuple[str, ...]) -> Iterator[Finding]:
    """Reject an unknown operation, and one that would replace another that is pending."""
    operation = new.annotations.get(names.OPERATION)
    if operation is None:
        return
    field = f"metadata.annotations[{names.OPERATION}]"
    if operation and operation not in supported:
        yield Finding.not_supported(field, operation, supported)
    pending = old.annotations.get(names.OPERATION) if old is not None else None
    if pending and operation != pending:
        yield Finding.forbidden(
            field, f"{pending} is still pending, wait until the annotation is removed"
        )
