"""Seeds with enough free capacity for the shoot."""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from functools import cache
from typing import Final, NamedTuple

from webhook.domain.seeds import capacity, usage
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Rejection
from webhook.scheduling.framework import Filter
from webhook.scheduling.shoot_info import ShootInfo

_NOTHING: Final[Mapping[str, Decimal]] = {}


@cache
def full(resource: str) -> Rejection:
    """Return the rejection for an exhausted resource; shoots that leave the seed free it."""
    return Rejection(f"no capacity left for {resource} (status.allocatable)", final=False)


class _Request(NamedTuple):
    amounts: tuple[tuple[str, Decimal], ...]
    headroom: int
    counted_on: tuple[str, ...]


def _aspect(info: ShootInfo) -> _Request:
    headroom = info.options.scheduling.headroom
    return _Request(tuple(info.request.items()), headroom, info.own_seeds)


def _prepare(request: _Request) -> Check:
    amounts, headroom = dict(request.amounts), Decimal(request.headroom)

    def check(candidate: Candidate) -> Rejection | None:
        # On a seed that counts the shoot already, its amounts are part of what is used.
        wanted = _NOTHING if candidate.name in request.counted_on else amounts
        lacking = capacity.insufficient_resource(
            candidate.used, wanted, candidate.allocatable, headroom
        )
        return full(lacking) if lacking is not None else None

    return check


def _shoots_aspect(info: ShootInfo) -> int:
    return info.options.scheduling.headroom


def _prepare_shoots(headroom: int) -> Check:
    def check(candidate: Candidate) -> Rejection | None:
        limit = candidate.allocatable.get(usage.SHOOTS)
        if limit is None:
            return None
        whole = limit.to_integral_value(ROUND_CEILING)
        used = candidate.used.get(usage.SHOOTS, Decimal(0))
        return full(usage.SHOOTS) if used + headroom >= whole else None

    return check


CAPACITY: Final = Filter("capacity", _aspect, _prepare, depends_on_usage=True)

SHOOT_CAPACITY: Final = Filter("capacity", _shoots_aspect, _prepare_shoots, depends_on_usage=True)
"""Gardener's filter: only the number of shoots is limited."""
