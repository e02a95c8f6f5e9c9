"""Seeds that serve the default domain of the shoot's DNS domain."""

from collections.abc import Mapping
from typing import Final

from webhook.scheduling.columns import Mask, Rejection
from webhook.scheduling.framework import GroupFilter
from webhook.scheduling.seed_table import SeedTable
from webhook.scheduling.shoot_info import ShootInfo

UNSUPPORTED: Final = Rejection("does not serve the default domain of spec.dns.domain of the shoot")


def _apply(info: ShootInfo, table: SeedTable, remaining: Mask) -> tuple[Mask, Rejection]:
    dns = info.shoot.spec.dns
    domain = dns.domain if dns is not None else ""
    if not domain:
        return remaining, UNSUPPORTED
    served = table.derive("default domains", lambda: _served(table))
    matching = {
        default: mask
        for default, mask in served.items()
        if mask & remaining and domain.endswith("." + default)
    }
    if not matching:
        return remaining, UNSUPPORTED  # a custom domain, which every seed can serve
    kept = 0
    for default, mask in matching.items():
        if _is_own(domain, default, info):
            kept |= mask
    return remaining & kept, UNSUPPORTED


def _served(table: SeedTable) -> Mapping[str, Mask]:
    served: dict[str, Mask] = {}
    for index, candidate in enumerate(table.candidates):
        for default in candidate.default_domains:
            served[default] = served.get(default, 0) | 1 << index
    return served


def _is_own(domain: str, default: str, info: ShootInfo) -> bool:
    """Return whether a domain is `<shoot>.<project>.<default>`; without projects, any below it."""
    project = info.project
    return project is None or domain == f"{info.shoot.name}.{project}.{default}"


DOMAINS: Final = GroupFilter("domain", _apply)
