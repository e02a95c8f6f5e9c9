"""A seed's ledger: the shoots that are on their way to it, for all replicas to count.

Caches lag, so two replicas could each see the same last slot. Whoever places a shoot therefore
first writes it into the seed's ledger, a ConfigMap, by compare-and-swap, and only then into the
shoot. What counts is the ledger and the cache together: an entry leaves the ledger only when a
cache has shown the placed shoot, and then `seenThrough` tells every other replica up to which
version it must have read to know that shoot, too.

An entry names the version of the shoot that its writer will insist on. Once the shoot has another
version that write must fail, however late it comes, and the entry may go.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Context, Decimal
from typing import Final, Literal, TypeAlias

import msgspec

from webhook.api import names, quantity, timestamps
from webhook.api.core import ConfigMap
from webhook.api.meta import Draft, Model, ObjectKey
from webhook.api.shoots import Shoot
from webhook.api.versions import ordinal
from webhook.domain import usage

SEEN_THROUGH: Final = "seenThrough"
PATIENCE: Final = timedelta(seconds=30)
"""After this long an entry without effect is looked into; that it is late proves nothing yet."""

Find: TypeAlias = Callable[[ObjectKey], Shoot | None]
Amounts: TypeAlias = Mapping[str, Decimal]
Fate: TypeAlias = Literal["keep", "touch", "drop"]

_PREFIX: Final = "espalier-ledger-"
_EXACT: Final = Context(prec=64)


class _Written(Model):
    """An entry as it stands in the ConfigMap."""

    shoot: str = ""
    resource_version: str = ""
    at: str = ""
    amounts: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Entry:
    """A shoot on its way to a seed."""

    uid: str
    shoot: ObjectKey
    version: str
    at: datetime
    amounts: Amounts


@dataclass(frozen=True, slots=True)
class Ledger:
    """What one seed's ledger says."""

    seed: str
    entries: Mapping[str, Entry] = field(default_factory=dict)
    seen_through: str = ""
    version: str = ""
    """The version of the ConfigMap; empty if there is none yet."""


def name_of(seed: str) -> str:
    """Name the ConfigMap that holds a seed's ledger."""
    return _PREFIX + seed


def read(config_map: ConfigMap) -> Ledger:
    """Read a ledger; what cannot be read was not written by us and is left out."""
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
    """Write a ledger as a ConfigMap; an existing one is replaced only at the version read."""
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


def settle(ledger: Ledger, find: Find) -> Ledger:
    """Strike out the entries that the cache has overtaken.

    It has when it shows the shoot at a later version than the entry names: the placement is seen
    then, or can no longer happen. An assumed placement has that very version and does not count.
    """
    kept = dict(ledger.entries)
    seen = ledger.seen_through
    for uid, entry in ledger.entries.items():
        shoot = find(entry.shoot)
        if shoot is None or not _overtakes(shoot, entry):
            continue
        del kept[uid]
        is_placed = shoot.uid == uid and ledger.seed in usage.seeds(shoot)
        if is_placed and ordinal(shoot.resource_version) > ordinal(seen):
            seen = shoot.resource_version
    return replace(ledger, entries=kept, seen_through=seen)


def outstanding(ledger: Ledger, find: Find, leave_out: Iterable[str] = ()) -> Amounts:
    """Sum up what the entries use that the cache does not count on the seed yet."""
    left_out = frozenset(leave_out)
    total: dict[str, Decimal] = {}
    for uid, entry in ledger.entries.items():
        shoot = find(entry.shoot)
        counted = shoot is not None and shoot.uid == uid and ledger.seed in usage.seeds(shoot)
        if not counted and uid not in left_out:
            total = add(total, entry.amounts)
    return total


def add(some: Amounts, more: Amounts) -> dict[str, Decimal]:
    """Add amounts by resource, exactly."""
    total = dict(some)
    for resource, amount in more.items():
        total[resource] = _EXACT.add(total.get(resource, Decimal(0)), amount)
    return total


def subtract(some: Amounts, less: Amounts) -> dict[str, Decimal]:
    """Take amounts away by resource, exactly."""
    total = dict(some)
    for resource, amount in less.items():
        total[resource] = _EXACT.subtract(total.get(resource, Decimal(0)), amount)
    return total


def enter(ledger: Ledger, entries: Iterable[Entry]) -> Ledger:
    """Add entries; one for the same shoot is replaced."""
    return replace(ledger, entries={**ledger.entries, **{entry.uid: entry for entry in entries}})


def release(ledger: Ledger, uid: str, version: str) -> Ledger:
    """Take an entry out whose write failed; one that somebody else renewed is left alone."""
    entry = ledger.entries.get(uid)
    if entry is None or entry.version != version:
        return ledger
    return replace(ledger, entries={key: one for key, one in ledger.entries.items() if key != uid})


def overdue(ledger: Ledger, now: datetime) -> list[Entry]:
    """List the entries that should have had an effect by now."""
    return [entry for entry in ledger.entries.values() if now - entry.at >= PATIENCE]


def judge(entry: Entry, seed: str, live: Shoot | None) -> Fate:
    """Say what becomes of an overdue entry, given its shoot as the API server has it now.

    `touch` asks for any write to the shoot first, so that the one that the entry announces fails.
    """
    if live is None or live.uid != entry.uid:
        return "drop"
    if seed in usage.seeds(live):
        return "keep"
    return "touch" if live.resource_version == entry.version else "drop"


def _overtakes(shoot: Shoot, entry: Entry) -> bool:
    return ordinal(shoot.resource_version) > ordinal(entry.version)


def _read_entry(uid: str, text: str) -> Entry | None:
    try:
        written = msgspec.json.decode(text, type=_Written)
        namespace, _, name = written.shoot.partition("/")
        return Entry(
            uid=uid,
            shoot=ObjectKey(namespace, name),
            version=written.resource_version,
            at=timestamps.parse_time(written.at),
            amounts={key: quantity.parse(value) for key, value in written.amounts.items()},
        )
    except (msgspec.MsgspecError, ValueError):
        return None


def _write_entry(entry: Entry) -> str:
    written = _Written(
        shoot=str(entry.shoot),
        resource_version=entry.version,
        at=timestamps.format_time(entry.at),
        amounts={key: quantity.format_canonical(value) for key, value in entry.amounts.items()},
    )
    return msgspec.json.encode(written).decode()
