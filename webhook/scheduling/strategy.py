"""Where a shoot's seed may be: the region strategy, and the shoot's own wish."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from webhook.domain import distance, ha
from webhook.domain.regions import RegionConfigError
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Mask, Rejection
from webhook.scheduling.framework import Profile
from webhook.scheduling.landscape import Landscape
from webhook.scheduling.subjects import Subject

STRATEGY: Final = "strategy"
AFFINITY: Final = "regionAffinity"

OTHER_REGION: Final = Rejection("is not in the shoot's region", final=False)
OTHER_PROVIDER: Final = Rejection("runs on another provider than the shoot", final=False)
FARTHER: Final = Rejection("is farther away than another candidate", final=False)
BROKEN_TABLE: Final = Rejection("distances cannot be read (region ConfigMap)", final=False)

TABLE_IS_REPLACED: Final = "distances are judged by the names of regions"
TABLE_REFUSES: Final = "shoots that go by distance get no seed until it is mended"
"""What becomes of shoots while the region ConfigMap cannot be read, by profile."""


class Tier(NamedTuple):
    """Seeds that are equally far away."""

    distance: int
    mask: Mask


class Search(NamedTuple):
    """Sets of seeds to try in turn, and why seeds in none of them are refused.

    `goes_on` tells whether a tier whose seeds all fall out later is followed by the next one.
    """

    step: str
    tiers: tuple[Mask, ...]
    rejection: Rejection
    goes_on: bool = False


def search(subject: Subject, landscape: Landscape, profile: Profile) -> Search:
    """Return where to look for a seed, nearest first."""
    affinity = subject.affinity if profile.hears_affinity else ""
    if affinity == ha.REQUIRED:
        return Search(AFFINITY, (_same_region(subject, landscape),), OTHER_REGION)
    if affinity == ha.PREFERRED:
        masks = tuple(tier.mask for tier in tiers(subject, landscape))
        return Search(AFFINITY, masks, FARTHER, goes_on=True)
    if not profile.has_strategy:
        return Search(STRATEGY, (landscape.all,), FARTHER)
    if subject.is_testing:
        return Search(STRATEGY, (_same_provider(subject, landscape),), OTHER_PROVIDER)
    if subject.options.scheduling.strategy == "SameRegion":
        return Search(STRATEGY, (_same_region(subject, landscape),), OTHER_REGION)
    if profile.trusts_tables and is_table_broken(subject):
        return Search(STRATEGY, (), BROKEN_TABLE)
    return Search(STRATEGY, tuple(tier.mask for tier in tiers(subject, landscape)), FARTHER)


def tiers(subject: Subject, landscape: Landscape) -> tuple[Tier, ...]:
    """Group all seeds by distance, nearest first.

    By the operator's table where it knows the shoot's region; regions that it leaves out come
    after all that it lists. By the regions' names otherwise, or if the table cannot be read.
    """
    try:
        table = subject.distances
    except RegionConfigError:
        table = None
    region, provider = subject.region, subject.provider
    key = ("tiers", region, provider, None if table is None else tuple(table.items()))
    return landscape.derive(key, lambda: _group(landscape, region, provider, table))


def is_table_broken(subject: Subject) -> bool:
    """Tell whether there is a table of distances that cannot be read."""
    try:
        _ = subject.distances
    except RegionConfigError:
        return True
    return False


def _group(
    landscape: Landscape, region: str, provider: str, table: Mapping[str, int] | None
) -> tuple[Tier, ...]:
    listed: dict[int, Mask] = {}
    unlisted: dict[int, Mask] = {}
    for index, candidate in enumerate(landscape.candidates):
        if table is not None and candidate.region in table:
            near, group = table[candidate.region], listed
        else:
            near = distance.between(region, provider, candidate.region, candidate.provider)
            group = unlisted
        group[near] = group.get(near, 0) | 1 << index
    last = max(listed, default=0) + 1 if listed else 0
    return (
        *(Tier(near, mask) for near, mask in sorted(listed.items())),
        *(Tier(last + near, mask) for near, mask in sorted(unlisted.items())),
    )


def _same_region(subject: Subject, landscape: Landscape) -> Mask:
    region, provider = subject.region, subject.provider

    def is_same(candidate: Candidate) -> bool:
        return candidate.region == region and candidate.provider == provider

    return landscape.choose(("same region", region, provider), is_same)


def _same_provider(subject: Subject, landscape: Landscape) -> Mask:
    provider = subject.provider
    return landscape.choose(
        ("same provider", provider), lambda candidate: candidate.provider == provider
    )
