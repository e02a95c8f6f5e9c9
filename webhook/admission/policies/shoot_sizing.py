"""shoot.sizing: the sizing strategy of a shoot is one of two."""

from collections.abc import Iterable

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import sizing
from webhook.api import names
from webhook.api.shoots import Shoot
from webhook.state.snapshot import Snapshot


def validate(request: Request, _snapshot: Snapshot) -> Iterable[Finding]:
    """Reject an unknown strategy, in the field and in the annotation that replaces it."""
    shoot = request.object_as(Shoot)
    if (
        shoot.spec.kubernetes.cluster_autoscaler is None
        and names.SIZING_STRATEGY not in shoot.metadata.annotations
    ):
        return ()
    return sizing.validate(shoot)
