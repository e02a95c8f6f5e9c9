"""shoot.ha: how available a control plane shall be, and that it never becomes less so."""

from collections.abc import Iterator

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import availability
from webhook.api.shoots import Shoot
from webhook.state.snapshot import Snapshot


def validate(request: Request, _snapshot: Snapshot) -> Iterator[Finding]:
    """Judge every spelling, then the change from what was stored."""
    shoot, old = request.object_as(Shoot), request.old_as(Shoot)
    yield from availability.judge(shoot)
    if old is not None:
        yield from availability.judge_change(old, shoot)
