"""shoot.workers: worker pools that can do what they are meant to."""

from collections.abc import Iterable, Iterator

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import offers, workers
from webhook.api.shoots import Shoot, ShootSpec
from webhook.domain import profiles
from webhook.state.snapshot import Snapshot


def validate(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
    """Judge the pools by themselves, against what was stored, and against the cloud profile."""
    shoot, stored = request.object_as(Shoot), request.old_as(Shoot)
    spec, old = shoot.spec, stored.spec if stored is not None else None
    if old is None or not _asks_for_the_same(spec, old):
        return (*_judge(spec, old, snapshot), *_offered(spec, old, request.key.namespace, snapshot))
    return _judge(spec, old, snapshot) if workers.is_any_short(spec) else ()


def _asks_for_the_same(spec: ShootSpec, old: ShootSpec) -> bool:
    return spec.provider.workers == old.provider.workers and spec.region == old.region


def _judge(spec: ShootSpec, old: ShootSpec | None, snapshot: Snapshot) -> Iterator[Finding]:
    pools = old.provider.workers if old is not None else ()
    rule = snapshot.options.admission.worker_rule
    yield from workers.judge(spec.provider.workers, pools, "spec.provider.workers", rule)
    if old is not None and bool(pools) != bool(spec.provider.workers):
        yield Finding.forbidden(
            "spec.provider.workers",
            "a shoot with workers cannot lose them all, nor one without get some: make a new shoot",
        )


def _offered(
    spec: ShootSpec, old: ShootSpec | None, namespace: str, snapshot: Snapshot
) -> Iterator[Finding]:
    named = profiles.reference(spec, namespace)
    if named is None:
        return
    offer = profiles.find(spec, namespace, snapshot.look_up)
    if offer is None:
        yield Finding.warning(
            "spec.cloudProfile.name" if spec.cloud_profile else "spec.cloudProfileName",
            f"{named[0].__name__} {named[1].name} does not exist, "
            "so zones and machine types were not checked",
        )
        return
    yield from offers.judge(spec, old, offer, "spec")
