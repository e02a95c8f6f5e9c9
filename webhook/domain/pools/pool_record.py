"""The record of a worker pool: the state that all servers share about it, in one ConfigMap.

A pool's maximum spans several MachineDeployments, which are written one at a time from caches that
lag behind. A server that wants to change a size therefore first records it here, by
compare-and-swap, and then writes the object, conditional on the resourceVersion in the record.

A recorded size counts until a cache shows the object at a later version: by then, the write has
happened or can no longer happen. `seenThrough` is the version that a cache must have reached to be
used for counting.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias, TypeVar

from webhook.api.machines import MachineDeployment
from webhook.domain.pools.discovery import Pool, PoolKey, PoolZone
from webhook.kube import timestamps
from webhook.kube.meta import Model
from webhook.kube.resource_versions import ordinal

OVERDUE_AFTER: Final = timedelta(seconds=10)
"""After this time, a target without effect is checked; its age alone proves nothing."""
GRANT_TTL: Final = timedelta(seconds=60)
"""After this time, a grant that was never seen is dropped: an admitted write can still fail."""

ZoneHealth: TypeAlias = Literal["good", "bad", "trial"]
OverdueAction: TypeAlias = Literal["keep", "touch", "drop"]
Find: TypeAlias = Callable[[str], MachineDeployment | None]
"""Returns a MachineDeployment of the pool's namespace by name."""

V = TypeVar("V")

_EPOCH: Final = timestamps.parse_time("1970-01-01T00:00:00Z")


class SizeTarget(Model):
    """A size that a server is about to write, and the version that the write is conditional on."""

    target: int
    resource_version: str
    time: str


class OpenIncrease(Model):
    """An increase that got less than it asked for; it gets more once the scale-up is complete."""

    wanted: int
    granted: int
    """The size that the zone got at first."""
    time: str


class ZoneState(Model):
    """The backoff state of a zone that lacked resources."""

    until: str = ""
    strikes: int = 0
    last_failure: str = ""
    """The machine's uid and the time, so that each failure is counted once."""
    on_trial: bool = False
    """Whether, after `until`, one machine still has to join before more are created."""
    backed_off: str = ""
    """Since when cluster-autoscaler backs off from the zone; empty while it does not."""
    unproven: str = ""
    """Since when it last backed off, until a machine has joined since; empty otherwise."""


class PermitGrant(Model):
    """The size that was last granted to one MachineSet."""

    size: int
    time: str
    zone: str = ""
    """Its MachineDeployment, for a set that does not exist yet."""


class HeldOut(Model):
    """A zone that is excluded from an update, and why."""

    since: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class PoolRecord:
    """The record of one pool."""

    key: PoolKey
    targets: Mapping[str, SizeTarget] = field(default_factory=dict)
    """By MachineDeployment."""
    increases: Mapping[str, OpenIncrease] = field(default_factory=dict)
    """By MachineDeployment."""
    zones: Mapping[str, ZoneState] = field(default_factory=dict)
    """By MachineDeployment; only zones that lacked resources."""
    grants: Mapping[str, PermitGrant] = field(default_factory=dict)
    """By the uid of a MachineSet."""
    held_out: Mapping[str, HeldOut] = field(default_factory=dict)
    """By MachineDeployment."""
    disagreeing: str = ""
    """Since when the zones define the pool differently; empty while they agree."""
    seen_through: Mapping[str, str] = field(default_factory=dict)
    """By kind, the version that a cache must have reached to be used for counting."""
    version: str = ""
    """The resourceVersion of the ConfigMap; empty if it does not exist."""

    def zone_health(self, zone: str, now: datetime) -> ZoneHealth:
        """Return whether a zone is used, avoided, or tried with one machine."""
        state = self.zones.get(zone)
        if state is None:
            return "good"
        if state.backed_off or now < parse_instant(state.until):
            return "bad"
        return "trial" if state.on_trial else "good"

    def is_tried_again(self, zone: str, now: datetime) -> bool:
        """Return whether a zone's backoff is over and no machine has joined since."""
        state = self.zones.get(zone)
        return (
            state is not None
            and bool(state.on_trial or state.unproven)
            and self.zone_health(zone, now) != "bad"
        )


def parse_instant(text: str | None) -> datetime:
    """Parse a time of the record; a malformed one is long past."""
    try:
        return timestamps.parse_time(text or "")
    except timestamps.TimestampError:
        return _EPOCH


def drop_observed_targets(record: PoolRecord, find: Find) -> PoolRecord:
    """Drop the targets whose write is decided: the object has a later version than the target.

    `find` must read a cache that has reached `seenThrough`. The target of an object that the cache
    does not have stays until it is overdue, because the object may be too new for the cache.
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
    return raise_seen_through(replace(record, targets=kept), MachineDeployment.__name__, seen)


def committed_size(pool: Pool, record: PoolRecord) -> int:
    """Return the size of a pool: for every zone the larger of its size and target.

    Targets of zones that the pool does not show count, too: a cache that lacks a zone proves
    nothing.
    """
    known = frozenset(zone.name for zone in pool.zones)
    unseen = sum(each.target for name, each in record.targets.items() if name not in known)
    return unseen + sum(size_of(zone, record) for zone in pool.zones)


def size_of(zone: PoolZone, record: PoolRecord) -> int:
    """Return the larger of a zone's size and target."""
    target = record.targets.get(zone.name)
    return max(zone.replicas, target.target) if target is not None else zone.replicas


def remaining_size(pool: Pool, record: PoolRecord) -> int:
    """Return what is left of a pool's maximum, at least 0."""
    return max(0, pool.maximum - committed_size(pool, record))


def add_target(record: PoolRecord, zone: str, size: int, version: str, now: datetime) -> PoolRecord:
    """Add the size that is about to be written to a MachineDeployment at a version."""
    target = SizeTarget(
        target=size, resource_version=version, time=timestamps.format_micro_time(now)
    )
    return replace(record, targets={**record.targets, zone: target})


def drop_target(record: PoolRecord, zone: str, version: str) -> PoolRecord:
    """Remove a target whose write failed, unless it was replaced meanwhile."""
    target = record.targets.get(zone)
    if target is None or target.resource_version != version:
        return record
    return replace(record, targets=_without(record.targets, (zone,)))


def overdue(record: PoolRecord, now: datetime) -> Mapping[str, SizeTarget]:
    """Return the targets that should have had an effect by now."""
    return {
        name: target
        for name, target in record.targets.items()
        if now - parse_instant(target.time) >= OVERDUE_AFTER
    }


def resolve_overdue(target: SizeTarget, live: MachineDeployment | None) -> OverdueAction:
    """Return what to do with an overdue target, given its object from a live read.

    `touch` means to write to the object first, so that the recorded write must fail.
    """
    if live is None or live.resource_version != target.resource_version:
        return "drop"
    return "touch"


def add_grant(record: PoolRecord, uid: str, zone: str, size: int, now: datetime) -> PoolRecord:
    """Add the size granted to a MachineSet, in place of an earlier grant."""
    granted = PermitGrant(size=size, time=timestamps.format_micro_time(now), zone=zone)
    return replace(record, grants={**record.grants, uid: granted})


def drop_grants(record: PoolRecord, uids: Collection[str]) -> PoolRecord:
    """Remove the grants of sets that are gone or were seen at that size."""
    if not any(uid in record.grants for uid in uids):
        return record
    return replace(record, grants=_without(record.grants, uids))


def stale_grants(record: PoolRecord, now: datetime) -> frozenset[str]:
    """Return the sets whose grants have expired."""
    return frozenset(
        uid
        for uid, granted in record.grants.items()
        if now - parse_instant(granted.time) >= GRANT_TTL
    )


def hold_out(record: PoolRecord, zone: str, reason: str, now: datetime) -> PoolRecord:
    """Exclude a zone from updates until it recovers."""
    held = HeldOut(since=timestamps.format_time(now), reason=reason)
    return replace(record, held_out={**record.held_out, zone: held})


def end_hold_out(record: PoolRecord, zone: str) -> PoolRecord:
    """Include a zone in updates again."""
    return replace(record, held_out=_without(record.held_out, (zone,)))


def with_zone_state(record: PoolRecord, zone: str, state: ZoneState | None) -> PoolRecord:
    """Set or remove the backoff state of a zone."""
    if state is None:
        return replace(record, zones=_without(record.zones, (zone,)))
    return replace(record, zones={**record.zones, zone: state})


def raise_seen_through(record: PoolRecord, kind: str, version: str) -> PoolRecord:
    """Raise the version of a kind that caches must have seen; never lowers it."""
    if not _is_later(version, record.seen_through.get(kind, "")):
        return record
    return replace(record, seen_through={**record.seen_through, kind: version})


def reset_seen_through(record: PoolRecord, kind: str, version: str) -> PoolRecord:
    """Lower the version of a kind that caches must have seen, as after a restore of a backup."""
    return replace(record, seen_through={**record.seen_through, kind: version})


def prune(record: PoolRecord, zones: Collection[str]) -> PoolRecord:
    """Remove the zones that no longer exist."""
    return replace(
        record,
        targets=_only(record.targets, zones),
        increases=_only(record.increases, zones),
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
