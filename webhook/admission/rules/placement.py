"""Whether a seed can take a shoot that somebody puts there by hand."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final

from webhook.admission.decision import Finding
from webhook.api.cloudprofiles import CloudProfileSpec
from webhook.api.meta import ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain import capacity, ha, networks, profiles, selection, taints, usage, zones
from webhook.domain.capacity import CapacityError
from webhook.domain.options import Options
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_USAGE

_FIELD: Final = "spec.seedName"


def judge(shoot: Shoot, seed: Seed, key: ObjectKey, snapshot: Snapshot) -> Iterator[Finding]:
    """List everything that speaks against the seed."""
    if seed.is_deleting:
        yield _refused(seed, "is being deleted")
    if not taints.tolerates(taints.read(shoot.spec.tolerations), seed.spec.taints):
        names = ", ".join(taint.key for taint in seed.spec.taints)
        yield _refused(seed, f"has taints ({names}) that spec.tolerations do not tolerate")
    offer = profiles.find(shoot.spec, key.namespace, snapshot.look_up)
    yield from _selectors(shoot, seed, offer)
    yield from _restrictions(shoot, seed)
    yield from judge_zones(shoot, seed, snapshot.options)
    yield from _networks(shoot, seed)
    yield from _room(shoot, seed, key, snapshot)


def _refused(seed: Seed, why: str) -> Finding:
    return Finding.denied(f"seed {seed.name} {why}", _FIELD)


def _selectors(shoot: Shoot, seed: Seed, offer: CloudProfileSpec | None) -> Iterator[Finding]:
    labels = seed.metadata.labels
    chosen = offer.seed_selector if offer is not None else None
    if not selection.labels(chosen).matches(labels):
        yield _refused(seed, "does not match the seedSelector of the cloud profile")
    if not selection.labels(shoot.spec.seed_selector).matches(labels):
        yield _refused(seed, "does not match spec.seedSelector")
    provider = seed.spec.provider.type
    allowed = chosen.provider_types if chosen is not None else ()
    if not selection.provider_matches(provider, shoot.spec.provider.type, allowed):
        wanted = ", ".join(allowed) or shoot.spec.provider.type
        yield _refused(seed, f"runs on {provider}, the shoot may be on {wanted}")
    own = shoot.spec.seed_selector.provider_types if shoot.spec.seed_selector is not None else ()
    if own and provider not in own:
        yield _refused(seed, f"runs on {provider}, spec.seedSelector.providerTypes lacks it")


def _restrictions(shoot: Shoot, seed: Seed) -> Iterator[Finding]:
    supported = {restriction.name for restriction in seed.spec.access_restrictions}
    for restriction in shoot.spec.access_restrictions:
        if restriction.name not in supported:
            yield _refused(seed, f"does not support access restriction {restriction.name}")


def judge_zones(shoot: Shoot, seed: Seed, options: Options) -> Iterator[Finding]:
    """List what speaks against the seed's zones, for a control plane that wants several.

    Where shoots are placed as Gardener does it, more than its own rule would refuse our own choice.
    """
    availability = ha.effective(shoot)
    found = zones.seed_zones(seed)
    if availability.type == ha.MULTI_ZONE:
        if options.scheduling.is_gardeners(shoot.spec.scheduler_name):
            if len(found) < zones.FEWEST:
                yield _refused(seed, f"is not multi-zonal, it has {len(found)} zones")
            return
        if not zones.is_multi_zonal(seed):
            yield _refused(seed, f"is not multi-zonal, it has {len(found)} zones")
        elif len(found) < availability.zones_needed:
            yield _refused(
                seed,
                f"has {len(found)} zones, failureTolerance {availability.failure_tolerance} needs "
                f"{availability.zones_needed}",
            )
    control_plane = shoot.spec.control_plane
    pinned = control_plane.zones if control_plane is not None else ()
    missing = [zone for zone in pinned if zone not in found]
    if missing:
        yield _refused(seed, f"lacks zones {', '.join(missing)} of spec.controlPlane.zones")


def _networks(shoot: Shoot, seed: Seed) -> Iterator[Finding]:
    """Refuse ranges that Gardener keeps for itself, and IPv6 ranges that the seed has."""
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


def _room(shoot: Shoot, seed: Seed, key: ObjectKey, snapshot: Snapshot) -> Iterator[Finding]:
    """Count what is on the seed, assumed placements included, without this shoot."""
    options = snapshot.options
    try:
        allocatable = capacity.parse(seed.status.allocatable)
    except CapacityError as error:
        yield _refused(seed, f"has a capacity that cannot be read: {error}")
        return
    used: Mapping[str, Decimal] = snapshot.total(SEED_USAGE, seed.name)
    stored = snapshot.get(Shoot, key)
    if stored is not None and seed.name in usage.seeds(stored):
        mine = usage.of(stored, options.usage)
        used = {name: amount - mine.get(name, Decimal(0)) for name, amount in used.items()}
    wanted = usage.of(shoot, options.usage)
    if options.scheduling.is_gardeners(shoot.spec.scheduler_name):
        allocatable = capacity.whole_shoots(allocatable)
    lacking = capacity.lacking(used, wanted, allocatable)
    if lacking is not None:
        yield _refused(
            seed,
            f"is full: {used.get(lacking, Decimal(0))} of {allocatable[lacking]} {lacking} are "
            "taken, choose another",
        )
