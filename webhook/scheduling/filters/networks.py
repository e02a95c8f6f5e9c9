"""Seeds whose networks do not overlap with the shoot's."""

from typing import Final, NamedTuple

from webhook.api.shoots import Networking, Shoot
from webhook.domain.placement import networks
from webhook.domain.placement.networks import Range
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Rejection
from webhook.scheduling.framework import Filter
from webhook.scheduling.shoot_info import ShootInfo

MALFORMED: Final = Rejection("networks of the shoot cannot be read (spec.networking)")
RESERVED: Final = Rejection("networks of the shoot overlap with reserved ranges (spec.networking)")
OVERLAP: Final = Rejection("networks overlap with those of the shoot (spec.networking)")
INCOMPLETE: Final = Rejection("networks of the shoot are incomplete (status.networking)")


class _ShootNetworks(NamedTuple):
    """The networks of a shoot that are compared with a seed's.

    Since Gardener v1.124 IPv4 ranges may overlap with the seed's: the VPN maps them. So only IPv6
    ranges are compared, and all shoots with IPv4 networks share one cached result.
    """

    ranges: tuple[Range, ...] = ()
    rejection: Rejection | None = None
    families: tuple[str, ...] = ()
    lacks_pods: bool = False
    lacks_services: bool = False


_NONE: Final = _ShootNetworks()


def _aspect(info: ShootInfo) -> _ShootNetworks:
    shoot = info.shoot
    networking = shoot.spec.networking
    if networking is None:
        return _NONE
    workerless = not shoot.spec.provider.workers
    written, rejection = _written(shoot, networking, workerless)
    parsed = [networks.parse(cidr) for cidr in written if cidr]
    ranges = [found for found in parsed if found is not None]
    if len(ranges) < len(parsed):
        rejection = MALFORMED
    elif any(networks.is_reserved(found) for found in ranges):
        rejection = RESERVED
    return _ShootNetworks(
        tuple(found for found in ranges if found.version == 6),
        rejection,
        networking.ip_families,
        lacks_pods=not networking.pods and not workerless,
        lacks_services=not networking.services,
    )


def _written(
    shoot: Shoot, networking: Networking, workerless: bool
) -> tuple[tuple[str, ...], Rejection | None]:
    """Return the ranges in the spec of the shoot and, once it runs, those in its status."""
    written = (networking.nodes, networking.pods, networking.services)
    actual = shoot.status.networking
    if actual is None:
        return written, None
    complete = actual.services and (actual.pods or workerless)
    all_written = (*written, *actual.nodes, *actual.pods, *actual.services)
    return all_written, None if complete else INCOMPLETE


def _prepare(wanted: _ShootNetworks) -> Check:
    def check(candidate: Candidate) -> Rejection | None:
        if wanted.rejection is not None:
            return wanted.rejection
        ranges = (*wanted.ranges, *_defaults(wanted, candidate))
        if any(networks.is_reserved(found) for found in ranges):
            return RESERVED
        compared = [found for found in ranges if found.version == 6]
        return OVERLAP if networks.overlap(compared, candidate.ranges) else None

    return check


def _defaults(wanted: _ShootNetworks, candidate: Candidate) -> list[Range]:
    """Return the ranges that the shoot would get by default from the seed."""
    defaults = candidate.seed.spec.networks.shoot_defaults
    if defaults is None:
        return []
    offered = [
        cidr
        for cidr, lacks in (
            (defaults.pods, wanted.lacks_pods),
            (defaults.services, wanted.lacks_services),
        )
        if lacks and cidr
    ]
    parsed = [found for cidr in offered if (found := networks.parse(cidr)) is not None]
    return [found for found in parsed if networks.matches_family(found, wanted.families)]


NETWORKS: Final = Filter("networks", _aspect, _prepare)
