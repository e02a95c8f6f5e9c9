"""The DNS provider that a seed takes over from the Shoot it stands on."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from webhook.api import names
from webhook.api.core import Secret
from webhook.api.meta import ObjectKey, ObjectReference
from webhook.api.projects import CredentialsBinding, SecretBinding
from webhook.api.seeds import Seed, SeedDNSDomain
from webhook.api.shoots import DNSProvider, Shoot
from webhook.state.snapshot import Snapshot

_UNMANAGED: Final = "unmanaged"


class Found(NamedTuple):
    """A provider with its credentials, or the reason why there is none."""

    provider: dict[str, Any] | None
    reason: str = ""


def find(shoot: Shoot, snapshot: Snapshot) -> Found:
    """Look for the Shoot's own provider, then for the default domain that it lives under."""
    dns = shoot.spec.dns
    if dns is None or not dns.domain:
        return Found(None, "the shoot has no DNS domain")
    primary = next((provider for provider in dns.providers if provider.primary), None)
    if primary is not None and primary.type != _UNMANAGED:
        return _custom(primary, shoot, snapshot)
    default = next(_defaults(shoot, dns.domain, snapshot), None)
    if default is not None:
        return default
    return Found(None, f"domain {dns.domain} is neither custom nor a default domain")


def _custom(primary: DNSProvider, shoot: Shoot, snapshot: Snapshot) -> Found:
    if not primary.type:
        return Found(None, "the primary DNS provider of the shoot has no type")
    credentials = _credentials(primary, shoot, snapshot)
    if isinstance(credentials, str):
        return Found(None, credentials)
    return Found({"type": primary.type, "credentialsRef": credentials})


def _credentials(primary: DNSProvider, shoot: Shoot, snapshot: Snapshot) -> dict[str, str] | str:
    """Return the reference to the provider's credentials, or why there is none."""
    spec, namespace = shoot.spec, shoot.namespace
    if primary.credentials_ref is not None and primary.credentials_ref.name:
        return _reference(primary.credentials_ref, namespace)
    if primary.secret_name:
        return _secret(primary.secret_name, namespace)
    if spec.secret_binding_name:
        key = ObjectKey(namespace, spec.secret_binding_name)
        binding = snapshot.look_up(SecretBinding, key)
        if binding is None:
            return f"SecretBinding {key} does not exist"
        return _secret(binding.secret_ref.name, binding.secret_ref.namespace or namespace)
    if spec.credentials_binding_name:
        key = ObjectKey(namespace, spec.credentials_binding_name)
        found = snapshot.look_up(CredentialsBinding, key)
        if found is None:
            return f"CredentialsBinding {key} does not exist"
        return _reference(found.credentials_ref, found.credentials_ref.namespace or namespace)
    return "the shoot's DNS provider names no credentials"


def _defaults(shoot: Shoot, domain: str, snapshot: Snapshot) -> Iterator[Found]:
    seed = None
    if shoot.spec.seed_name:
        seed = snapshot.get(Seed, ObjectKey("", shoot.spec.seed_name))
    if seed is not None and seed.spec.dns.defaults:
        yield from _from_seed(seed.spec.dns.defaults, domain)
    else:
        yield from _from_secrets(domain, snapshot)


def _from_seed(defaults: tuple[SeedDNSDomain, ...], domain: str) -> Iterator[Found]:
    for default in defaults:
        if domain.endswith(f".{default.domain}"):
            provider: dict[str, Any] = {"type": default.type}
            if default.credentials_ref is not None:
                reference = default.credentials_ref
                provider["credentialsRef"] = _reference(reference, reference.namespace)
            yield Found(provider)


def _from_secrets(domain: str, snapshot: Snapshot) -> Iterator[Found]:
    """Match whole labels only: `foo-example.com` is not under `example.com`.

    Nobody follows these Secrets: they are asked for when one is wanted, and forgotten again.
    """
    garden = snapshot.options.admission.garden_namespace
    found = snapshot.find(Secret, garden, names.ROLE, names.ROLE_DEFAULT_DOMAIN)
    for secret in sorted(found, key=lambda each: each.name):
        annotations = secret.metadata.annotations
        default = annotations.get(names.DEFAULT_DOMAIN, "")
        if default and (domain == default or domain.endswith(f".{default}")):
            kind = annotations.get(names.DEFAULT_DOMAIN_PROVIDER, "")
            yield Found({"type": kind, "credentialsRef": _secret(secret.name, secret.namespace)})


def _reference(reference: ObjectReference, namespace: str) -> dict[str, str]:
    return {
        "apiVersion": reference.api_version or "v1",
        "kind": reference.kind or "Secret",
        "name": reference.name,
        "namespace": namespace,
    }


def _secret(name: str, namespace: str) -> dict[str, str]:
    return {"apiVersion": "v1", "kind": "Secret", "name": name, "namespace": namespace}
