"""shoot.workers: worker pools that can do what they are meant to."""

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import offers, workers
from webhook.admission.rules.workers import Pools
from webhook.api.shoots import Shoot, ShootSpec
from webhook.domain import profiles
from webhook.state.snapshot import Snapshot

_FIELD: Final = "spec.provider.workers"
_LOST_OR_GOT: Final = Finding.forbidden(
    _FIELD,
    "a shoot with workers cannot lose them all, nor one without get some: make a new shoot",
)


def validate(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
    """Judge the pools by themselves, against what was stored, and against the cloud profile."""
    shoot, stored = request.object_as(Shoot), request.old_as(Shoot)
    spec, old = shoot.spec, stored.spec if stored is not None else None
    new, before = spec.provider.workers, old.provider.workers if old is not None else ()
    is_moved = old is None or old.region != spec.region
    if new == before and not is_moved and not workers.is_any_short(new):
        return ()
    pools = Pools.of(new, before)
    found = [*workers.judge(pools, _FIELD, snapshot.options.admission.worker_rule)]
    if old is not None and bool(before) != bool(new):
        found.append(_LOST_OR_GOT)
    if is_moved or not pools.are_same:
        found += _offered(spec, pools, is_moved, request.key.namespace, snapshot)
    return found


def _offered(
    spec: ShootSpec, pools: Pools, is_moved: bool, namespace: str, snapshot: Snapshot
) -> Iterator[Finding]:
    offer = profiles.find(spec, namespace, snapshot.look_up)
    if offer is not None:
        yield from offers.judge(pools, spec.region, offer, _FIELD, moved=is_moved)
        return
    named = profiles.reference(spec, namespace)
    if named is not None:
        yield Finding.warning(
            "spec.cloudProfile.name" if spec.cloud_profile else "spec.cloudProfileName",
            f"{named[0].__name__} {named[1].name} does not exist, "
            "so zones and machine types were not checked",
        )
