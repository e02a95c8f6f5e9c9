"""managedseed.defaults: absent fields of a ManagedSeed are set from its Shoot."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from webhook.admission import drafts
from webhook.admission.decision import Request
from webhook.admission.rules import gardenlet, managed_seeds, seed_labels
from webhook.api import names
from webhook.api.core import Secret
from webhook.api.managedseeds import ManagedSeed
from webhook.api.projects import CredentialsBinding, SecretBinding
from webhook.api.seeds import Seed, SeedDNSDomain
from webhook.api.shoots import Networking, Shoot, ShootDNSProvider
from webhook.domain.seeds import zones
from webhook.kube.meta import Draft, ObjectKey, ObjectReference
from webhook.state.snapshot import Snapshot

SHOOTS: Final = 250
"""The default capacity of a seed for shoots."""
_UNMANAGED: Final = "unmanaged"


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> Iterable[str]:
    """Default seedTemplate or gardenlet, whichever is used, then the Seed template."""
    managed_seed = request.object_as(ManagedSeed)
    spec = drafts.section(draft, "spec")
    template = _template(spec, managed_seed, request, snapshot.options.admission.strict_seeds)
    shoot = managed_seeds.shoot_of(managed_seed, snapshot, request.key.namespace)
    if shoot is None:
        return ()
    seed_labels.set_seed_labels(draft, filter(None, (shoot.spec.seed_name,)))
    return () if template is None else _from_shoot(template, shoot, snapshot)


def _template(
    spec: Draft, managed_seed: ManagedSeed, request: Request, is_strict: bool
) -> Draft | None:
    """Default seedTemplate or gardenlet and return the Seed template, created if absent."""
    name, namespace = request.key.name, request.key.namespace
    if managed_seed.spec.seed_template is not None:
        seed = drafts.section(spec, "seedTemplate", "spec")
        drafts.default(seed, "secretRef", _secret_ref(f"seed-{name}", namespace))
    elif managed_seed.spec.gardenlet is not None:
        seed = _gardenlet(drafts.section(spec, "gardenlet"))
        if is_strict:
            # Gardener no longer defaults credentials for backups, and so requires them.
            return seed
    else:
        return None
    backup = seed.get("backup")
    if isinstance(backup, dict) and not backup.get("credentialsRef"):
        drafts.default(backup, "secretRef", _secret_ref(f"backup-{name}", namespace))
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
    """Default ingress and DNS; the validators reject a Shoot without a domain."""
    domain = shoot.spec.dns.domain if shoot.spec.dns is not None else ""
    if not domain:
        return ()
    if seed.get("ingress") is None:
        seed["ingress"] = {"controller": {"kind": "nginx"}}
    _default_text(drafts.section(seed, "ingress"), "domain", f"ingress.{domain}")
    dns = drafts.section(seed, "dns")
    if dns.get("provider") is not None:
        return ()
    found = _find_dns_provider(shoot, snapshot)
    if found.provider is None:
        return (f"managedseed.defaults: dns.provider stays empty: {found.reason}",)
    dns["provider"] = found.provider
    return ()


def _default_text(draft: Draft, key: str, value: str) -> None:
    if value:
        drafts.default(draft, key, value)


def _secret_ref(name: str, namespace: str) -> dict[str, Any]:
    return {"name": name, "namespace": namespace}


class _DNSProvider(NamedTuple):
    """A provider with its credentials, or the reason why there is none."""

    provider: dict[str, Any] | None
    reason: str = ""


def _find_dns_provider(shoot: Shoot, snapshot: Snapshot) -> _DNSProvider:
    """Return the Shoot's own DNS provider, or that of the default domain of its domain."""
    dns = shoot.spec.dns
    if dns is None or not dns.domain:
        return _DNSProvider(None, "the shoot has no DNS domain")
    primary = next((provider for provider in dns.providers if provider.primary), None)
    if primary is not None and primary.type != _UNMANAGED:
        return _custom_provider(primary, shoot, snapshot)
    default = next(_default_domains(shoot, dns.domain, snapshot), None)
    if default is not None:
        return default
    return _DNSProvider(None, f"domain {dns.domain} is neither custom nor a default domain")


def _custom_provider(primary: ShootDNSProvider, shoot: Shoot, snapshot: Snapshot) -> _DNSProvider:
    if not primary.type:
        return _DNSProvider(None, "the primary DNS provider of the shoot has no type")
    credentials = _credentials(primary, shoot, snapshot)
    if isinstance(credentials, str):
        return _DNSProvider(None, credentials)
    return _DNSProvider({"type": primary.type, "credentialsRef": credentials})


def _credentials(
    primary: ShootDNSProvider, shoot: Shoot, snapshot: Snapshot
) -> dict[str, str] | str:
    """Return the reference to the provider's credentials, or why there is none."""
    spec, namespace = shoot.spec, shoot.namespace
    if primary.credentials_ref is not None and primary.credentials_ref.name:
        return _reference(primary.credentials_ref, namespace)
    if primary.secret_name:
        return _credentials_ref(primary.secret_name, namespace)
    if spec.secret_binding_name:
        key = ObjectKey(namespace, spec.secret_binding_name)
        binding = snapshot.look_up(SecretBinding, key)
        if binding is None:
            return f"SecretBinding {key} does not exist"
        return _credentials_ref(binding.secret_ref.name, binding.secret_ref.namespace or namespace)
    if spec.credentials_binding_name:
        key = ObjectKey(namespace, spec.credentials_binding_name)
        found = snapshot.look_up(CredentialsBinding, key)
        if found is None:
            return f"CredentialsBinding {key} does not exist"
        return _reference(found.credentials_ref, found.credentials_ref.namespace or namespace)
    return "the shoot's DNS provider names no credentials"


def _default_domains(shoot: Shoot, domain: str, snapshot: Snapshot) -> Iterator[_DNSProvider]:
    seed = None
    if shoot.spec.seed_name:
        seed = snapshot.get(Seed, ObjectKey("", shoot.spec.seed_name))
    if seed is not None and seed.spec.dns.defaults:
        yield from _from_seed(seed.spec.dns.defaults, domain)
    else:
        yield from _from_secrets(domain, snapshot)


def _from_seed(defaults: tuple[SeedDNSDomain, ...], domain: str) -> Iterator[_DNSProvider]:
    for default in defaults:
        if domain.endswith(f".{default.domain}"):
            provider: dict[str, Any] = {"type": default.type}
            if default.credentials_ref is not None:
                reference = default.credentials_ref
                provider["credentialsRef"] = _reference(reference, reference.namespace)
            yield _DNSProvider(provider)


def _from_secrets(domain: str, snapshot: Snapshot) -> Iterator[_DNSProvider]:
    """Match whole labels only: `foo-example.com` is not below `example.com`.

    These Secrets are not watched: they are read live when they are needed, and not cached. They are
    rarely needed, and credentials of DNS providers do not belong in the memory of every replica.
    """
    garden = snapshot.options.garden_namespace
    found = snapshot.find(Secret, garden, names.ROLE, names.ROLE_DEFAULT_DOMAIN)
    for secret in sorted(found, key=lambda each: each.name):
        annotations = secret.metadata.annotations
        default = annotations.get(names.DEFAULT_DOMAIN, "")
        if default and (domain == default or domain.endswith(f".{default}")):
            kind = annotations.get(names.DEFAULT_DOMAIN_PROVIDER, "")
            yield _DNSProvider(
                {"type": kind, "credentialsRef": _credentials_ref(secret.name, secret.namespace)}
            )


def _reference(reference: ObjectReference, namespace: str) -> dict[str, str]:
    return {
        "apiVersion": reference.api_version or "v1",
        "kind": reference.kind or "Secret",
        "name": reference.name,
        "namespace": namespace,
    }


def _credentials_ref(name: str, namespace: str) -> dict[str, str]:
    return {"apiVersion": "v1", "kind": "Secret", "name": name, "namespace": namespace}
