"""Seeds whose provider the shoot may use."""

from typing import Final, NamedTuple

from webhook.domain.placement import seed_selector
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Rejection
from webhook.scheduling.framework import Filter
from webhook.scheduling.shoot_info import ShootInfo

OTHER_PROVIDER: Final = Rejection("runs on another provider than the shoot")
NOT_ALLOWED: Final = Rejection("provider is not in seedSelector.providerTypes of the cloud profile")
NOT_WANTED: Final = Rejection("provider is not in spec.seedSelector.providerTypes of the shoot")


class _Providers(NamedTuple):
    wanted: str
    allowed: tuple[str, ...]
    chosen: tuple[str, ...] = ()


def _profile_aspect(info: ShootInfo) -> _Providers:
    profile = info.cloud_profile
    selector = profile.spec.seed_selector if profile is not None else None
    return _Providers(info.provider, selector.provider_types if selector is not None else ())


def _aspect(info: ShootInfo) -> _Providers:
    selector = info.shoot.spec.seed_selector
    chosen = selector.provider_types if selector is not None else ()
    return _profile_aspect(info)._replace(chosen=chosen)


def _prepare(providers: _Providers) -> Check:
    wanted, allowed, chosen = providers

    def check(candidate: Candidate) -> Rejection | None:
        if not seed_selector.provider_matches(candidate.provider, wanted, allowed):
            return NOT_ALLOWED if allowed else OTHER_PROVIDER
        if chosen and not seed_selector.provider_matches(candidate.provider, wanted, chosen):
            return NOT_WANTED
        return None

    return check


PROVIDER: Final = Filter("provider", _aspect, _prepare)
"""The shoot's own `providerTypes` counts, because admission would reject another seed later."""

PROFILE_PROVIDER: Final = Filter("provider", _profile_aspect, _prepare)
"""Gardener's filter: `providerTypes` of the shoot itself is ignored."""
