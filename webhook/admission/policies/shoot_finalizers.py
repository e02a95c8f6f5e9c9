"""shoot.finalizers: Gardener's finalizer stays until the deletion of the shoot has succeeded."""

from collections.abc import Iterator

from webhook.admission.decision import Finding, Request
from webhook.api import names
from webhook.api.shoots import Shoot
from webhook.state.snapshot import Snapshot


def validate(request: Request, _snapshot: Snapshot) -> Iterator[Finding]:
    """Reject the removal of the finalizer before the deletion has succeeded."""
    shoot, old = request.object_as(Shoot), request.old_as(Shoot)
    held = old.metadata.finalizers if old is not None else ()
    if names.GARDENER_FINALIZER not in held:
        return
    if names.GARDENER_FINALIZER not in shoot.metadata.finalizers and not _is_cleaned_up(shoot):
        yield Finding.denied(
            f"{names.GARDENER_FINALIZER} stays until the deletion of the shoot has succeeded: "
            "delete the shoot and wait",
            "metadata.finalizers",
        )


def _is_cleaned_up(shoot: Shoot) -> bool:
    """Return whether nothing was ever created for the shoot, or all of it is deleted."""
    operation = shoot.status.last_operation
    if operation is None or not shoot.status.technical_id:
        return True
    done = (operation.type, operation.state, operation.progress)
    return done == ("Delete", "Succeeded", 100)
