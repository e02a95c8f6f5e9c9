"""The ledger of a seed: shoots that are being placed on it, shared by all replicas.

Caches lag, so two replicas could each see the same last free slot. The scheduler therefore first
writes an entry into the seed's ledger, a ConfigMap, by compare-and-swap, and only then writes the
shoot. Used capacity is the sum of ledger and cache: an entry is removed only when a cache shows the
placed shoot, and then `seenThrough` holds the resource version that every other replica must have
read to count that shoot as well.

An entry holds the resource version of the shoot that its writer requires. Once the shoot has
another version that write fails, however late it comes, and the entry can be removed.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Context, Decimal
from typing import Final, Literal, TypeAlias

import msgspec

from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.shoots import Shoot
from webhook.domain.seeds import usage
from webhook.kube import quantity, timestamps
from webhook.kube.meta import Draft, Model, ObjectKey
from webhook.kube.resource_versions import ordinal

SEEN_THROUGH: Final = "seenThrough"
OVERDUE_AFTER: Final = timedelta(seconds=30)
"""An entry without effect is examined after this time; being late alone proves nothing."""

FindShoot: TypeAlias = Callable[[ObjectKey], Shoot | None]
Amounts: TypeAlias = Mapping[str, Decimal]
EntryAction: TypeAlias = Literal["keep", "touch", "drop"]

_PREFIX: Final = "espalier-ledger-"
_EXACT: Final = Context(prec=64)


class _Written(Model):
    """An entry as it is written in the ConfigMap."""

    shoot: str = ""
    resource_version: str = ""
    at: str = ""
    amounts: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A shoot that is being placed on a seed."""

    uid: str
    shoot: ObjectKey
    version: str
    at: datetime
    amounts: Amounts


@dataclass(frozen=True, slots=True)
class Ledger:
    """The ledger of one seed."""

    seed: str
    entries: Mapping[str, LedgerEntry] = field(default_factory=dict)
    seen_through: str = ""
    version: str = ""
    """The version of the ConfigMap; empty if there is none yet."""


def name_of(seed: str) -> str:
    """Return the name of the ConfigMap that holds a seed's ledger."""
    return _PREFIX + seed


def read(config_map: ConfigMap) -> Ledger:
    """Read a ledger; entries that cannot be read were not written by us and are ignored."""
    entries = {}
    for uid, text in config_map.data.items():
        if uid != SEEN_THROUGH and (entry := _read_entry(uid, text)) is not None:
            entries[uid] = entry
    return Ledger(
        seed=config_map.name.removeprefix(_PREFIX),
        entries=entries,
        seen_through=config_map.data.get(SEEN_THROUGH, ""),
        version=config_map.resource_version,
    )


def write(ledger: Ledger, namespace: str) -> Draft:
    """Write a ledger as a ConfigMap, with the version read as precondition if there is one."""
    metadata: Draft = {
        "name": name_of(ledger.seed),
        "namespace": namespace,
        "labels": {names.LEDGER_LABEL: "seed", names.MANAGED_BY: names.FIELD_MANAGER},
    }
    if ledger.version:
        metadata["resourceVersion"] = ledger.version
    data = {uid: _write_entry(entry) for uid, entry in ledger.entries.items()}
    if ledger.seen_through:
        data[SEEN_THROUGH] = ledger.seen_through
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def prune(ledger: Ledger, find: FindShoot) -> Ledger:
    """Remove the entries that the cache supersedes.

    It does when it shows the shoot at a later version than the entry holds: then the cache shows
    the placement, or the placement can no longer succeed. An assumed placement has the entry's own
    version and does not count.
    """
    kept = dict(ledger.entries)
    seen = ledger.seen_through
    for uid, entry in ledger.entries.items():
        shoot = find(entry.shoot)
        if shoot is None or not _supersedes(shoot, entry):
            continue
        del kept[uid]
        is_placed = shoot.uid == uid and ledger.seed in usage.seeds_of(shoot)
        if is_placed and ordinal(shoot.resource_version) > ordinal(seen):
            seen = shoot.resource_version
    return replace(ledger, entries=kept, seen_through=seen)


def outstanding(ledger: Ledger, find: FindShoot, leave_out: Iterable[str] = ()) -> Amounts:
    """Sum up the amounts of the entries that the cache does not count on the seed yet."""
    left_out = frozenset(leave_out)
    total: dict[str, Decimal] = {}
    for uid, entry in ledger.entries.items():
        shoot = find(entry.shoot)
        counted = shoot is not None and shoot.uid == uid and ledger.seed in usage.seeds_of(shoot)
        if not counted and uid not in left_out:
            total = add_amounts(total, entry.amounts)
    return total


def add_amounts(some: Amounts, more: Amounts) -> dict[str, Decimal]:
    """Add amounts by resource, exactly."""
    total = dict(some)
    for resource, amount in more.items():
        total[resource] = _EXACT.add(total.get(resource, Decimal(0)), amount)
    return total


def subtract_amounts(some: Amounts, less: Amounts) -> dict[str, Decimal]:
    """Subtract amounts by resource, exactly."""
    total = dict(some)
    for resource, amount in less.items():
        total[resource] = _EXACT.subtract(total.get(resource, Decimal(0)), amount)
    return total


def add_entries(ledger: Ledger, entries: Iterable[LedgerEntry]) -> Ledger:
    """Add entries; one for the same shoot is replaced."""
    return replace(ledger, entries={**ledger.entries, **{entry.uid: entry for entry in entries}})


def release(ledger: Ledger, uid: str, version: str) -> Ledger:
    """Remove an entry whose write failed; one that another replica renewed is kept."""
    entry = ledger.entries.get(uid)
    if entry is None or entry.version != version:
        return ledger
    return replace(
        ledger, entries={key: each for key, each in ledger.entries.items() if key != uid}
    )


def overdue(ledger: Ledger, now: datetime) -> list[LedgerEntry]:
    """Return the entries that should have had an effect by now."""
    return [entry for entry in ledger.entries.values() if now - entry.at >= OVERDUE_AFTER]


def classify_entry(entry: LedgerEntry, seed: str, live: Shoot | None) -> EntryAction:
    """Return what to do with an overdue entry, given its shoot as read from the API server.

    `touch` means to write the shoot first, so that the late write of the entry's owner fails.
    """
    if live is None or live.uid != entry.uid:
        return "drop"
    if seed in usage.seeds_of(live):
        return "keep"
    return "touch" if live.resource_version == entry.version else "drop"


def _supersedes(shoot: Shoot, entry: LedgerEntry) -> bool:
    return ordinal(shoot.resource_version) > ordinal(entry.version)


def _read_entry(uid: str, text: str) -> LedgerEntry | None:
    try:
        written = msgspec.json.decode(text, type=_Written)
        namespace, _, name = written.shoot.partition("/")
        return LedgerEntry(
            uid=uid,
            shoot=ObjectKey(namespace, name),
            version=written.resource_version,
            at=timestamps.parse_time(written.at),
            amounts={key: quantity.parse(value) for key, value in written.amounts.items()},
        )
    except (msgspec.MsgspecError, ValueError):
        return None


def _write_entry(entry: LedgerEntry) -> str:
    written = _Written(
        shoot=str(entry.shoot),
        resource_version=entry.version,
        at=timestamps.format_time(entry.at),
        amounts={key: quantity.format_canonical(value) for key, value in entry.amounts.items()},
    )
    return msgspec.json.encode(written).decode()
