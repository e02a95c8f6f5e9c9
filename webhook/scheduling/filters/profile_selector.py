"""Seeds whose labels match `seedSelector` of the cloud profile."""

from typing import Final

from webhook.domain.placement import seed_selector
from webhook.kube.selectors import LabelSelector
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Rejection
from webhook.scheduling.framework import Filter
from webhook.scheduling.shoot_info import ShootInfo

NO_PROFILE: Final = Rejection("cloud profile of the shoot does not exist (spec.cloudProfile)")
NOT_SELECTED: Final = Rejection("labels do not match seedSelector of the cloud profile")


def _aspect(info: ShootInfo) -> LabelSelector | None:
    profile = info.cloud_profile
    return None if profile is None else seed_selector.label_selector(profile.spec.seed_selector)


def _prepare(selector: LabelSelector | None) -> Check:
    def check(candidate: Candidate) -> Rejection | None:
        if selector is None:
            return NO_PROFILE
        return None if selector.matches(candidate.seed.metadata.labels) else NOT_SELECTED

    return check


PROFILE_SELECTOR: Final = Filter("profileSelector", _aspect, _prepare)
