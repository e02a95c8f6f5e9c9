"""The zones of shoots and seeds, and whether a seed is multi-zonal."""

from typing import Final

from webhook.api import names
from webhook.api.seeds import Seed, SeedTemplate
from webhook.api.shoots import Shoot, ShootTemplate

MIN_ZONES: Final = 3
"""With fewer zones, the loss of one may cost the majority of etcd's members."""


def shoot_zones(shoot: Shoot | ShootTemplate) -> frozenset[str]:
    """Return the zones of all worker pools."""
    return frozenset(zone for worker in shoot.spec.provider.workers for zone in worker.zones)


def seed_zones(seed: Seed | SeedTemplate) -> frozenset[str]:
    """Return the zones in a seed's spec."""
    return frozenset(seed.spec.provider.zones)


def is_multi_zonal(seed: Seed | SeedTemplate) -> bool:
    """Return whether a seed has enough zones and no label that denies it."""
    return (
        len(seed_zones(seed)) >= MIN_ZONES
        and seed.metadata.labels.get(names.MULTI_ZONAL) != "false"
    )
