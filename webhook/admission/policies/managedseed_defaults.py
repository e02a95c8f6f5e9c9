"""managedseed.defaults: what a ManagedSeed leaves open comes from the Shoot that it registers."""

from collections.abc import Iterable
from typing import Any, Final

from webhook.admission import drafts
from webhook.admission.decision import Request
from webhook.admission.rules import dns_provider, gardenlet, managed, seed_labels
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Draft
from webhook.api.shoots import Networking, Shoot
from webhook.domain import zones
from webhook.state.snapshot import Snapshot

SHOOTS: Final = 250
"""How many shoots a seed takes unless its gardenlet is told otherwise."""


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> Iterable[str]:
    """Fill the variant in use, then its Seed template from the Shoot."""
    managed_seed = request.object_as(ManagedSeed)
    spec = drafts.section(draft, "spec")
    template = _template(spec, managed_seed, request, snapshot.options.admission.strict_seeds)
    shoot = managed.shoot_of(managed_seed, snapshot, request.key.namespace)
    if shoot is None:
        return ()
    seed_labels.name_seeds(draft, filter(None, (shoot.spec.seed_name,)))
    return () if template is None else _from_shoot(template, shoot, snapshot)


def _template(
    spec: Draft, managed_seed: ManagedSeed, request: Request, is_strict: bool
) -> Draft | None:
    """Default the variant in use and return its Seed template, made where absent."""
    name, namespace = request.key.name, request.key.namespace
    if managed_seed.spec.seed_template is not None:
        seed = drafts.section(spec, "seedTemplate", "spec")
        drafts.default(seed, "secretRef", _secret(f"seed-{name}", namespace))
    elif managed_seed.spec.gardenlet is not None:
        seed = _gardenlet(drafts.section(spec, "gardenlet"))
        if is_strict:
            # Gardener stopped to make up credentials for backups, and so asks for them.
            return seed
    else:
        return None
    backup = seed.get("backup")
    if isinstance(backup, dict) and not backup.get("credentialsRef"):
        drafts.default(backup, "secretRef", _secret(f"backup-{name}", namespace))
    return seed


def _gardenlet(given: Draft) -> Draft:
    deployment = drafts.section(given, "deployment")
    drafts.default(deployment, "replicaCount", 2)
    drafts.default(deployment, "revisionHistoryLimit", 2)
    drafts.default(deployment, "enableHealthProbes", True)
    image = drafts.section(deployment, "image")
    drafts.default_absent(
        image, "pullPolicy", "Always" if image.get("tag") == "latest" else "IfNotPresent"
    )
    drafts.default_absent(given, "bootstrap", "BootstrapToken")
    drafts.default(given, "mergeWithParent", True)
    config = drafts.section(given, "config")
    drafts.default(config, "apiVersion", gardenlet.API_VERSION)
    drafts.default(config, "kind", gardenlet.KIND)
    drafts.default_at(config, ("resources", "capacity", "shoots"), SHOOTS)
    return drafts.section(config, "seedConfig", "spec")


def _from_shoot(seed: Draft, shoot: Shoot, snapshot: Snapshot) -> Iterable[str]:
    spec = shoot.spec
    provider = drafts.section(seed, "provider")
    _default_text(provider, "type", spec.provider.type)
    _default_text(provider, "region", spec.region)
    known = sorted(zones.shoot_zones(shoot))
    if known and not provider.get("zones"):
        provider["zones"] = known
    networks, networking = drafts.section(seed, "networks"), spec.networking or Networking()
    if networking.nodes:
        drafts.default_absent(networks, "nodes", networking.nodes)
    _default_text(networks, "pods", networking.pods)
    _default_text(networks, "services", networking.services)
    drafts.default_at(seed, ("settings", "verticalPodAutoscaler"), {"enabled": False})
    backup = seed.get("backup")
    if isinstance(backup, dict):
        _default_text(backup, "provider", spec.provider.type)
    return _exposure(seed, shoot, snapshot)


def _exposure(seed: Draft, shoot: Shoot, snapshot: Snapshot) -> Iterable[str]:
    """Default ingress and DNS; a Shoot without a domain is left to the validators."""
    domain = shoot.spec.dns.domain if shoot.spec.dns is not None else ""
    if not domain:
        return ()
    if seed.get("ingress") is None:
        seed["ingress"] = {"controller": {"kind": "nginx"}}
    _default_text(drafts.section(seed, "ingress"), "domain", f"ingress.{domain}")
    dns = drafts.section(seed, "dns")
    if dns.get("provider") is not None:
        return ()
    found = dns_provider.find(shoot, snapshot)
    if found.provider is None:
        return (f"managedseed.defaults: dns.provider stays empty: {found.reason}",)
    dns["provider"] = found.provider
    return ()


def _default_text(draft: Draft, key: str, value: str) -> None:
    if value:
        drafts.default(draft, key, value)


def _secret(name: str, namespace: str) -> dict[str, Any]:
    return {"name": name, "namespace": namespace}
