"""The spec of a seed or of a Seed template."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from webhook.admission.decision import NOT_SUPPORTED, Finding
from webhook.admission.rules import cidrs
from webhook.api.seeds import (
    SeedBackup,
    SeedDNS,
    SeedDNSDomain,
    SeedDNSProvider,
    SeedIngress,
    SeedSettings,
    SeedSpec,
    SeedTaint,
)
from webhook.kube import identifiers
from webhook.kube.meta import ObjectReference

_INGRESS_CONTROLLERS: Final = ("nginx",)
_NOT_SETTABLE_LATER: Final = ("networks.pods", "networks.services")
_ZONE_SELECTIONS: Final = ("Prefer", "Enforce")
_CREDENTIAL_KINDS: Final = {
    ("v1", "Secret"),
    ("security.gardener.cloud/v1alpha1", "WorkloadIdentity"),
}


class SeedValidationOptions(NamedTuple):
    """How a spec is validated: fields of a template may be absent and are defaulted later."""

    is_template: bool = False
    is_strict: bool = False
    is_of_set: bool = False
    """Whether it is the template of a set, which is not defaulted."""

    @property
    def is_defaulted(self) -> bool:
        """Whether fields may be absent because they are defaulted later."""
        return self.is_template and not (self.is_of_set and self.is_strict)

    def missing(self, field: str, message: str) -> Finding:
        """Return an error for a missing field if validation is strict, else a warning."""
        found = Finding.required(field, message)
        return found if self.is_strict else found.as_warning()


def validate(spec: SeedSpec, base: str, options: SeedValidationOptions) -> Iterator[Finding]:
    """Validate a spec without other objects; `base` is its path."""
    if not options.is_template:
        yield from _required(spec, base)
    yield from _zones(spec, base)
    yield from cidrs.validate(spec.networks, f"{base}.networks")
    yield from _taints(spec.taints, f"{base}.taints")
    if spec.backup is not None:
        yield from _backup(spec.backup, spec.provider.type, f"{base}.backup", options)
    if spec.settings is not None:
        yield from _settings(spec.settings, spec.provider.zones, f"{base}.settings")
    yield from _exposure(spec, base, options)


def _required(spec: SeedSpec, base: str) -> Iterator[Finding]:
    provider, networks = spec.provider, spec.networks
    for value, field, message in (
        (provider.type, "provider.type", "name the provider of the seed"),
        (provider.region, "provider.region", "name the region of the seed"),
        (networks.pods, "networks.pods", "name the range of the seed's pods"),
        (networks.services, "networks.services", "name the range of the seed's services"),
    ):
        if not value:
            yield Finding.required(f"{base}.{field}", message)


def _zones(spec: SeedSpec, base: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, zone in enumerate(spec.provider.zones):
        if zone in seen:
            field = f"{base}.provider.zones[{index}]"
            yield Finding.duplicate(field, zone, "name each zone once")
        seen.add(zone)


def _taints(taints: tuple[SeedTaint, ...], base: str) -> Iterator[Finding]:
    seen: set[tuple[str, str | None]] = set()
    for index, taint in enumerate(taints):
        if not taint.key:
            yield Finding.required(f"{base}[{index}].key", "give the taint a key")
        pair = (taint.key, taint.value)
        if pair in seen:
            written = taint.key if taint.value is None else f"{taint.key}={taint.value}"
            yield Finding.duplicate(f"{base}[{index}]", written, "name each taint once")
        seen.add(pair)


def _backup(
    backup: SeedBackup, provider: str, base: str, options: SeedValidationOptions
) -> Iterator[Finding]:
    if not backup.provider and not options.is_defaulted:
        yield options.missing(f"{base}.provider", "name the provider of the backups")
    known = bool(provider and backup.provider) or (options.is_strict and not options.is_defaulted)
    if known and backup.provider != provider and not backup.region:
        yield Finding.invalid(
            f"{base}.region", "", "name a region, the backups' provider is not the seed's"
        )
    if backup.credentials_ref is None and backup.secret_ref is None:
        yield options.missing(f"{base}.credentialsRef", "name the credentials for the backups")
    elif backup.credentials_ref is not None and options.is_strict:
        yield from _credentials(backup.credentials_ref, f"{base}.credentialsRef")


def _settings(settings: SeedSettings, zones: tuple[str, ...], base: str) -> Iterator[Finding]:
    balancers = settings.load_balancer_services
    if balancers is not None:
        names = tuple(zone.name for zone in balancers.zones)
        yield from _balancers(names, zones, f"{base}.loadBalancerServices.zones")
    routing = settings.topology_aware_routing
    if routing is not None and routing.enabled and len(zones) < 2:
        yield Finding.forbidden(
            f"{base}.topologyAwareRouting.enabled", "needs at least 2 zones in provider.zones"
        )
    selection = settings.zone_selection
    if selection is not None:
        if not zones:
            yield Finding.forbidden(f"{base}.zoneSelection", "needs zones in provider.zones")
        if selection.mode not in _ZONE_SELECTIONS:
            yield Finding.not_supported(
                f"{base}.zoneSelection.mode", selection.mode, _ZONE_SELECTIONS
            )


def _balancers(names: tuple[str, ...], zones: tuple[str, ...], base: str) -> Iterator[Finding]:
    if names and len(zones) < 2:
        yield Finding.forbidden(base, "needs at least 2 zones in provider.zones")
    known, seen = set(zones), set[str]()
    for index, name in enumerate(names):
        field = f"{base}[{index}].name"
        if name not in known:
            yield Finding(field, "is none of the seed's provider.zones", NOT_SUPPORTED, name)
        if name in seen:
            yield Finding.duplicate(field, name, "name each zone once")
        seen.add(name)


def _exposure(spec: SeedSpec, base: str, options: SeedValidationOptions) -> Iterator[Finding]:
    if spec.ingress is not None:
        yield from _ingress(spec.ingress, f"{base}.ingress", options)
    elif not options.is_template:
        yield options.missing(f"{base}.ingress", "configure how the seed's services are reached")
    yield from _dns(spec.dns, f"{base}.dns", options, bool(spec.ingress))


def _ingress(ingress: SeedIngress, base: str, options: SeedValidationOptions) -> Iterator[Finding]:
    if not ingress.domain:
        if not options.is_defaulted:
            yield options.missing(f"{base}.domain", "name the domain of the seed's ingress")
    else:
        for error in identifiers.subdomain_errors(ingress.domain):
            yield Finding.invalid(f"{base}.domain", ingress.domain, error)
    kind = ingress.controller.kind
    if kind not in _INGRESS_CONTROLLERS and (kind or options.is_strict or not options.is_template):
        yield Finding.not_supported(f"{base}.controller.kind", kind, _INGRESS_CONTROLLERS)


def _dns(
    dns: SeedDNS, base: str, options: SeedValidationOptions, has_ingress: bool
) -> Iterator[Finding]:
    provider = dns.provider
    if provider is None:
        if has_ingress and not options.is_defaulted:
            yield options.missing(f"{base}.provider", "an ingress needs a DNS provider")
    else:
        if not provider.type:
            yield options.missing(f"{base}.provider.type", "name the type of the DNS provider")
        yield from _provider_credentials(provider, f"{base}.provider.credentialsRef", options)
    # It is never defaulted, but documents older than the field have templates without it.
    if dns.internal is None and (options.is_strict or not options.is_template):
        yield options.missing(f"{base}.internal", "name the internal domain of shoots")
    elif dns.internal is not None and options.is_strict:
        yield from _internal(dns.internal, f"{base}.internal")
    seen: set[str] = set()
    for index, default in enumerate(dns.defaults):
        if default.domain in seen:
            yield Finding.duplicate(
                f"{base}.defaults[{index}].domain", default.domain, "name each domain once"
            )
        seen.add(default.domain)


def _provider_credentials(
    provider: SeedDNSProvider, field: str, options: SeedValidationOptions
) -> Iterator[Finding]:
    reference = provider.credentials_ref
    if reference is None and provider.secret_ref is None:
        yield options.missing(field, "name the credentials of the DNS provider")
    elif reference is not None and options.is_strict:
        yield from _credentials(reference, field)


def _internal(internal: SeedDNSDomain, base: str) -> Iterator[Finding]:
    for value, name in ((internal.type, "type"), (internal.domain, "domain")):
        if not value:
            yield Finding.required(f"{base}.{name}", "must not be empty")
    for error in identifiers.subdomain_errors(internal.domain) if internal.domain else ():
        yield Finding.invalid(f"{base}.domain", internal.domain, error)
    yield from _credentials(internal.credentials_ref, f"{base}.credentialsRef")


def validate_update(
    old: SeedSpec, new: SeedSpec, base: str, *, is_of_set: bool = False
) -> Iterator[Finding]:
    """Reject changes of immutable fields of a seed."""
    networks, before = new.networks, old.networks
    families = networks.ip_families or ("IPv4",)
    if families != (before.ip_families or ("IPv4",)):
        yield Finding.immutable(f"{base}.networks.ipFamilies", list(families))
    for was, now, field in (
        (before.pods, networks.pods, "networks.pods"),
        (before.services, networks.services, "networks.services"),
        (before.nodes, networks.nodes, "networks.nodes"),
        (old.ingress and old.ingress.domain, new.ingress and new.ingress.domain, "ingress.domain"),
    ):
        if was != now and (was or (is_of_set and field in _NOT_SETTABLE_LATER)):
            yield Finding.immutable(f"{base}.{field}", now or "")
    if old.backup is not None:
        yield from _backup_change(old.backup, new.backup, f"{base}.backup")
    if old.dns.defaults and not new.dns.defaults:
        yield Finding.forbidden(f"{base}.dns.defaults", "cannot be removed once set, keep one")


def _backup_change(old: SeedBackup, new: SeedBackup | None, base: str) -> Iterator[Finding]:
    if new is None:
        yield Finding.immutable(base, None, "cannot be removed once set, put it back")
        return
    if old.provider and old.provider != new.provider:
        yield Finding.immutable(f"{base}.provider", new.provider)
    if old.region and old.region != new.region:
        yield Finding.immutable(f"{base}.region", new.region)


def _credentials(reference: ObjectReference | None, base: str) -> Iterator[Finding]:
    """Reject a reference with missing or malformed parts; an absent one lacks all of them."""
    found = reference or ObjectReference()
    for value, part in (
        (found.api_version, "apiVersion"),
        (found.kind, "kind"),
        (found.name, "name"),
        (found.namespace, "namespace"),
    ):
        if not value:
            yield Finding.required(f"{base}.{part}", "must not be empty")
    for value, part in ((found.name, "name"), (found.namespace, "namespace")):
        for error in identifiers.subdomain_errors(value) if value else ():
            yield Finding.invalid(f"{base}.{part}", value, error)
    if (found.api_version, found.kind) not in _CREDENTIAL_KINDS:
        written = f"{found.api_version}/{found.kind}"
        yield Finding(base, "name a Secret or a WorkloadIdentity", NOT_SUPPORTED, written)
