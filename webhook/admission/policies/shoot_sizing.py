"""shoot.sizing: node groups are sized by one of two strategies."""

from collections.abc import Iterable

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import sizing
from webhook.api import names
from webhook.api.shoots import Shoot
from webhook.state.snapshot import Snapshot


def validate(request: Request, _snapshot: Snapshot) -> Iterable[Finding]:
    """Refuse an unknown strategy, in the field and in its twin annotation."""
    shoot = request.object_as(Shoot)
    if (
        shoot.spec.kubernetes.cluster_autoscaler is None
        and names.SIZING_STRATEGY not in shoot.metadata.annotations
    ):
        return ()
    return sizing.judge(shoot)
