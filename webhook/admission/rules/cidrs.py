"""Address ranges of a seed: readable, of its family, and apart from each other."""

from collections.abc import Iterator
from itertools import combinations
from typing import Final, NamedTuple

from webhook.admission.decision import Finding
from webhook.api.seeds import SeedNetworks
from webhook.domain import networks
from webhook.domain.networks import Range

_SMALLEST_PREFIX: Final = 8
_FAMILIES: Final = ("IPv4", "IPv6")


class Named(NamedTuple):
    """A range and the field that holds it."""

    field: str
    written: str
    range: Range


def judge(spec: SeedNetworks, base: str) -> Iterator[Finding]:
    """Judge the ranges of a seed and those that it offers to shoots."""
    own = {"pods": spec.pods, "services": spec.services, "nodes": spec.nodes or ""}
    defaults = spec.shoot_defaults
    offered = {"pods": defaults.pods, "services": defaults.services} if defaults else {}
    blocked = {f"blockCIDRs[{i}]": cidr for i, cidr in enumerate(spec.block_cidrs)}
    faults = [*_families(spec.ip_families, f"{base}.ipFamilies")]
    if spec.nodes == "":
        # The one range that may be absent: the others are read as such where they are empty.
        faults.append(Finding.invalid(f"{base}.nodes", "", "write a range, or remove it"))
    seed = _read(own, base, spec.ip_families, faults)
    shoots = _read(offered, f"{base}.shootDefaults", spec.ip_families, faults)
    yield from faults
    unread: list[Finding] = []
    _read(blocked, base, _FAMILIES, unread)
    # Gardener takes anything there, so that seeds which have it must stay writable.
    yield from (fault.softened() for fault in unread)
    yield from _apart(seed)
    yield from _apart(shoots)
    for shoot in shoots:
        for named in seed:
            # Since Gardener v1.124 the VPN maps IPv4 ranges, so only IPv6 ones must differ.
            if shoot.range.version == 6 and shoot.range.overlaps(named.range):
                yield _overlap(shoot, named)
    for named in (*seed, *shoots):
        yield from _bounds(named)


def _families(families: tuple[str, ...], base: str) -> Iterator[Finding]:
    for index, family in enumerate(families):
        if family not in _FAMILIES:
            yield Finding.not_supported(f"{base}[{index}]", family, _FAMILIES)
        elif family in families[:index]:
            yield Finding.duplicate(f"{base}[{index}]", family, "name each family once")


def _read(
    written: dict[str, str], base: str, families: tuple[str, ...], faults: list[Finding]
) -> list[Named]:
    found = []
    for name, cidr in written.items():
        if not cidr:
            continue
        field = f"{base}.{name}"
        parsed = networks.parse(cidr) if "/" in cidr else None
        if parsed is None:
            faults.append(Finding.invalid(field, cidr, "write a range such as 10.0.0.0/16"))
        elif not networks.matches_family(parsed, families):
            wanted = " or ".join(families or ("IPv4",))
            faults.append(Finding.invalid(field, cidr, f"must be {wanted}, as ipFamilies says"))
        else:
            found.append(Named(field, cidr, parsed))
    return found


def _apart(ranges: list[Named]) -> Iterator[Finding]:
    for one, other in combinations(ranges, 2):
        if one.range.overlaps(other.range):
            yield _overlap(other, one)


def _overlap(one: Named, other: Named) -> Finding:
    return Finding.invalid(
        one.field, one.written, f"overlaps with {other.field} ({other.written}), choose another"
    )


def _bounds(named: Named) -> Iterator[Finding]:
    if networks.is_reserved(named.range):
        yield Finding.invalid(
            named.field,
            named.written,
            "overlaps with 240.0.0.0/8 to 244.0.0.0/8 or fd8f:6d53:b97a:1::/96, which are reserved",
        )
    size = named.range.last - named.range.first + 1
    if (
        named.field.endswith(".services")
        and named.range.version == 4
        and size > 1 << (32 - _SMALLEST_PREFIX)
    ):
        yield Finding.invalid(
            named.field, named.written, f"must not be larger than a /{_SMALLEST_PREFIX}"
        )
