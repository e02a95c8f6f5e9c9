"""Which address ranges of a shoot clash with those of a seed."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_network
from typing import Final, NamedTuple


class Range(NamedTuple):
    """An address range as integers, so that overlap is two comparisons."""

    version: int
    first: int
    last: int

    def overlaps(self, other: "Range") -> bool:
        return (
            self.version == other.version and self.first <= other.last and other.first <= self.last
        )


@lru_cache(maxsize=65536)
def parse(cidr: str) -> Range | None:
    """Read a range in CIDR notation; None if it cannot be read."""
    try:
        network = ip_network(cidr, strict=False)
    except ValueError:
        return None
    return Range(network.version, int(network.network_address), int(network.broadcast_address))


def _reserved(*cidrs: str) -> tuple[Range, ...]:
    return tuple(found for found in map(parse, cidrs) if found is not None)


# Gardener maps the API server, seed pods and the shoot's nodes, services and pods there in the
# VPN of a highly available control plane.
RESERVED: Final = _reserved(
    "240.0.0.0/8",
    "241.0.0.0/8",
    "242.0.0.0/8",
    "243.0.0.0/8",
    "244.0.0.0/8",
    "fd8f:6d53:b97a:1::/96",
)


def is_reserved(found: Range) -> bool:
    """Tell whether a range touches one that Gardener keeps for itself."""
    return any(found.overlaps(reserved) for reserved in RESERVED)


def overlap(some: Iterable[Range], others: Iterable[Range]) -> bool:
    """Tell whether any two of the ranges have an address in common."""
    others = tuple(others)
    return any(one.overlaps(other) for one in some for other in others)


def matches_family(found: Range, families: Iterable[str]) -> bool:
    """Tell whether a range is of one of the IP families; without any, IPv4 is meant."""
    return f"IPv{found.version}" in (tuple(families) or ("IPv4",))
