"""A straightforward version of today's algorithm: list all shoots, count, filter, choose."""

from collections import Counter
from collections.abc import Iterable

from webhook.api import conditions, names
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain import distance, selection, taints, usage
from webhook.domain.ha import MULTI_ZONE, wanted


def place(shoot: Shoot, seeds: Iterable[Seed], shoots: Iterable[Shoot]) -> str | None:
    """Choose the nearest seed with the fewest shoots, as gardener-scheduler does."""
    used = Counter(seed for other in shoots for seed in usage.seeds(other))
    left = [seed for seed in seeds if _usable(seed)]
    selector = selection.labels(shoot.spec.seed_selector)
    left = [seed for seed in left if selector.matches(seed.metadata.labels)]
    left = [seed for seed in left if seed.spec.provider.type == shoot.spec.provider.type]
    if wanted(shoot).type == MULTI_ZONE:
        left = [seed for seed in left if len(seed.spec.provider.zones) >= 3]
    tolerations = taints.read(shoot.spec.tolerations)
    left = [seed for seed in left if taints.tolerates(tolerations, seed.spec.taints)]
    left = [
        seed
        for seed in left
        if used[seed.name] < int(seed.status.allocatable.get("shoots", 1_000_000))
    ]
    near = {
        seed.name: distance.between_names(shoot.spec.region, seed.spec.provider.region)
        for seed in left
    }
    left = [seed for seed in left if near[seed.name] == min(near.values())]
    best = min(left, key=lambda seed: (used[seed.name], seed.name), default=None)
    return best.name if best is not None else None


def _usable(seed: Seed) -> bool:
    return (
        not seed.is_deleting
        and seed.is_visible
        and seed.status.last_operation is not None
        and conditions.is_true(seed.status.conditions, names.GARDENLET_READY)
    )
