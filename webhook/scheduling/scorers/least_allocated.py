"""SeedResourcesLeastAllocated: the emptier a seed, the better."""

from decimal import Decimal
from typing import Final

from webhook.domain import capacity
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Mask
from webhook.scheduling.framework import MAX_SCORE, Ratings, Scorer
from webhook.scheduling.landscape import Landscape
from webhook.scheduling.subjects import Subject


def _rate(subject: Subject, landscape: Landscape, _left: Mask) -> Ratings:
    assumed = Decimal(subject.options.capacity.default)

    def score(candidate: Candidate) -> int:
        share = capacity.utilisation(candidate.used, candidate.allocatable, assumed)
        return max(0, MAX_SCORE - round(MAX_SCORE * share))

    return landscape.rate(("least allocated", assumed), score)


LEAST_ALLOCATED: Final = Scorer("SeedResourcesLeastAllocated", _rate)
