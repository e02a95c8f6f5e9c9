"""The seeds to consider by region: the operator's strategy and `regionAffinity` of the shoot."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from webhook.domain.placement import distance
from webhook.domain.placement.region_config import RegionConfigError
from webhook.domain.shoots import ha
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Mask, Rejection
from webhook.scheduling.framework import Profile
from webhook.scheduling.seed_table import SeedTable
from webhook.scheduling.shoot_info import ShootInfo

STRATEGY: Final = "strategy"
AFFINITY: Final = "regionAffinity"

OTHER_REGION: Final = Rejection("is not in the shoot's region", final=False)
OTHER_PROVIDER: Final = Rejection("runs on another provider than the shoot", final=False)
FARTHER: Final = Rejection("is farther away than another candidate", final=False)
REGION_TABLE_UNREADABLE: Final = Rejection(
    "distances cannot be read (region ConfigMap)", final=False
)

REGION_TABLE_FALLBACK: Final = "distances are computed from the names of regions"
REGION_TABLE_REQUIRED: Final = "shoots that are placed by distance get no seed until it is fixed"
"""The effect of an unreadable region ConfigMap, by `Profile.requires_region_table`."""


class Tier(NamedTuple):
    """The seeds at one distance from the shoot."""

    distance: int
    mask: Mask


class Search(NamedTuple):
    """Tiers of seeds to try in turn, and why seeds outside of the tiers tried are rejected."""

    step: str
    tiers: tuple[Mask, ...]
    rejection: Rejection
    tries_next_tier: bool = False
    """Whether the next tier is tried if the filters reject all seeds of a tier."""


def search(info: ShootInfo, table: SeedTable, profile: Profile) -> Search:
    """Return the tiers in which to look for a seed, nearest first.

    `regionAffinity` is the shoot's own choice and precedes the operator's strategy and the purpose
    `testing`.
    """
    affinity = info.affinity if profile.honours_region_affinity else ""
    if affinity == ha.REQUIRED:
        return Search(AFFINITY, (_same_region(info, table),), OTHER_REGION)
    if affinity == ha.PREFERRED:
        masks = tuple(tier.mask for tier in tiers(info, table))
        return Search(AFFINITY, masks, FARTHER, tries_next_tier=True)
    if not profile.honours_region_strategy:
        return Search(STRATEGY, (table.all,), FARTHER)
    if info.is_testing:
        return Search(STRATEGY, (_same_provider(info, table),), OTHER_PROVIDER)
    if info.options.scheduling.strategy == "SameRegion":
        return Search(STRATEGY, (_same_region(info, table),), OTHER_REGION)
    if profile.requires_region_table and is_region_table_unreadable(info):
        return Search(STRATEGY, (), REGION_TABLE_UNREADABLE)
    return Search(STRATEGY, tuple(tier.mask for tier in tiers(info, table)), FARTHER)


def tiers(info: ShootInfo, table: SeedTable) -> tuple[Tier, ...]:
    """Group all seeds by distance, nearest first.

    Distances come from the operator's region table if it lists the shoot's region; regions that it
    does not list come after all that it does. Otherwise, and if the table cannot be read, distances
    are computed from the names of regions.
    """
    try:
        distances = info.distances
    except RegionConfigError:
        distances = None
    region, provider = info.region, info.provider
    key = ("tiers", region, provider, None if distances is None else tuple(distances.items()))
    return table.derive(key, lambda: _group(table, region, provider, distances))


def is_region_table_unreadable(info: ShootInfo) -> bool:
    """Return whether there is a region table that cannot be read."""
    try:
        _ = info.distances
    except RegionConfigError:
        return True
    return False


def _group(
    table: SeedTable, region: str, provider: str, distances: Mapping[str, int] | None
) -> tuple[Tier, ...]:
    listed: dict[int, Mask] = {}
    unlisted: dict[int, Mask] = {}
    for index, candidate in enumerate(table.candidates):
        if distances is not None and candidate.region in distances:
            near, group = distances[candidate.region], listed
        else:
            near = distance.between(region, provider, candidate.region, candidate.provider)
            group = unlisted
        group[near] = group.get(near, 0) | 1 << index
    offset = max(listed) + 1 if listed else 0
    return (
        *(Tier(near, mask) for near, mask in sorted(listed.items())),
        *(Tier(offset + near, mask) for near, mask in sorted(unlisted.items())),
    )


def _same_region(info: ShootInfo, table: SeedTable) -> Mask:
    region, provider = info.region, info.provider

    def is_same(candidate: Candidate) -> bool:
        return candidate.region == region and candidate.provider == provider

    return table.select(("same region", region, provider), is_same)


def _same_provider(info: ShootInfo, table: SeedTable) -> Mask:
    provider = info.provider
    return table.select(
        ("same provider", provider), lambda candidate: candidate.provider == provider
    )
