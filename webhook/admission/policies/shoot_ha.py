"""shoot.ha: how available a control plane shall be, and that it never becomes less so."""

from collections.abc import Iterable, Iterator

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import availability, pinned_zones
from webhook.api.shoots import Shoot
from webhook.domain import ha, profiles
from webhook.state.snapshot import Snapshot


def validate(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
    """Judge every spelling, then the change from what was stored."""
    shoot, old = request.object_as(Shoot), request.old_as(Shoot)
    if not ha.is_mentioned(shoot) and (old is None or not ha.is_mentioned(old)):
        return ()
    # A Gardener judges pinned zones and sleeping shoots itself.
    if snapshot.options.beside_gardener:
        return _judge(shoot, old)
    sleeping = availability.judge_sleeping(old, shoot) if old is not None else ()
    return (*_judge(shoot, old), *sleeping, *_pinned(shoot, old, request, snapshot))


def _judge(shoot: Shoot, old: Shoot | None) -> Iterator[Finding]:
    yield from availability.judge(shoot)
    if old is not None:
        yield from availability.judge_change(old, shoot)


def _pinned(
    shoot: Shoot, old: Shoot | None, request: Request, snapshot: Snapshot
) -> Iterator[Finding]:
    if old is None and pinned_zones.of(shoot.spec):
        offer = profiles.find(shoot.spec, request.key.namespace, snapshot.look_up)
        yield from pinned_zones.judge_offer(offer)
    yield from pinned_zones.judge(shoot)
    if old is not None:
        yield from pinned_zones.judge_change(old, shoot)
