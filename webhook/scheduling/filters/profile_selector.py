"""Seeds whose labels the cloud profile selects."""

from typing import Final

from webhook.api.selectors import LabelSelector
from webhook.domain import selection
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Rejection
from webhook.scheduling.framework import Filter
from webhook.scheduling.subjects import Subject

NO_PROFILE: Final = Rejection("cloud profile of the shoot does not exist (spec.cloudProfile)")
NOT_SELECTED: Final = Rejection("labels do not match seedSelector of the cloud profile")


def _aspect(subject: Subject) -> LabelSelector | None:
    profile = subject.cloud_profile
    return None if profile is None else selection.labels(profile.spec.seed_selector)


def _prepare(selector: LabelSelector | None) -> Check:
    def check(candidate: Candidate) -> Rejection | None:
        if selector is None:
            return NO_PROFILE
        return None if selector.matches(candidate.seed.metadata.labels) else NOT_SELECTED

    return check


PROFILE_SELECTOR: Final = Filter("profileSelector", _aspect, _prepare)
