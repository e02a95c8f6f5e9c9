"""Seeds whose labels match `spec.seedSelector` of the shoot."""

from typing import Final

from webhook.domain.placement import seed_selector
from webhook.kube.selectors import LabelSelector
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Rejection
from webhook.scheduling.framework import Filter
from webhook.scheduling.shoot_info import ShootInfo

NOT_SELECTED: Final = Rejection("labels do not match spec.seedSelector of the shoot")


def _aspect(info: ShootInfo) -> LabelSelector:
    return seed_selector.label_selector(info.shoot.spec.seed_selector)


def _prepare(selector: LabelSelector) -> Check:
    def check(candidate: Candidate) -> Rejection | None:
        return None if selector.matches(candidate.seed.metadata.labels) else NOT_SELECTED

    return check


SEED_SELECTOR: Final = Filter("seedSelector", _aspect, _prepare)
