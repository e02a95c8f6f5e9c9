"""MinimalDistance: the nearer a seed's region, the better."""

from typing import Final

from webhook.scheduling import strategy
from webhook.scheduling.columns import Mask
from webhook.scheduling.framework import MAX_SCORE, Ratings, Scorer
from webhook.scheduling.landscape import Landscape
from webhook.scheduling.subjects import Subject


def _rate(subject: Subject, landscape: Landscape, left: Mask) -> Ratings:
    if subject.is_testing:
        return [MAX_SCORE] * len(landscape.candidates)
    ratings = [0] * len(landscape.candidates)
    tiers = [tier for tier in strategy.tiers(subject, landscape) if tier.mask & left]
    farthest = max((tier.distance for tier in tiers), default=0)
    for tier in tiers:
        share = tier.distance / farthest if farthest > 0 else 0
        score = round(MAX_SCORE * (1 - min(1, max(0, share))))
        for index in landscape.positions(tier.mask & left):
            ratings[index] = score
    return ratings


MINIMAL_DISTANCE: Final = Scorer("MinimalDistance", _rate)
