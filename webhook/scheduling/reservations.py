"""Seeds that a scheduler has just been told to choose, counted until it comes back to bind.

A scheduler decides about the next Pod while the last one is still being bound, and asks us with
our cache not knowing of it. What it will choose is clear from our own answer, so it is counted
from then on. Nothing depends on it being right: the ledger guards the seed.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, NamedTuple

from webhook.api.meta import ObjectKey
from webhook.api.shoots import Shoot
from webhook.domain import usage
from webhook.scheduling import ledger
from webhook.state.snapshot import Snapshot

HELD_FOR: Final = timedelta(seconds=10)


class _Held(NamedTuple):
    seed: str
    amounts: Mapping[str, Decimal]
    until: datetime


class Reservations:
    """What is kept for shoots that are about to be bound."""

    def __init__(self) -> None:
        self._held: dict[ObjectKey, _Held] = {}

    def hold(self, shoot: Shoot, seed: str, snapshot: Snapshot) -> None:
        """Keep room on a seed; an earlier reservation of the same shoot is given up."""
        amounts = usage.of(shoot, snapshot.options.usage)
        self._held[shoot.key] = _Held(seed, amounts, snapshot.taken_at + HELD_FOR)

    def drop(self, shoot: ObjectKey) -> None:
        """Give a reservation up: the shoot was bound, or is decided about anew."""
        self._held.pop(shoot, None)

    def held(self, snapshot: Snapshot, leave_out: ObjectKey) -> Mapping[str, Mapping[str, Decimal]]:
        """Sum up by seed what is kept for other shoots that do not count there yet."""
        total: dict[str, Mapping[str, Decimal]] = {}
        for key, held in [*self._held.items()]:
            shoot = snapshot.get(Shoot, key)
            if held.until <= snapshot.taken_at or (shoot and held.seed in usage.seeds(shoot)):
                del self._held[key]
            elif key != leave_out:
                total[held.seed] = ledger.add(total.get(held.seed, {}), held.amounts)
        return total
