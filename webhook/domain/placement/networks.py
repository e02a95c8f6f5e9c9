"""Whether address ranges of a shoot overlap with those of a seed."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_network
from typing import Final, NamedTuple


class Range(NamedTuple):
    """An address range as integers, so that overlap takes two comparisons."""

    version: int
    first: int
    last: int

    def overlaps(self, other: "Range") -> bool:
        return (
            self.version == other.version and self.first <= other.last and other.first <= self.last
        )


@lru_cache(maxsize=65536)
def parse(cidr: str) -> Range | None:
    """Parse a range in CIDR notation; None if it is malformed."""
    try:
        network = ip_network(cidr, strict=False)
    except ValueError:
        return None
    return Range(network.version, int(network.network_address), int(network.broadcast_address))


def _reserved(*cidrs: str) -> tuple[Range, ...]:
    return tuple(found for found in map(parse, cidrs) if found is not None)


# In the VPN of a highly available control plane, Gardener maps the API server, the seed's pods and
# the shoot's nodes, services and pods to these ranges.
RESERVED: Final = _reserved(
    "240.0.0.0/8",
    "241.0.0.0/8",
    "242.0.0.0/8",
    "243.0.0.0/8",
    "244.0.0.0/8",
    "fd8f:6d53:b97a:1::/96",
)


def is_reserved(addresses: Range) -> bool:
    """Return whether a range overlaps with one that Gardener reserves."""
    return any(addresses.overlaps(reserved) for reserved in RESERVED)


def overlap(some: Iterable[Range], others: Iterable[Range]) -> bool:
    """Return whether any of some ranges overlaps with any of the others."""
    others = tuple(others)
    return any(one.overlaps(other) for one in some for other in others)


def matches_family(addresses: Range, families: Iterable[str]) -> bool:
    """Return whether a range is of one of the IP families; the default is IPv4."""
    return f"IPv{addresses.version}" in (tuple(families) or ("IPv4",))
