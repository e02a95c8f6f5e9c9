"""A Seed template against the Shoot that the seed will stand on."""

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.admission.decision import Finding
from webhook.api.seeds import SeedSettings, SeedSpec
from webhook.api.shoots import Kubernetes, Networking, Shoot
from webhook.api.workers import Worker
from webhook.domain import zones

_FIELD: Final = "spec.shoot.name"
_TOPOLOGY: Final = "TopologyAwareHints"
_FEWEST_NODES: Final = 3


def judge_shoot(shoot: Shoot) -> Iterator[Finding]:
    """Refuse a Shoot that cannot carry a seed."""
    spec, name = shoot.spec, shoot.name
    if spec.dns is None or not spec.dns.domain:
        yield Finding.invalid(_FIELD, name, "the shoot has no spec.dns.domain, set one")
    if spec.addons and spec.addons.nginx_ingress and spec.addons.nginx_ingress.enabled:
        yield Finding.invalid(_FIELD, name, "the shoot's nginx-ingress addon is on, switch it off")
    autoscaler = spec.kubernetes.vertical_pod_autoscaler
    if autoscaler is None or not autoscaler.enabled:
        yield Finding.invalid(
            _FIELD,
            name,
            "the shoot has no vertical pod autoscaler, set "
            "spec.kubernetes.verticalPodAutoscaler.enabled: true",
        )
    if not spec.provider.workers:
        yield Finding.invalid(_FIELD, name, "the shoot has no worker pools, add one")


def judge(seed: SeedSpec, shoot: Shoot, base: str) -> Iterator[Finding]:
    """Refuse a template that contradicts the Shoot; `base` is the path of the seed's spec."""
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


def judge_zones(added: Iterable[str], shoot: Shoot, field: str) -> Iterator[Finding]:
    """Refuse zones that no worker pool of the Shoot has."""
    known = zones.shoot_zones(shoot)
    foreign = sorted(set(added) - known)
    if foreign:
        has = ", ".join(sorted(known)) or "none"
        yield Finding.invalid(
            field, foreign, f"must be zones of the shoot's worker pools, which are {has}"
        )


def weak_pools(shoot: Shoot, is_multi_zonal: bool) -> Iterator[Finding]:
    """Point at a Shoot that has no pool for etcd, or none for control planes, that is big enough.

    Document 003 asks for at least three nodes in each, over three zones on a multi-zonal seed.
    Pools are told apart by the word etcd in their names; without such a pool all serve both.
    """
    pools = shoot.spec.provider.workers
    etcd = [pool for pool in pools if "etcd" in pool.name and "compaction" not in pool.name]
    others = [pool for pool in pools if "etcd" not in pool.name and "compaction" not in pool.name]
    for role, candidates in (("etcd", etcd or others), ("control planes", others or etcd)):
        if pools and not any(_is_strong(pool, is_multi_zonal) for pool in candidates):
            spread = " over 3 zones" if is_multi_zonal else ""
            yield Finding.warning(
                _FIELD,
                f"no worker pool for {role} has at least 3 nodes{spread}, "
                "so highly available control planes may not fit",
            )


def _is_strong(pool: Worker, is_multi_zonal: bool) -> bool:
    enough = pool.minimum >= _FEWEST_NODES
    return enough and (not is_multi_zonal or len(set(pool.zones)) >= zones.FEWEST)


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
