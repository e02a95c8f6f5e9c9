"""Seeds whose labels the shoot selects."""

from typing import Final

from webhook.api.selectors import LabelSelector
from webhook.domain import selection
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Rejection
from webhook.scheduling.framework import Filter
from webhook.scheduling.subjects import Subject

NOT_SELECTED: Final = Rejection("labels do not match spec.seedSelector of the shoot")


def _aspect(subject: Subject) -> LabelSelector:
    return selection.labels(subject.shoot.spec.seed_selector)


def _prepare(selector: LabelSelector) -> Check:
    def check(candidate: Candidate) -> Rejection | None:
        return None if selector.matches(candidate.seed.metadata.labels) else NOT_SELECTED

    return check


SEED_SELECTOR: Final = Filter("seedSelector", _aspect, _prepare)
