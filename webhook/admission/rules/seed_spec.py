"""The spec of a seed, or of a template for one."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from webhook.admission.decision import NOT_SUPPORTED, Finding
from webhook.admission.rules import cidrs, credentials
from webhook.api import identifiers
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

_TAKES_NGINX: Final = ("nginx",)
_NEVER_SET_LATER: Final = ("networks.pods", "networks.services")
_ZONE_SELECTIONS: Final = ("Prefer", "Enforce")


class Manner(NamedTuple):
    """How a spec is judged: a template may leave out what is filled in later."""

    is_template: bool = False
    is_strict: bool = False
    is_of_set: bool = False
    """Whether it is the template of a set, which gets no defaults: what it lacks stays lacking."""

    @property
    def is_open(self) -> bool:
        """Whether something may be left out because it is filled in later."""
        return self.is_template and not (self.is_of_set and self.is_strict)

    def missing(self, field: str, message: str) -> Finding:
        """Refuse an incomplete seed where the operator is strict, else only say so."""
        found = Finding.required(field, message)
        return found if self.is_strict else found.softened()


def judge(spec: SeedSpec, base: str, manner: Manner) -> Iterator[Finding]:
    """Judge a spec by itself; `base` is its path."""
    if not manner.is_template:
        yield from _required(spec, base)
    yield from _zones(spec, base)
    yield from cidrs.judge(spec.networks, f"{base}.networks")
    yield from _taints(spec.taints, f"{base}.taints")
    if spec.backup is not None:
        yield from _backup(spec.backup, spec.provider.type, f"{base}.backup", manner)
    if spec.settings is not None:
        yield from _settings(spec.settings, spec.provider.zones, f"{base}.settings")
    yield from _exposure(spec, base, manner)


def _required(spec: SeedSpec, base: str) -> Iterator[Finding]:
    provider, networks = spec.provider, spec.networks
    for value, field, message in (
        (provider.type, "provider.type", "name the infrastructure under the seed"),
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


def _backup(backup: SeedBackup, provider: str, base: str, manner: Manner) -> Iterator[Finding]:
    if not backup.provider and not manner.is_open:
        yield manner.missing(f"{base}.provider", "name the provider of the backups")
    known = bool(provider and backup.provider) or (manner.is_strict and not manner.is_open)
    if known and backup.provider != provider and not backup.region:
        yield Finding.invalid(
            f"{base}.region", "", "name a region, the backups' provider is not the seed's"
        )
    if backup.credentials_ref is None and backup.secret_ref is None:
        yield manner.missing(f"{base}.credentialsRef", "name the credentials for the backups")
    elif backup.credentials_ref is not None and manner.is_strict:
        yield from credentials.judge(backup.credentials_ref, f"{base}.credentialsRef")


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
    for index, name in enumerate(names):
        field = f"{base}[{index}].name"
        if name not in zones:
            yield Finding(field, "is none of the seed's provider.zones", NOT_SUPPORTED, name)
        if name in names[:index]:
            yield Finding.duplicate(field, name, "name each zone once")


def _exposure(spec: SeedSpec, base: str, manner: Manner) -> Iterator[Finding]:
    if spec.ingress is not None:
        yield from _ingress(spec.ingress, f"{base}.ingress", manner)
    elif not manner.is_template:
        yield manner.missing(f"{base}.ingress", "say how the seed's services are reached")
    yield from _dns(spec.dns, f"{base}.dns", manner, bool(spec.ingress))


def _ingress(ingress: SeedIngress, base: str, manner: Manner) -> Iterator[Finding]:
    if not ingress.domain:
        if not manner.is_open:
            yield manner.missing(f"{base}.domain", "name the domain of the seed's ingress")
    else:
        for error in identifiers.subdomain_errors(ingress.domain):
            yield Finding.invalid(f"{base}.domain", ingress.domain, error)
    kind = ingress.controller.kind
    if kind not in _TAKES_NGINX and (kind or manner.is_strict or not manner.is_template):
        yield Finding.not_supported(f"{base}.controller.kind", kind, _TAKES_NGINX)


def _dns(dns: SeedDNS, base: str, manner: Manner, has_ingress: bool) -> Iterator[Finding]:
    provider = dns.provider
    if provider is None:
        if has_ingress and not manner.is_open:
            yield manner.missing(f"{base}.provider", "an ingress needs a DNS provider")
    else:
        if not provider.type:
            yield manner.missing(f"{base}.provider.type", "name the type of the DNS provider")
        yield from _provider_credentials(provider, f"{base}.provider.credentialsRef", manner)
    # Nobody fills that in, but documents older than the field leave it out of their templates.
    if dns.internal is None and (manner.is_strict or not manner.is_template):
        yield manner.missing(f"{base}.internal", "name the internal domain of shoots")
    elif dns.internal is not None and manner.is_strict:
        yield from _internal(dns.internal, f"{base}.internal")
    seen: set[str] = set()
    for index, default in enumerate(dns.defaults):
        if default.domain in seen:
            yield Finding.duplicate(
                f"{base}.defaults[{index}].domain", default.domain, "name each domain once"
            )
        seen.add(default.domain)


def _provider_credentials(
    provider: SeedDNSProvider, field: str, manner: Manner
) -> Iterator[Finding]:
    reference = provider.credentials_ref
    if reference is None and provider.secret_ref is None:
        yield manner.missing(field, "name the credentials of the DNS provider")
    elif reference is not None and manner.is_strict:
        yield from credentials.judge(reference, field)


def _internal(internal: SeedDNSDomain, base: str) -> Iterator[Finding]:
    for value, name in ((internal.type, "type"), (internal.domain, "domain")):
        if not value:
            yield Finding.required(f"{base}.{name}", "must not be empty")
    for error in identifiers.subdomain_errors(internal.domain) if internal.domain else ():
        yield Finding.invalid(f"{base}.domain", internal.domain, error)
    yield from credentials.judge(internal.credentials_ref, f"{base}.credentialsRef")


def judge_change(
    old: SeedSpec, new: SeedSpec, base: str, *, is_of_set: bool = False
) -> Iterator[Finding]:
    """Refuse to change what a running seed was built with."""
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
        if was != now and (was or (is_of_set and field in _NEVER_SET_LATER)):
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
