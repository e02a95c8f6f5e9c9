"""managedseed.rules: a ManagedSeed is valid and consistent with its Shoot."""

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import (
    hosted_shoots,
    operations,
    seed_template,
)
from webhook.admission.rules.seed_spec import SeedValidationOptions
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import SeedSettings, SeedSpec, SeedTemplate
from webhook.api.shoots import Kubernetes, Networking, Shoot
from webhook.api.workers import ShootWorker
from webhook.domain.seeds import zones
from webhook.kube import identifiers
from webhook.kube.meta import ObjectKey
from webhook.state.indexes import MANAGED_SEEDS_BY_SHOOT
from webhook.state.snapshot import Snapshot

_OPERATIONS: Final = ("reconcile", "renew-kubeconfig")
_SHOOT_NAME: Final = "spec.shoot.name"
_TOPOLOGY: Final = "TopologyAwareHints"
_MIN_NODES: Final = 3


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Validate the object, its Shoot, and the Seed template against the Shoot."""
    managed_seed, old = request.object_as(ManagedSeed), request.old_as(ManagedSeed)
    options = snapshot.options.admission
    yield from _identity(request, snapshot.options.garden_namespace)
    yield from operations.validate(
        managed_seed.metadata, old.metadata if old else None, _OPERATIONS
    )
    validation = SeedValidationOptions(is_template=True, is_strict=options.strict_seeds)
    yield from seed_template.validate(managed_seed.spec, "spec", validation)
    if managed_seed.spec.seed_template is not None:
        yield from seed_template.validate_fields(request.raw().get("spec"))
    if old is not None:
        yield from _validate_update(old, managed_seed, snapshot)
    reference = managed_seed.spec.shoot
    if reference is None:
        yield Finding.required("spec.shoot", "name the shoot that becomes a seed")
    elif not reference.name:
        yield Finding.required(_SHOOT_NAME, "name the shoot that becomes a seed")
    else:
        key = ObjectKey(request.key.namespace, reference.name)
        yield from _validate_with_shoot(managed_seed, old, key, snapshot)


def _identity(request: Request, garden: str) -> Iterator[Finding]:
    key = request.key
    if key.namespace != garden:
        yield Finding.invalid(
            "metadata.namespace", key.namespace, f"managed seeds must be in namespace {garden}"
        )
    if request.operation == "CREATE":
        for error in identifiers.dns1123_label_errors(key.name):
            yield Finding.invalid("metadata.name", key.name, error)


def _validate_update(old: ManagedSeed, new: ManagedSeed, snapshot: Snapshot) -> Iterator[Finding]:
    if old.spec.shoot is not None and old.spec.shoot != new.spec.shoot:
        name = new.spec.shoot.name if new.spec.shoot is not None else ""
        yield Finding.immutable("spec.shoot", name)
    yield from seed_template.validate_update(old.spec, new.spec, "spec")
    before, after = old.seed_template, new.seed_template
    if before is not None and after is not None:
        base = f"{seed_template.path_of(new.spec)}.spec"
        yield from hosted_shoots.validate_zones(
            before.spec.provider.zones,
            after.spec.provider.zones,
            new.name,
            f"{base}.provider.zones",
            snapshot,
        )
        yield from hosted_shoots.validate_domains(
            before.spec.dns, after.spec.dns, new.name, f"{base}.dns", snapshot
        )


def _validate_with_shoot(
    managed_seed: ManagedSeed, old: ManagedSeed | None, key: ObjectKey, snapshot: Snapshot
) -> Iterator[Finding]:
    shoot = snapshot.look_up(Shoot, key)
    if shoot is None:
        yield Finding.invalid(_SHOOT_NAME, key.name, f"there is no shoot {key}, create it first")
        return
    yield from _validate_shoot(shoot)
    for other in snapshot.by_index(MANAGED_SEEDS_BY_SHOOT, str(key)):
        if other.name != managed_seed.name:
            yield Finding.invalid(
                _SHOOT_NAME, key.name, f"is already registered by ManagedSeed {other.key}"
            )
    template = managed_seed.seed_template
    if template is not None:
        before = old.seed_template if old is not None else None
        yield from _validate_seed(template, before, shoot, seed_template.path_of(managed_seed.spec))


def _validate_seed(
    template: SeedTemplate, before: SeedTemplate | None, shoot: Shoot, path: str
) -> Iterator[Finding]:
    yield from _validate_template(template.spec, shoot, f"{path}.spec")
    added = set(template.spec.provider.zones)
    if before is not None:
        added -= set(before.spec.provider.zones)
    yield from _validate_zones(added, shoot, f"{path}.spec.provider.zones")
    if before is None or before != template:
        yield from _small_pools(shoot, zones.is_multi_zonal(template))


def _validate_shoot(shoot: Shoot) -> Iterator[Finding]:
    """Reject a Shoot that cannot be a seed."""
    spec, name = shoot.spec, shoot.name
    if spec.dns is None or not spec.dns.domain:
        yield Finding.invalid(_SHOOT_NAME, name, "the shoot has no spec.dns.domain, set one")
    if spec.addons and spec.addons.nginx_ingress and spec.addons.nginx_ingress.enabled:
        yield Finding.invalid(
            _SHOOT_NAME, name, "the shoot's nginx-ingress addon is on, switch it off"
        )
    autoscaler = spec.kubernetes.vertical_pod_autoscaler
    if autoscaler is None or not autoscaler.enabled:
        yield Finding.invalid(
            _SHOOT_NAME,
            name,
            "the shoot has no vertical pod autoscaler, set "
            "spec.kubernetes.verticalPodAutoscaler.enabled: true",
        )
    if not spec.provider.workers:
        yield Finding.invalid(_SHOOT_NAME, name, "the shoot has no worker pools, add one")


def _validate_template(seed: SeedSpec, shoot: Shoot, base: str) -> Iterator[Finding]:
    """Reject a template that contradicts the Shoot; `base` is the path of the seed's spec."""
    domain = shoot.spec.dns.domain if shoot.spec.dns is not None else ""
    networking = shoot.spec.networking or Networking()
    wanted = [
        (seed.networks.nodes or "", networking.nodes, "networks.nodes"),
        (seed.networks.pods, networking.pods, "networks.pods"),
        (seed.networks.services, networking.services, "networks.services"),
    ]
    if seed.ingress is not None and domain:
        wanted.insert(0, (seed.ingress.domain, f"ingress.{domain}", "ingress.domain"))
    for found, expected, field in wanted:
        if expected and found != expected:
            yield _differs(found, expected, f"{base}.{field}")
    for found, expected, field in (
        (seed.provider.type, shoot.spec.provider.type, "provider.type"),
        (seed.provider.region, shoot.spec.region, "provider.region"),
    ):
        if found != expected:
            yield _differs(found, expected, f"{base}.{field}")
    if seed.dns.ingress_domain and domain and not seed.dns.ingress_domain.endswith(f".{domain}"):
        yield Finding.invalid(
            f"{base}.dns.ingressDomain", seed.dns.ingress_domain, f"must be a subdomain of {domain}"
        )
    if seed.settings is not None:
        yield from _settings(seed.settings, shoot.spec.kubernetes, f"{base}.settings")


def _validate_zones(added: Iterable[str], shoot: Shoot, field: str) -> Iterator[Finding]:
    """Reject zones that no worker pool of the Shoot has."""
    known = zones.shoot_zones(shoot)
    foreign = sorted(set(added) - known)
    if foreign:
        has = ", ".join(sorted(known)) or "none"
        yield Finding.invalid(
            field, foreign, f"must be zones of the shoot's worker pools, which are {has}"
        )


def _small_pools(shoot: Shoot, is_multi_zonal: bool) -> Iterator[Finding]:
    """Warn about a Shoot without a pool that is large enough for etcd, or for control planes.

    Document 003 requires at least three nodes in each, over three zones on a multi-zonal seed.
    Pools for etcd have etcd in their names; without such a pool all pools serve both. Nothing but
    the name distinguishes them, so this is only a warning. `minimum` counts: those nodes always
    exist.
    """
    pools = shoot.spec.provider.workers
    etcd = [pool for pool in pools if "etcd" in pool.name and "compaction" not in pool.name]
    rest = [pool for pool in pools if "etcd" not in pool.name and "compaction" not in pool.name]
    for role, candidates in (("etcd", etcd or rest), ("control planes", rest or etcd)):
        if pools and not any(_is_large_enough(pool, is_multi_zonal) for pool in candidates):
            spread = " over 3 zones" if is_multi_zonal else ""
            yield Finding.warning(
                _SHOOT_NAME,
                f"no worker pool for {role} has at least 3 nodes{spread}, "
                "so highly available control planes may not fit",
            )


def _is_large_enough(pool: ShootWorker, is_multi_zonal: bool) -> bool:
    enough = pool.minimum >= _MIN_NODES
    return enough and (not is_multi_zonal or len(set(pool.zones)) >= zones.MIN_ZONES)


def _differs(found: str, expected: str, field: str) -> Finding:
    return Finding.invalid(field, found, f"must be the shoot's {expected}, or left out")


def _settings(settings: SeedSettings, kubernetes: Kubernetes, base: str) -> Iterator[Finding]:
    autoscaler = settings.vertical_pod_autoscaler
    if autoscaler is not None and autoscaler.enabled:
        yield Finding.invalid(
            f"{base}.verticalPodAutoscaler.enabled",
            True,
            "the shoot brings its own vertical pod autoscaler, set false",
        )
    routing = settings.topology_aware_routing
    if routing is None or not routing.enabled:
        return
    for component, name in (
        (kubernetes.kube_api_server, "kubeAPIServer"),
        (kubernetes.kube_controller_manager, "kubeControllerManager"),
        (kubernetes.kube_proxy, "kubeProxy"),
    ):
        if component is not None and component.feature_gates.get(_TOPOLOGY) is False:
            yield Finding.invalid(
                f"{base}.topologyAwareRouting.enabled",
                True,
                f"the shoot switches feature gate {_TOPOLOGY} off for {name}",
            )
