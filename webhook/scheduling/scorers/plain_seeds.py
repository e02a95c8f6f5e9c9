"""HighAvailability: seeds that are not multi-zonal score higher for shoots that need one zone."""

from typing import Final

from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Mask
from webhook.scheduling.framework import MAX_SCORE, Scorer, Scores
from webhook.scheduling.seed_table import SeedTable
from webhook.scheduling.shoot_info import ShootInfo


def _score(info: ShootInfo, table: SeedTable, _feasible: Mask) -> Scores:
    if info.is_multi_zone:  # only multi-zonal seeds are feasible, so all score the same
        return table.score("any seed", _same)
    return table.score("plain seeds", _plain)


def _same(_candidate: Candidate) -> int:
    return MAX_SCORE


def _plain(candidate: Candidate) -> int:
    return 0 if candidate.is_multi_zonal else MAX_SCORE


PLAIN_SEEDS: Final = Scorer("HighAvailability", _score)
