"""HighAvailability: multi-zonal seeds are kept for the shoots that need them."""

from typing import Final

from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Mask
from webhook.scheduling.framework import MAX_SCORE, Ratings, Scorer
from webhook.scheduling.landscape import Landscape
from webhook.scheduling.subjects import Subject


def _rate(subject: Subject, landscape: Landscape, _left: Mask) -> Ratings:
    if subject.is_multi_zone:  # only multi-zonal seeds are left: all are as good
        return landscape.rate("any seed", _same)
    return landscape.rate("plain seeds", _plain)


def _same(_candidate: Candidate) -> int:
    return MAX_SCORE


def _plain(candidate: Candidate) -> int:
    return 0 if candidate.is_multi_zonal else MAX_SCORE


PLAIN_SEEDS: Final = Scorer("HighAvailability", _rate)
