"""Which replicas of a set go when it shrinks, and why others cannot."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from webhook.domain.replicas import Replica


class Blocked(NamedTuple):
    """A replica that cannot go yet."""

    name: str
    reason: str


class Choice(NamedTuple):
    """The replicas to remove, first things first, and those that stand in the way."""

    chosen: tuple[Replica, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    """Only told where fewer can go than should."""


def choose(replicas: Iterable[Replica], surplus: int) -> Choice:
    """Choose up to `surplus` of the living replicas.

    Only an empty and unprotected one may go: by priority, lower first; then one that is not
    ready before one that is; then the older one.
    """
    living = [replica for replica in replicas if replica.is_living]
    removable = sorted((each for each in living if obstacle(each) is None), key=_order)
    chosen = tuple(removable[: max(0, surplus)])
    if len(chosen) >= surplus:
        return Choice(chosen)
    reasons = ((each.name, obstacle(each)) for each in living)
    return Choice(chosen, tuple(Blocked(name, reason) for name, reason in reasons if reason))


def obstacle(replica: Replica) -> str | None:
    """Say why a replica may not be removed now; None if it may."""
    if replica.users:
        return f"used by {replica.users} shoot{'s' if replica.users > 1 else ''}"
    if replica.seed is not None and replica.managed_seed is None:
        return "its Seed has no ManagedSeed"
    return "protected from deletion" if replica.is_protected else None


def tell(blocked: Sequence[Blocked]) -> str:
    """List what stands in the way, for people."""
    return ", ".join(f"{each.name} ({each.reason})" for each in blocked)


def _order(replica: Replica) -> tuple[int, bool, str, int]:
    return replica.priority, replica.is_ready, replica.created, replica.ordinal
