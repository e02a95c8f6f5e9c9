"""shoot.confirmation: a shoot is deleted only if its deletion is confirmed."""

from collections.abc import Iterator

from webhook.admission.decision import Finding, Request
from webhook.api import names
from webhook.api.shoots import Shoot
from webhook.state.snapshot import Snapshot


def validate(request: Request, _snapshot: Snapshot) -> Iterator[Finding]:
    """Require Gardener's annotation that confirms a deletion."""
    shoot = request.old_as(Shoot)
    if shoot is not None and shoot.metadata.annotations.get(names.DELETION_CONFIRMATION) != "true":
        yield Finding.denied(
            f"the shoot is not confirmed for deletion, annotate it first: kubectl annotate shoot "
            f"{shoot.name} -n {shoot.namespace} {names.DELETION_CONFIRMATION}=true",
            f"metadata.annotations[{names.DELETION_CONFIRMATION}]",
        )
