"""The choice of the replicas to remove when a set is scaled in."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from webhook.domain.sets.replicas import Replica

HIDDEN: Final = "hidden"
"""The value of the annotation of a Seed that is hidden for the removal of its replica."""


class Blocked(NamedTuple):
    """A replica that cannot be removed now."""

    name: str
    reason: str


class Choice(NamedTuple):
    """The replicas to remove, in order, and those that cannot be removed."""

    chosen: tuple[Replica, ...] = ()
    blocked: tuple[Blocked, ...] = ()
    """Filled only if fewer replicas can be removed than should be."""


def choose(replicas: Iterable[Replica], surplus: int) -> Choice:
    """Choose up to `surplus` of the active replicas.

    Only empty and unprotected replicas are removed: the lower priority first, then those that are
    not ready, then the older ones.
    """
    active = [replica for replica in replicas if replica.is_active]
    removable = sorted((each for each in active if removal_blocker(each) is None), key=_order)
    chosen = tuple(removable[: max(0, surplus)])
    if len(chosen) >= surplus:
        return Choice(chosen)
    reasons = ((each.name, removal_blocker(each)) for each in active)
    return Choice(chosen, tuple(Blocked(name, reason) for name, reason in reasons if reason))


def removal_blocker(replica: Replica) -> str | None:
    """Return why a replica cannot be removed now; None if it can."""
    if replica.users:
        return f"used by {replica.users} shoot{'s' if replica.users > 1 else ''}"
    if replica.seed is not None and replica.managed_seed is None:
        return "its Seed has no ManagedSeed"
    return "protected from deletion" if replica.is_protected else None


def describe_blocked(blocked: Sequence[Blocked]) -> str:
    """Format the replicas that cannot be removed, for a message."""
    return ", ".join(f"{each.name} ({each.reason})" for each in blocked)


def _order(replica: Replica) -> tuple[int, bool, str, int]:
    return replica.priority, replica.is_ready, replica.created, replica.ordinal
