"""SeedResourcesLeastAllocated: the lower the utilisation of a seed, the higher its score."""

from decimal import Decimal
from typing import Final

from webhook.domain.seeds import capacity
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Mask
from webhook.scheduling.framework import MAX_SCORE, Scorer, Scores
from webhook.scheduling.seed_table import SeedTable
from webhook.scheduling.shoot_info import ShootInfo


def _score(info: ShootInfo, table: SeedTable, _feasible: Mask) -> Scores:
    assumed = Decimal(info.options.capacity.default)

    def score(candidate: Candidate) -> int:
        share = capacity.utilisation(candidate.used, candidate.allocatable, assumed)
        return max(0, MAX_SCORE - round(MAX_SCORE * share))

    return table.score(("least allocated", assumed), score)


LEAST_ALLOCATED: Final = Scorer("SeedResourcesLeastAllocated", _score)
