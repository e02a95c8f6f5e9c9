"""Capacity reserved for shoots that kube-scheduler is about to bind.

kube-scheduler schedules the next Pod while the last one is still being bound, and the cache does
not show that placement yet. The extender's own response determines which seed will be chosen, so
its capacity is counted as used from then on. Reservations are a hint only: the ledger is what
protects the seed.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, NamedTuple

from webhook.api.shoots import Shoot
from webhook.domain.seeds import usage
from webhook.kube.meta import ObjectKey
from webhook.scheduling import ledger
from webhook.state.snapshot import Snapshot

HELD_FOR: Final = timedelta(seconds=10)


class _Held(NamedTuple):
    seed: str
    amounts: Mapping[str, Decimal]
    until: datetime


class Reservations:
    """Reserved capacity by shoot; each reservation expires after `HELD_FOR`."""

    def __init__(self) -> None:
        self._held: dict[ObjectKey, _Held] = {}

    def hold(self, shoot: Shoot, seed: str, snapshot: Snapshot) -> None:
        """Reserve capacity on a seed; it replaces an earlier reservation of the same shoot."""
        amounts = usage.usage_of(shoot, snapshot.options.usage)
        self._held[shoot.key] = _Held(seed, amounts, snapshot.taken_at + HELD_FOR)

    def drop(self, shoot: ObjectKey) -> None:
        """Drop a reservation: the shoot was bound, or is scheduled again."""
        self._held.pop(shoot, None)

    def held(self, snapshot: Snapshot, leave_out: ObjectKey) -> Mapping[str, Mapping[str, Decimal]]:
        """Sum up by seed what is reserved for other shoots that the cache does not count yet."""
        total: dict[str, Mapping[str, Decimal]] = {}
        for key, held in [*self._held.items()]:
            shoot = snapshot.get(Shoot, key)
            if held.until <= snapshot.taken_at or (shoot and held.seed in usage.seeds_of(shoot)):
                del self._held[key]
            elif key != leave_out:
                total[held.seed] = ledger.add_amounts(total.get(held.seed, {}), held.amounts)
        return total
