"""FewestShoots: Gardener's score, by the number of shoots alone."""

from decimal import Decimal
from typing import Final

from webhook.domain.seeds import usage
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Mask
from webhook.scheduling.framework import MAX_SCORE, Scorer, Scores
from webhook.scheduling.seed_table import SeedTable
from webhook.scheduling.shoot_info import ShootInfo


def _score(_info: ShootInfo, table: SeedTable, _feasible: Mask) -> Scores:
    return table.score("fewest shoots", _score_seed)


def _score_seed(candidate: Candidate) -> int:
    return max(0, MAX_SCORE - int(candidate.used.get(usage.SHOOTS, Decimal(0))))


FEWEST_SHOOTS: Final = Scorer("FewestShoots", _score)
