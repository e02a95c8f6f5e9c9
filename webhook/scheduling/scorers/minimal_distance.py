"""MinimalDistance: the nearer the region of a seed, the higher its score."""

from typing import Final

from webhook.scheduling import region_strategy
from webhook.scheduling.columns import Mask
from webhook.scheduling.framework import MAX_SCORE, Scorer, Scores
from webhook.scheduling.seed_table import SeedTable
from webhook.scheduling.shoot_info import ShootInfo


def _score(info: ShootInfo, table: SeedTable, feasible: Mask) -> Scores:
    if info.is_testing:
        return [MAX_SCORE] * len(table.candidates)
    scores = [0] * len(table.candidates)
    tiers = [tier for tier in region_strategy.tiers(info, table) if tier.mask & feasible]
    farthest = max((tier.distance for tier in tiers), default=0)
    for tier in tiers:
        share = tier.distance / farthest if farthest > 0 else 0
        score = round(MAX_SCORE * (1 - min(1, max(0, share))))
        for index in table.positions(tier.mask & feasible):
            scores[index] = score
    return scores


MINIMAL_DISTANCE: Final = Scorer("MinimalDistance", _score)
