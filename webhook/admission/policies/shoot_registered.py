"""shoot.registered: a Shoot that is registered as a seed stays suitable as one."""

from collections.abc import Iterable, Iterator

from webhook.admission.decision import Finding, Request
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed, SeedTemplate
from webhook.api.shoots import Shoot
from webhook.domain.seeds import zones
from webhook.kube.meta import ObjectKey
from webhook.state.indexes import MANAGED_SEEDS_BY_SHOOT
from webhook.state.snapshot import Snapshot


def validate(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
    """Reject the deletion of the Shoot, and changes that would break the seed."""
    if not snapshot.watches(ManagedSeed):
        return ()
    registered = snapshot.by_index(MANAGED_SEEDS_BY_SHOOT, str(request.key))
    return _validate(request, registered, snapshot) if registered else ()


def _validate(
    request: Request, registered: tuple[ManagedSeed, ...], snapshot: Snapshot
) -> Iterator[Finding]:
    if request.operation == "DELETE":
        yield Finding.denied(
            f"the shoot is registered as a seed by ManagedSeed {registered[0].key}, "
            "delete that first"
        )
        return
    old = request.old_as(Shoot)
    shoot = request.object_as(Shoot)
    yield from _components(shoot)
    if old is not None:
        yield from _nodes(old, shoot)
        for managed_seed in registered:
            yield from _zones(old, shoot, managed_seed, snapshot)


def _components(shoot: Shoot) -> Iterator[Finding]:
    addons = shoot.spec.addons
    if addons is not None and addons.nginx_ingress is not None and addons.nginx_ingress.enabled:
        yield Finding.invalid(
            "spec.addons.nginxIngress.enabled", True, "must stay false on a shoot that is a seed"
        )
    autoscaler = shoot.spec.kubernetes.vertical_pod_autoscaler
    if autoscaler is None or not autoscaler.enabled:
        yield Finding.invalid(
            "spec.kubernetes.verticalPodAutoscaler.enabled",
            False,
            "must stay true on a shoot that is a seed",
        )


def _nodes(old: Shoot, new: Shoot) -> Iterator[Finding]:
    before = old.spec.networking.nodes if old.spec.networking is not None else ""
    after = new.spec.networking.nodes if new.spec.networking is not None else ""
    if before and before != after:
        yield Finding.immutable(
            "spec.networking.nodes", after, f"cannot change on a shoot that is a seed, set {before}"
        )


def _zones(
    old: Shoot, new: Shoot, managed_seed: ManagedSeed, snapshot: Snapshot
) -> Iterator[Finding]:
    before, after = zones.shoot_zones(old), zones.shoot_zones(new)
    template = managed_seed.seed_template
    used = zones.seed_zones(template) if template is not None else frozenset()
    lost = sorted((before - after) & used)
    if lost:
        yield Finding.forbidden(
            "spec.provider.workers",
            f"seed {managed_seed.name} uses zones {', '.join(lost)}, remove them from ManagedSeed "
            f"{managed_seed.key} first",
        )
    if len(after) < zones.MIN_ZONES <= len(before) and _is_multi_zonal(managed_seed, snapshot):
        yield Finding.forbidden(
            "spec.provider.workers",
            f"seed {managed_seed.name} is multi-zonal, keep at least {zones.MIN_ZONES} zones "
            "over all pools",
        )


def _is_multi_zonal(managed_seed: ManagedSeed, snapshot: Snapshot) -> bool:
    seed: Seed | SeedTemplate | None = snapshot.get(Seed, ObjectKey("", managed_seed.name))
    found = seed or managed_seed.seed_template
    return found is not None and zones.is_multi_zonal(found)
