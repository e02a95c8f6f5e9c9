"""The record of a worker pool: what all servers agree on about it, in one ConfigMap.

A pool's maximum spans several MachineDeployments, which are written one at a time from caches that
lag. Whoever would take something of a pool therefore first writes that here, by compare-and-swap,
and then changes the object itself, insisting on the version that the record names.

What was written here counts until a cache shows the object at a later version: then the change has
come, or can no longer come. `seenThrough` tells every server how new its cache must be to know so.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias, TypeVar

from webhook.api import timestamps
from webhook.api.machines import MachineDeployment
from webhook.api.meta import Model
from webhook.api.versions import ordinal
from webhook.domain.pools import Pool, PoolKey, Zone

PATIENCE: Final = timedelta(seconds=10)
"""After this long a target without effect is looked into; that it is late proves nothing yet."""
GRANT_LIFE: Final = timedelta(seconds=60)
"""After this long a grant that was never seen is dropped: an admitted write can still fail."""

Standing: TypeAlias = Literal["good", "bad", "trial"]
Fate: TypeAlias = Literal["keep", "touch", "drop"]
Find: TypeAlias = Callable[[str], MachineDeployment | None]
"""Finds a MachineDeployment of the pool's namespace by its name."""

V = TypeVar("V")

_EPOCH: Final = timestamps.parse_time("1970-01-01T00:00:00Z")


class Target(Model):
    """A size that somebody is about to write, and the version that the write insists on."""

    target: int
    resource_version: str
    time: str


class ZoneState(Model):
    """What is remembered of a zone that lacked resources."""

    until: str = ""
    strikes: int = 0
    last_failure: str = ""
    """The machine's uid and the time, so that one failure is counted once."""
    on_trial: bool = False
    """Whether, after `until`, the zone has still to show that one machine joins."""
    backed_off: str = ""
    """Since when cluster-autoscaler says that it avoids the zone; empty while it does not."""


class Grant(Model):
    """The size that one MachineSet was last allowed to have."""

    size: int
    time: str
    zone: str = ""
    """Its MachineDeployment, for a set that is granted before it is made."""


class HeldOut(Model):
    """A zone that takes no part in an update, and why."""

    since: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """What the record of one pool says."""

    key: PoolKey
    targets: Mapping[str, Target] = field(default_factory=dict)
    """By MachineDeployment."""
    zones: Mapping[str, ZoneState] = field(default_factory=dict)
    """By MachineDeployment; only those that had trouble."""
    grants: Mapping[str, Grant] = field(default_factory=dict)
    """By the uid of a MachineSet."""
    held_out: Mapping[str, HeldOut] = field(default_factory=dict)
    """By MachineDeployment."""
    disagreeing: str = ""
    """Since when the zones have given different numbers for the pool; empty while they agree."""
    seen_through: Mapping[str, str] = field(default_factory=dict)
    """By kind, the version that a cache must have reached to be counted from."""
    version: str = ""
    """The version of the ConfigMap; empty if there is none yet."""

    def standing(self, zone: str, now: datetime) -> Standing:
        """Tell whether a zone is to be used, avoided, or tried with one machine."""
        state = self.zones.get(zone)
        if state is None:
            return "good"
        if state.backed_off or now < parse_instant(state.until):
            return "bad"
        return "trial" if state.on_trial else "good"


def parse_instant(text: str | None) -> datetime:
    """Read a time of the record; one that cannot be read is long past."""
    try:
        return timestamps.parse_time(text or "")
    except timestamps.TimestampError:
        return _EPOCH


def settle(record: Record, find: Find) -> Record:
    """Strike out the targets that the cache has overtaken.

    It has when it shows the MachineDeployment at a later version than the target names; `find`
    must come from a cache as new as `seenThrough` says. One that the cache does not show at all
    may be too new for it, so its target stays until it is overdue.
    """
    kept = {}
    seen = record.seen_through.get(MachineDeployment.__name__, "")
    for name, target in record.targets.items():
        found = find(name)
        if found is None or not _is_later(found.resource_version, target.resource_version):
            kept[name] = target
        elif _is_later(found.resource_version, seen):
            seen = found.resource_version
    if len(kept) == len(record.targets):
        return record
    return see(replace(record, targets=kept), MachineDeployment.__name__, seen)


def used(pool: Pool, record: Record) -> int:
    """Count what a pool has or will have: for every zone the larger of size and target."""
    known = frozenset(zone.name for zone in pool.zones)
    unseen = sum(each.target for name, each in record.targets.items() if name not in known)
    return unseen + sum(size_of(zone, record) for zone in pool.zones)


def size_of(zone: Zone, record: Record) -> int:
    """Count what one zone has or will have."""
    target = record.targets.get(zone.name)
    return max(zone.replicas, target.target) if target is not None else zone.replicas


def left(pool: Pool, record: Record) -> int:
    """Count what of a pool's maximum nobody has taken; never negative."""
    return max(0, pool.maximum - used(pool, record))


def aim(record: Record, zone: str, size: int, version: str, now: datetime) -> Record:
    """Note the size that is about to be written to a MachineDeployment at a version."""
    target = Target(target=size, resource_version=version, time=timestamps.format_micro_time(now))
    return replace(record, targets={**record.targets, zone: target})


def drop_target(record: Record, zone: str, version: str) -> Record:
    """Take a target out whose write failed; one that somebody renewed is left alone."""
    target = record.targets.get(zone)
    if target is None or target.resource_version != version:
        return record
    return replace(record, targets=_without(record.targets, (zone,)))


def overdue(record: Record, now: datetime) -> Mapping[str, Target]:
    """List the targets that should have had an effect by now."""
    return {
        name: target
        for name, target in record.targets.items()
        if now - parse_instant(target.time) >= PATIENCE
    }


def judge(target: Target, live: MachineDeployment | None) -> Fate:
    """Say what becomes of an overdue target, given its object as the API server has it now.

    `touch` asks for any write to the object first, so that the one announced must fail.
    """
    if live is None or live.resource_version != target.resource_version:
        return "drop"
    return "touch"


def grant(record: Record, uid: str, zone: str, size: int, now: datetime) -> Record:
    """Note the size that a MachineSet may have; it replaces what that set was granted before."""
    granted = Grant(size=size, time=timestamps.format_micro_time(now), zone=zone)
    return replace(record, grants={**record.grants, uid: granted})


def drop_grants(record: Record, uids: Collection[str]) -> Record:
    """Take grants back: their sets are gone, or have been seen at that size."""
    if not any(uid in record.grants for uid in uids):
        return record
    return replace(record, grants=_without(record.grants, uids))


def stale_grants(record: Record, now: datetime) -> frozenset[str]:
    """Name the sets whose grants are too old to be still on their way."""
    return frozenset(
        uid
        for uid, granted in record.grants.items()
        if now - parse_instant(granted.time) >= GRANT_LIFE
    )


def hold_out(record: Record, zone: str, reason: str, now: datetime) -> Record:
    """Keep a zone out of updates until it heals."""
    held = HeldOut(since=timestamps.format_time(now), reason=reason)
    return replace(record, held_out={**record.held_out, zone: held})


def let_in(record: Record, zone: str) -> Record:
    """Let a zone take part in updates again."""
    return replace(record, held_out=_without(record.held_out, (zone,)))


def with_zone(record: Record, zone: str, state: ZoneState | None) -> Record:
    """Remember trouble of a zone, or forget it."""
    if state is None:
        return replace(record, zones=_without(record.zones, (zone,)))
    return replace(record, zones={**record.zones, zone: state})


def see(record: Record, kind: str, version: str) -> Record:
    """Ask every server to have seen a version of a kind; never goes back."""
    if not _is_later(version, record.seen_through.get(kind, "")):
        return record
    return replace(record, seen_through={**record.seen_through, kind: version})


def reset_seen(record: Record, kind: str, version: str) -> Record:
    """Ask for less: no server can show that version, as after a restore from a backup."""
    return replace(record, seen_through={**record.seen_through, kind: version})


def prune(record: Record, zones: Collection[str]) -> Record:
    """Forget the zones that are no more."""
    return replace(
        record,
        targets=_only(record.targets, zones),
        zones=_only(record.zones, zones),
        held_out=_only(record.held_out, zones),
    )


def _only(entries: Mapping[str, V], names_kept: Collection[str]) -> dict[str, V]:
    return {name: entry for name, entry in entries.items() if name in names_kept}


def _without(entries: Mapping[str, V], left_out: Iterable[str]) -> dict[str, V]:
    gone = frozenset(left_out)
    return {name: entry for name, entry in entries.items() if name not in gone}


def _is_later(version: str, than: str) -> bool:
    return ordinal(version) > ordinal(than)
