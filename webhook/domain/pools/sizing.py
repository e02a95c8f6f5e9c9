"""The bounds of node groups: how many nodes each zone of a worker pool may have."""

import math
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from webhook.domain.pools import even_sizes
from webhook.domain.pools.even_sizes import ZoneRange

SizingStrategy: TypeAlias = Literal["Backward-Compatible", "Adaptive"]
STRATEGIES: Final[tuple[SizingStrategy, ...]] = ("Backward-Compatible", "Adaptive")
DEFAULT_STRATEGY: Final[SizingStrategy] = "Backward-Compatible"


class PoolBounds(NamedTuple):
    """The bounds of a whole pool; `zones` counts the defined zones, existing or not."""

    minimum: int
    maximum: int
    zones: int
    strategy: SizingStrategy = DEFAULT_STRATEGY


class ZoneSize(NamedTuple):
    """One zone: its index in the pool, its target size, and whether it is avoided."""

    zone: int
    assigned: int = 0
    bad: bool = False
    joined: int | None = None
    """While it is tried again after a backoff: its live nodes. None if it is not tried."""

    @property
    def is_good(self) -> bool:
        return not self.bad and self.joined is None

    def own_minimum(self, share: int) -> int:
        """Return the part of its share that the zone itself guards; good zones keep the rest."""
        if self.bad:
            return 0
        return share if self.joined is None else min(share, self.joined)


class Bounds(NamedTuple):
    """The bounds of one node group."""

    minimum: int
    maximum: int


def distribute(index: int, size: int, zones: int) -> int:
    """Return the share of one zone in `size`; the first zones get the remainder."""
    share, remainder = divmod(size, zones)
    return share + (index < remainder)


def distribute_percent(index: int, percent: int, zones: int, total: int) -> int:
    """Return the percentage for one zone, weighted by its share in `total`.

    Computed with floats in exactly this order, like Gardener's worker library: its rounding differs
    from exact arithmetic in about one case in a hundred, and its numbers are the contract.
    """
    if total % zones == 0:
        return percent
    return math.ceil((100 / (total / zones) * distribute(index, total, zones)) * percent / 100)


def distribute_number(index: int, value: int | str, zones: int, total: int) -> int | str:
    """Return the share of one zone in a surge or unavailability, a number or a percentage."""
    if isinstance(value, int):
        return distribute(index, value, zones)
    return f"{distribute_percent(index, int(value.removesuffix('%')), zones, total)}%"


def bounds(pool: PoolBounds, groups: Sequence[ZoneSize]) -> tuple[Bounds, ...]:
    """Return the bounds of every zone by the pool's strategy, in the given order."""
    if pool.strategy == "Adaptive":
        return _adaptive(pool, groups)
    return _backward_compatible(pool, groups)


def _backward_compatible(pool: PoolBounds, groups: Sequence[ZoneSize]) -> tuple[Bounds, ...]:
    return tuple(
        _clamped(
            distribute(group.zone, pool.minimum, pool.zones),
            distribute(group.zone, pool.maximum, pool.zones),
        )
        for group in groups
    )


def _adaptive(pool: PoolBounds, groups: Sequence[ZoneSize]) -> tuple[Bounds, ...]:
    """Return bounds by which each zone may use what the others leave of the maximum.

    Good zones share the minimum of the bad ones; if all are bad, every minimum is 0. They keep it
    while a zone is tried again, but for what its live nodes cover: otherwise the autoscaler could
    remove their nodes before the tried zone has any. Without a good zone, the live nodes of zones
    that are tried cover as much of the minimum as they can. The nodes of a bad zone count, since
    they exist, although they may be scaled down. Scan 4 of the document's example contradicts this
    formula and the document's own note; the formula counts.
    """
    shares = {group.zone: distribute(group.zone, pool.minimum, pool.zones) for group in groups}
    own = {group.zone: group.own_minimum(shares[group.zone]) for group in groups}
    transferred = sum(shares.values()) - sum(own.values())
    good = [group.zone for group in groups if group.is_good]
    if good:
        for rank, zone in enumerate(good):
            own[zone] += distribute(rank, transferred, len(good))
    else:
        own = _covered(groups, own, transferred)
    total = sum(group.assigned for group in groups)
    return tuple(
        _clamped(own[group.zone], pool.maximum - (total - group.assigned)) for group in groups
    )


def _covered(
    groups: Sequence[ZoneSize], own: Mapping[int, int], transferred: int
) -> dict[int, int]:
    """Return the minimums if no zone is good: zones that are tried add what their nodes cover."""
    ranges = [
        ZoneRange(str(group.zone), own[group.zone], 0 if group.bad else group.joined or 0)
        for group in groups
    ]
    sizes = even_sizes.grown(ranges, transferred)
    return {group.zone: sizes[str(group.zone)] for group in groups}


def _clamped(minimum: int, maximum: int) -> Bounds:
    """Return bounds with 0 ≤ minimum ≤ maximum; a smaller pool blocks growth, no more."""
    maximum = max(0, maximum)
    return Bounds(min(minimum, maximum), maximum)
