"""FewestShoots: Gardener's choice, whatever the seeds can take."""

from decimal import Decimal
from typing import Final

from webhook.domain import usage
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Mask
from webhook.scheduling.framework import MAX_SCORE, Ratings, Scorer
from webhook.scheduling.landscape import Landscape
from webhook.scheduling.subjects import Subject


def _rate(_subject: Subject, landscape: Landscape, _left: Mask) -> Ratings:
    return landscape.rate("fewest shoots", _score)


def _score(candidate: Candidate) -> int:
    return max(0, MAX_SCORE - int(candidate.used.get(usage.SHOOTS, Decimal(0))))


FEWEST_SHOOTS: Final = Scorer("FewestShoots", _rate)
