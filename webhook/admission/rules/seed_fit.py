"""Whether a seed that a user chooses fits the shoot."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from webhook.admission.decision import Finding
from webhook.api.cloudprofiles import CloudProfileSpec
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.options import Options
from webhook.domain.placement import networks, seed_selector, taints
from webhook.domain.seeds import capacity, usage, zones
from webhook.domain.seeds.capacity import CapacityError
from webhook.domain.shoots import cloud_profiles, ha
from webhook.kube.meta import ObjectKey
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_USAGE

_FIELD: Final = "spec.seedName"


def validate(shoot: Shoot, seed: Seed, key: ObjectKey, snapshot: Snapshot) -> Iterator[Finding]:
    """Yield every reason why the seed does not fit."""
    if seed.is_deleting:
        yield _rejected(seed, "is being deleted")
    if not taints.tolerates(taints.read(shoot.spec.tolerations), seed.spec.taints):
        names = ", ".join(taint.key for taint in seed.spec.taints)
        yield _rejected(seed, f"has taints ({names}) that spec.tolerations do not tolerate")
    profile = cloud_profiles.find(shoot.spec, key.namespace, snapshot.look_up)
    yield from _selectors(shoot, seed, profile)
    yield from _restrictions(shoot, seed)
    yield from validate_zones(shoot, seed, snapshot.options)
    yield from _networks(shoot, seed)
    yield from _capacity(shoot, seed, key, snapshot)


def _rejected(seed: Seed, why: str) -> Finding:
    return Finding.denied(f"seed {seed.name} {why}", _FIELD)


def _selectors(shoot: Shoot, seed: Seed, profile: CloudProfileSpec | None) -> Iterator[Finding]:
    labels = seed.metadata.labels
    chosen = profile.seed_selector if profile is not None else None
    if not seed_selector.label_selector(chosen).matches(labels):
        yield _rejected(seed, "does not match the seedSelector of the cloud profile")
    if not seed_selector.label_selector(shoot.spec.seed_selector).matches(labels):
        yield _rejected(seed, "does not match spec.seedSelector")
    provider = seed.spec.provider.type
    allowed = chosen.provider_types if chosen is not None else ()
    if not seed_selector.provider_matches(provider, shoot.spec.provider.type, allowed):
        wanted = ", ".join(allowed) or shoot.spec.provider.type
        yield _rejected(seed, f"runs on {provider}, the shoot may be on {wanted}")
    own = shoot.spec.seed_selector.provider_types if shoot.spec.seed_selector is not None else ()
    if own and provider not in own:
        yield _rejected(seed, f"runs on {provider}, spec.seedSelector.providerTypes lacks it")


def _restrictions(shoot: Shoot, seed: Seed) -> Iterator[Finding]:
    supported = {restriction.name for restriction in seed.spec.access_restrictions}
    for restriction in shoot.spec.access_restrictions:
        if restriction.name not in supported:
            yield _rejected(seed, f"does not support access restriction {restriction.name}")


def validate_zones(shoot: Shoot, seed: Seed, options: Options) -> Iterator[Finding]:
    """Yield why the zones of the seed do not fit the high availability of the shoot.

    With profile `gardener` only Gardener's rule applies, or its placements would be rejected here.
    """
    availability = ha.effective(shoot)
    found = zones.seed_zones(seed)
    if availability.type == ha.MULTI_ZONE:
        if options.scheduling.is_gardener_profile(shoot.spec.scheduler_name):
            if len(found) < zones.MIN_ZONES:
                yield _rejected(seed, f"is not multi-zonal, it has {len(found)} zones")
            return
        if not zones.is_multi_zonal(seed):
            yield _rejected(seed, f"is not multi-zonal, it has {len(found)} zones")
        elif len(found) < availability.zones_needed:
            yield _rejected(
                seed,
                f"has {len(found)} zones, failureTolerance {availability.failure_tolerance} needs "
                f"{availability.zones_needed}",
            )
    control_plane = shoot.spec.control_plane
    pinned = control_plane.zones if control_plane is not None else ()
    missing = [zone for zone in pinned if zone not in found]
    if missing:
        yield _rejected(seed, f"lacks zones {', '.join(missing)} of spec.controlPlane.zones")


def _networks(shoot: Shoot, seed: Seed) -> Iterator[Finding]:
    """Reject ranges that Gardener reserves, and IPv6 ranges that overlap with the seed's."""
    networking = shoot.spec.networking
    if networking is None:
        return
    taken = [
        found
        for cidr in (seed.spec.networks.nodes, seed.spec.networks.pods, seed.spec.networks.services)
        if cidr and (found := networks.parse(cidr)) is not None
    ]
    for name, cidr in (
        ("nodes", networking.nodes),
        ("pods", networking.pods),
        ("services", networking.services),
    ):
        found = networks.parse(cidr) if cidr else None
        if found is None:
            continue
        field = f"spec.networking.{name}"
        if networks.is_reserved(found):
            yield Finding.invalid(field, cidr, "overlaps with a reserved range, choose another")
        # Since Gardener v1.124 the VPN maps IPv4 ranges, so only IPv6 ones must differ.
        elif found.version == 6 and networks.overlap((found,), taken):
            yield Finding.invalid(field, cidr, f"overlaps with a network of seed {seed.name}")


def _capacity(shoot: Shoot, seed: Seed, key: ObjectKey, snapshot: Snapshot) -> Iterator[Finding]:
    """Reject a full seed; assumed placements count as used, this shoot does not."""
    options = snapshot.options
    try:
        allocatable = capacity.parse(seed.status.allocatable)
    except CapacityError as error:
        yield _rejected(seed, f"has a capacity that cannot be read: {error}")
        return
    used: Mapping[str, Decimal] = snapshot.total(SEED_USAGE, seed.name)
    stored = snapshot.get(Shoot, key)
    if stored is not None and seed.name in usage.seeds_of(stored):
        mine = usage.usage_of(stored, options.usage)
        used = {name: amount - mine.get(name, Decimal(0)) for name, amount in used.items()}
    wanted = usage.usage_of(shoot, options.usage)
    if options.scheduling.is_gardener_profile(shoot.spec.scheduler_name):
        allocatable = capacity.only_shoot_limit(allocatable)
    lacking = capacity.insufficient_resource(used, wanted, allocatable)
    if lacking is not None:
        yield _rejected(
            seed,
            f"is full: {used.get(lacking, Decimal(0))} of {allocatable[lacking]} {lacking} are "
            "taken, choose another",
        )
