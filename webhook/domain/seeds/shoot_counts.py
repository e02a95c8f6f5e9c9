"""The shoots that a seed hosts, and how many of them are ready."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final, NamedTuple

from webhook.api.shoots import Shoot
from webhook.domain.seeds import usage
from webhook.domain.shoots.health import is_reconciled, shoot_health

_ALL: Final = "all"
_READY: Final = "ready"

_ONE: Final = Decimal(1)
_NONE: Final = Decimal(0)
_READY_VECTOR: Final[Mapping[str, Decimal]] = {_ALL: _ONE, _READY: _ONE}
_UNREADY_VECTOR: Final[Mapping[str, Decimal]] = {_ALL: _ONE, _READY: _NONE}


class HostedShoots(NamedTuple):
    """How many shoots a seed hosts, and how many of them are ready."""

    total: int = 0
    ready: int = 0

    @property
    def unready(self) -> int:
        return self.total - self.ready


NO_HOSTED_SHOOTS: Final = HostedShoots()


def is_hosted_ready(shoot: Shoot) -> bool:
    """Return whether a hosted shoot is reconciled and healthy."""
    return is_reconciled(shoot) and shoot_health(shoot) == "healthy"


def seeds_of(shoot: Shoot) -> tuple[str, ...]:
    """Return the seeds that a shoot counts on; none for a shoot that is being deleted."""
    return () if shoot.is_deleting else usage.seeds_of(shoot)


def vector_of(shoot: Shoot) -> Mapping[str, Decimal]:
    """Return what a shoot adds to the counts of its seeds; the result is shared."""
    return _READY_VECTOR if is_hosted_ready(shoot) else _UNREADY_VECTOR


def from_totals(sums: Mapping[str, Decimal]) -> HostedShoots:
    """Return the counts from the sums over a seed's shoots."""
    return HostedShoots(int(sums.get(_ALL, _NONE)), int(sums.get(_READY, _NONE)))
