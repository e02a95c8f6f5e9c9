"""How many nodes each zone of a worker pool may have: the bounds of its node groups."""

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

Strategy: TypeAlias = Literal["Backward-Compatible", "Adaptive"]
STRATEGIES: tuple[Strategy, ...] = ("Backward-Compatible", "Adaptive")
DEFAULT_STRATEGY: Strategy = "Backward-Compatible"


class Pool(NamedTuple):
    """A worker pool as its definition says: `zones` counts the defined ones, found or not."""

    minimum: int
    maximum: int
    zones: int
    strategy: Strategy = DEFAULT_STRATEGY


class Group(NamedTuple):
    """One zone's node group: its place in the pool, its target size, whether it is held out."""

    zone: int
    assigned: int = 0
    bad: bool = False


class Bounds(NamedTuple):
    """What the autoscaler may do with one group."""

    minimum: int
    maximum: int


def distribute(index: int, size: int, zones: int) -> int:
    """Share `size` over `zones`; the first zones take the remainder."""
    share, remainder = divmod(size, zones)
    return share + (index < remainder)


def distribute_percent(index: int, percent: int, zones: int, total: int) -> int:
    """Weigh a percentage of `total` by the zone's share of it.

    Floats, in exactly this order: Gardener's worker library computes it so, and its rounding
    differs from exact arithmetic in about one case of a hundred. Its numbers are the contract.
    """
    if total % zones == 0:
        return percent
    return math.ceil((100 / (total / zones) * distribute(index, total, zones)) * percent / 100)


def distribute_number(index: int, value: int | str, zones: int, total: int) -> int | str:
    """Share a surge or unavailability, a number or a percentage such as `25%`."""
    if isinstance(value, int):
        return distribute(index, value, zones)
    return f"{distribute_percent(index, int(value.removesuffix('%')), zones, total)}%"


def bounds(pool: Pool, groups: Sequence[Group]) -> tuple[Bounds, ...]:
    """Size every group of a pool by the pool's strategy, in the order given."""
    if pool.strategy == "Adaptive":
        return _adaptive(pool, groups)
    return _backward_compatible(pool, groups)


def _backward_compatible(pool: Pool, groups: Sequence[Group]) -> tuple[Bounds, ...]:
    return tuple(
        _clamped(
            distribute(group.zone, pool.minimum, pool.zones),
            distribute(group.zone, pool.maximum, pool.zones),
        )
        for group in groups
    )


def _adaptive(pool: Pool, groups: Sequence[Group]) -> tuple[Bounds, ...]:
    """Let every group grow to what the others leave, and good ones carry the bad ones' minimum.

    Where all groups are bad nobody can carry anything: every minimum is 0. A bad group keeps its
    nodes in the sum, since they exist, although nothing keeps them from being scaled down.
    """
    initial = {group.zone: distribute(group.zone, pool.minimum, pool.zones) for group in groups}
    owed = sum(initial[group.zone] for group in groups if group.bad)
    good = [group.zone for group in groups if not group.bad]
    extra = {index: distribute(rank, owed, len(good)) for rank, index in enumerate(good)}
    total = sum(group.assigned for group in groups)
    return tuple(
        _clamped(
            0 if group.bad else initial[group.zone] + extra[group.zone],
            pool.maximum - (total - group.assigned),
        )
        for group in groups
    )


def _clamped(minimum: int, maximum: int) -> Bounds:
    """Keep 0 ≤ minimum ≤ maximum: a pool shrunk below its nodes blocks growth, never deletes."""
    maximum = max(0, maximum)
    return Bounds(min(minimum, maximum), maximum)
