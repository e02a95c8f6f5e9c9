"""Which zones shoots and seeds stand in, and what makes a seed multi-zonal."""

from typing import Final

from webhook.api import names
from webhook.api.seeds import Seed, SeedTemplate
from webhook.api.shoots import Shoot, ShootTemplate

FEWEST: Final = 3
"""With fewer zones a majority of members does not survive the loss of one."""


def shoot_zones(shoot: Shoot | ShootTemplate) -> frozenset[str]:
    """Return the zones of all pools together."""
    return frozenset(zone for worker in shoot.spec.provider.workers for zone in worker.zones)


def seed_zones(seed: Seed | SeedTemplate) -> frozenset[str]:
    """Return the zones that a seed lists."""
    return frozenset(seed.spec.provider.zones)


def is_multi_zonal(seed: Seed | SeedTemplate) -> bool:
    """Tell whether a seed can spread a control plane; a label alone never suffices."""
    return (
        len(seed_zones(seed)) >= FEWEST and seed.metadata.labels.get(names.MULTI_ZONAL) != "false"
    )
