"""shoot.sizing: node groups are sized by one of two strategies."""

from collections.abc import Iterator

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import sizing
from webhook.api.shoots import Shoot
from webhook.state.snapshot import Snapshot


def validate(request: Request, _snapshot: Snapshot) -> Iterator[Finding]:
    """Refuse an unknown strategy, in the field and in its twin annotation."""
    return sizing.judge(request.object_as(Shoot))
