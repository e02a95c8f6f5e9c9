"""Seeds that serve the default domain that the shoot is in."""

from collections.abc import Mapping
from typing import Final

from webhook.scheduling.columns import Mask, Rejection
from webhook.scheduling.framework import Narrow
from webhook.scheduling.landscape import Landscape
from webhook.scheduling.subjects import Subject

UNSUPPORTED: Final = Rejection("does not serve the default domain of spec.dns.domain of the shoot")


def _apply(subject: Subject, landscape: Landscape, left: Mask) -> tuple[Mask, Rejection]:
    dns = subject.shoot.spec.dns
    domain = dns.domain if dns is not None else ""
    if not domain:
        return left, UNSUPPORTED
    served = landscape.derive("default domains", lambda: _served(landscape))
    matching = {
        default: mask
        for default, mask in served.items()
        if mask & left and domain.endswith("." + default)
    }
    if not matching:
        return left, UNSUPPORTED  # a domain of its own, which every seed can serve
    kept = 0
    for default, mask in matching.items():
        if _is_own(domain, default, subject):
            kept |= mask
    return left & kept, UNSUPPORTED


def _served(landscape: Landscape) -> Mapping[str, Mask]:
    served: dict[str, Mask] = {}
    for index, candidate in enumerate(landscape.candidates):
        for default in candidate.default_domains:
            served[default] = served.get(default, 0) | 1 << index
    return served


def _is_own(domain: str, default: str, subject: Subject) -> bool:
    """Tell whether a domain is `<shoot>.<project>.<default>`; without projects, any below it."""
    project = subject.project
    return project is None or domain == f"{subject.shoot.name}.{project}.{default}"


DOMAINS: Final = Narrow("domain", _apply)
