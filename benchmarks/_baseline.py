"""A straightforward version of Gardener's algorithm: list all shoots, count, filter, choose."""

from collections import Counter
from collections.abc import Iterable

from webhook.api import names
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.placement import distance, seed_selector, taints
from webhook.domain.seeds import usage
from webhook.domain.shoots.ha import MULTI_ZONE, requested
from webhook.kube import conditions


def place(shoot: Shoot, seeds: Iterable[Seed], shoots: Iterable[Shoot]) -> str | None:
    """Choose the nearest seed with the fewest shoots, as gardener-scheduler does."""
    used = Counter(seed for other in shoots for seed in usage.seeds_of(other))
    left = [seed for seed in seeds if _usable(seed)]
    selector = seed_selector.label_selector(shoot.spec.seed_selector)
    left = [seed for seed in left if selector.matches(seed.metadata.labels)]
    left = [seed for seed in left if seed.spec.provider.type == shoot.spec.provider.type]
    if requested(shoot).type == MULTI_ZONE:
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
