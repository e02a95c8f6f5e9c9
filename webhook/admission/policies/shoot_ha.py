"""shoot.ha: how available a control plane shall be, and that it never becomes less so."""

from collections.abc import Iterable, Iterator

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import availability
from webhook.api.shoots import Shoot
from webhook.domain import ha
from webhook.state.snapshot import Snapshot


def validate(request: Request, _snapshot: Snapshot) -> Iterable[Finding]:
    """Judge every spelling, then the change from what was stored."""
    shoot, old = request.object_as(Shoot), request.old_as(Shoot)
    if not ha.is_mentioned(shoot) and (old is None or not ha.is_mentioned(old)):
        return ()
    return _judge(shoot, old)


def _judge(shoot: Shoot, old: Shoot | None) -> Iterator[Finding]:
    yield from availability.judge(shoot)
    if old is not None:
        yield from availability.judge_change(old, shoot)
