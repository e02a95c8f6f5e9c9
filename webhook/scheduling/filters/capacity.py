"""Seeds that have room left for the shoot."""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from functools import cache
from typing import Final, NamedTuple

from webhook.domain import capacity, usage
from webhook.scheduling.candidates import Candidate
from webhook.scheduling.columns import Check, Rejection
from webhook.scheduling.framework import Filter
from webhook.scheduling.subjects import Subject

_NOTHING: Final[Mapping[str, Decimal]] = {}


@cache
def full(resource: str) -> Rejection:
    """Say which resource has run out; what leaves the seed makes room again."""
    return Rejection(f"no capacity left for {resource} (status.allocatable)", final=False)


class _Wish(NamedTuple):
    amounts: tuple[tuple[str, Decimal], ...]
    headroom: int
    counted_on: tuple[str, ...]


def _aspect(subject: Subject) -> _Wish:
    headroom = subject.options.scheduling.headroom
    return _Wish(tuple(subject.request.items()), headroom, subject.own_seeds)


def _prepare(wish: _Wish) -> Check:
    amounts, headroom = dict(wish.amounts), Decimal(wish.headroom)

    def check(candidate: Candidate) -> Rejection | None:
        # Where the shoot counts already, all that it uses is counted already.
        wanted = _NOTHING if candidate.name in wish.counted_on else amounts
        lacking = capacity.lacking(candidate.used, wanted, candidate.allocatable, headroom)
        return full(lacking) if lacking is not None else None

    return check


def _shoots_aspect(subject: Subject) -> int:
    return subject.options.scheduling.headroom


def _prepare_shoots(headroom: int) -> Check:
    def check(candidate: Candidate) -> Rejection | None:
        limit = candidate.allocatable.get(usage.SHOOTS)
        if limit is None:
            return None
        whole = limit.to_integral_value(ROUND_CEILING)
        used = candidate.used.get(usage.SHOOTS, Decimal(0))
        return full(usage.SHOOTS) if used + headroom >= whole else None

    return check


CAPACITY: Final = Filter("capacity", _aspect, _prepare, usage=True)

SHOOT_CAPACITY: Final = Filter("capacity", _shoots_aspect, _prepare_shoots, usage=True)
"""Gardener's: only the number of shoots is limited."""
