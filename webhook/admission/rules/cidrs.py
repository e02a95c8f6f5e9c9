"""CIDRs of a seed: well-formed, of its IP families, and disjoint."""

from collections.abc import Iterator
from itertools import combinations
from typing import Final, NamedTuple

from webhook.admission.decision import Finding
from webhook.api.seeds import SeedNetworks
from webhook.domain.placement import networks
from webhook.domain.placement.networks import Range

_MIN_PREFIX: Final = 8
_FAMILIES: Final = ("IPv4", "IPv6")


class NetworkField(NamedTuple):
    """A range and the field that holds it."""

    field: str
    written: str
    range: Range


def validate(spec: SeedNetworks, base: str) -> Iterator[Finding]:
    """Validate the ranges of a seed and the default ranges of its shoots."""
    own = {"pods": spec.pods, "services": spec.services, "nodes": spec.nodes or ""}
    defaults = spec.shoot_defaults
    offered = {"pods": defaults.pods, "services": defaults.services} if defaults else {}
    blocked = {f"blockCIDRs[{i}]": cidr for i, cidr in enumerate(spec.block_cidrs)}
    faults = [*_families(spec.ip_families, f"{base}.ipFamilies")]
    if spec.nodes == "":
        # Only this range may be null; the other ones are absent if they are empty.
        faults.append(Finding.invalid(f"{base}.nodes", "", "set a CIDR, or remove the field"))
    seed = _read(own, base, spec.ip_families, faults)
    shoots = _read(offered, f"{base}.shootDefaults", spec.ip_families, faults)
    yield from faults
    malformed: list[Finding] = []
    _read(blocked, base, _FAMILIES, malformed)
    # Gardener does not validate blockCIDRs, so seeds with malformed ones must stay writable.
    yield from (fault.as_warning() for fault in malformed)
    yield from _overlaps(seed)
    yield from _overlaps(shoots)
    for shoot in shoots:
        for network in seed:
            # Since Gardener v1.124 the VPN maps IPv4 ranges, so only IPv6 ones must differ.
            if shoot.range.version == 6 and shoot.range.overlaps(network.range):
                yield _overlap(shoot, network)
    for network in (*seed, *shoots):
        yield from _limits(network)


def _families(families: tuple[str, ...], base: str) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, family in enumerate(families):
        if family not in _FAMILIES:
            yield Finding.not_supported(f"{base}[{index}]", family, _FAMILIES)
        elif family in seen:
            yield Finding.duplicate(f"{base}[{index}]", family, "name each family once")
        seen.add(family)


def _read(
    written: dict[str, str], base: str, families: tuple[str, ...], faults: list[Finding]
) -> list[NetworkField]:
    found = []
    for name, cidr in written.items():
        if not cidr:
            continue
        field = f"{base}.{name}"
        parsed = networks.parse(cidr) if "/" in cidr else None
        if parsed is None:
            faults.append(Finding.invalid(field, cidr, "must be a CIDR such as 10.0.0.0/16"))
        elif not networks.matches_family(parsed, families):
            wanted = " or ".join(families or ("IPv4",))
            faults.append(Finding.invalid(field, cidr, f"must be {wanted}, as in ipFamilies"))
        else:
            found.append(NetworkField(field, cidr, parsed))
    return found


def _overlaps(ranges: list[NetworkField]) -> Iterator[Finding]:
    for one, other in combinations(ranges, 2):
        if one.range.overlaps(other.range):
            yield _overlap(other, one)


def _overlap(one: NetworkField, other: NetworkField) -> Finding:
    return Finding.invalid(
        one.field, one.written, f"overlaps with {other.field} ({other.written}), choose another"
    )


def _limits(network: NetworkField) -> Iterator[Finding]:
    if networks.is_reserved(network.range):
        yield Finding.invalid(
            network.field,
            network.written,
            "overlaps with 240.0.0.0/8 to 244.0.0.0/8 or fd8f:6d53:b97a:1::/96, which are reserved",
        )
    size = network.range.last - network.range.first + 1
    if (
        network.field.endswith(".services")
        and network.range.version == 4
        and size > 1 << (32 - _MIN_PREFIX)
    ):
        yield Finding.invalid(
            network.field, network.written, f"must not be larger than a /{_MIN_PREFIX}"
        )
