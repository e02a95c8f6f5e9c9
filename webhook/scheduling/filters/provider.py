"""Seeds on an infrastructure that the shoot may use."""

from typing import Final, NamedTuple

from webhook.domain import selection
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Rejection
from webhook.scheduling.framework import Filter
from webhook.scheduling.subjects import Subject

OTHER_PROVIDER: Final = Rejection("runs on another provider than the shoot")
NOT_ALLOWED: Final = Rejection("provider is not in seedSelector.providerTypes of the cloud profile")
NOT_WANTED: Final = Rejection("provider is not in spec.seedSelector.providerTypes of the shoot")


class _Providers(NamedTuple):
    wanted: str
    allowed: tuple[str, ...]
    chosen: tuple[str, ...] = ()


def _profile_aspect(subject: Subject) -> _Providers:
    profile = subject.cloud_profile
    selector = profile.spec.seed_selector if profile is not None else None
    return _Providers(subject.provider, selector.provider_types if selector is not None else ())


def _aspect(subject: Subject) -> _Providers:
    selector = subject.shoot.spec.seed_selector
    chosen = selector.provider_types if selector is not None else ()
    return _profile_aspect(subject)._replace(chosen=chosen)


def _prepare(providers: _Providers) -> Check:
    wanted, allowed, chosen = providers

    def check(candidate: Candidate) -> Rejection | None:
        if not selection.provider_matches(candidate.provider, wanted, allowed):
            return NOT_ALLOWED if allowed else OTHER_PROVIDER
        if chosen and not selection.provider_matches(candidate.provider, wanted, chosen):
            return NOT_WANTED
        return None

    return check


PROVIDER: Final = Filter("provider", _aspect, _prepare)

PROFILE_PROVIDER: Final = Filter("provider", _profile_aspect, _prepare)
"""Gardener's: what the shoot itself says about providers is not heard."""
