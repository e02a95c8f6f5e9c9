"""The entries of metadata.managedFields, read and written."""

import json
from dataclasses import dataclass, field, replace
from typing import Any, Final

from typing_extensions import override

from webhook.api import gotext
from webhook.apiserver.fieldownership import sets
from webhook.apiserver.fieldownership.sets import FieldSet

APPLY: Final = "Apply"
UPDATE: Final = "Update"
MAX_UPDATERS: Final = 10
_ANCIENT: Final = "ancient-changes"


class BadEntriesError(ValueError):
    """Entries that no API server would have written."""


@dataclass(frozen=True, slots=True)
class Manager:
    """Who owns fields: a name, how it writes, and through which part of the object."""

    name: str
    operation: str
    subresource: str = ""
    api_version: str = ""
    """Empty for appliers: an applier stays the same when it moves on to another version."""

    @override
    def __str__(self) -> str:
        return json.dumps(
            [self.name, self.operation, self.api_version, self.subresource], separators=(",", ":")
        )


@dataclass(frozen=True, slots=True)
class Owned:
    """What one manager owns, in the terms of which version, since when."""

    fields: FieldSet
    api_version: str
    time: str | None = None

    def keeping(self, fields: FieldSet) -> "Owned":
        return replace(self, fields=fields)


@dataclass(slots=True)
class Managed:
    """All managers of an object."""

    owners: dict[Manager, Owned] = field(default_factory=dict)

    def set(self, manager: Manager, owned: Owned) -> None:
        """Give a manager its fields; without any it is none."""
        if owned.fields:
            self.owners[manager] = owned
        else:
            self.owners.pop(manager, None)

    def cap_updaters(self) -> None:
        """Merge the oldest updaters of each version into one, so that their number is bounded."""
        updaters = [manager for manager in self.owners if manager.operation == UPDATE]
        excess = len(updaters) - MAX_UPDATERS
        updaters.sort(key=lambda manager: (self.owners[manager].time or "", str(manager)))
        first: dict[str, Manager] = {}
        for manager in updaters:
            if excess <= 0:
                return
            owned = self.owners[manager]
            bucket = Manager(_ANCIENT, UPDATE, api_version=owned.api_version)
            earliest = first.setdefault(owned.api_version, manager)
            if earliest is manager:
                continue
            if bucket not in self.owners:
                self.owners[bucket] = self.owners.pop(earliest)
            fields = sets.union(owned.fields, self.owners[bucket].fields)
            self.owners[bucket] = owned.keeping(fields)
            if manager != bucket:
                del self.owners[manager]
            excess -= 1


def decode(entries: Any) -> Managed:
    """Read entries from the wire."""
    managed = Managed()
    for index, entry in enumerate(entries or ()):
        operation = entry.get("operation")
        if operation not in (APPLY, UPDATE):
            raise BadEntriesError("operation must be `Apply` or `Update`")
        if not entry.get("apiVersion"):
            raise BadEntriesError("apiVersion must not be empty")
        fields_type = entry.get("fieldsType", "")
        if fields_type != "FieldsV1":
            raise BadEntriesError(
                f"invalid fieldsType {gotext.quote(fields_type)} in managed fields entry {index}"
                if fields_type
                else f"missing fieldsType in managed fields entry {index}"
            )
        version = entry["apiVersion"]
        manager = Manager(
            entry.get("manager", ""),
            operation,
            entry.get("subresource", ""),
            version if operation == UPDATE else "",
        )
        managed.owners[manager] = Owned(entry.get("fieldsV1") or {}, version, entry.get("time"))
    return managed


def encode(managed: Managed) -> list[dict[str, Any]]:
    """Write entries for the wire, appliers before updaters, older before newer."""
    rows = sorted(
        managed.owners.items(),
        key=lambda row: (
            row[0].operation,
            row[1].time or "",
            row[0].name,
            row[1].api_version,
            row[0].subresource,
        ),
    )
    return [_entry(manager, owned) for manager, owned in rows]


def _entry(manager: Manager, owned: Owned) -> dict[str, Any]:
    entry = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": owned.api_version,
        "time": owned.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": sets.ordered(owned.fields),
        "subresource": manager.subresource,
    }
    return {key: value for key, value in entry.items() if value not in (None, "")}


def is_reset(entries: Any) -> bool:
    """Whether a client asks to forget all managers: an empty list, or one empty entry."""
    return isinstance(entries, list) and entries in ([], [{}])
