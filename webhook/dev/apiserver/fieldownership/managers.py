"""Field managers, and their entries in metadata.managedFields."""

import json
from dataclasses import dataclass, field, replace
from typing import Any, Final

from typing_extensions import override

from webhook.dev.apiserver.fieldownership import fieldsets
from webhook.dev.apiserver.fieldownership.fieldsets import FieldSet
from webhook.kube import gotext
from webhook.kube.meta import Draft

APPLY: Final = "Apply"
UPDATE: Final = "Update"
MAX_UPDATERS: Final = 10
_ANCIENT_CHANGES: Final = "ancient-changes"


class BadEntriesError(ValueError):
    """Entries that are not valid managedFields."""


@dataclass(frozen=True, slots=True)
class Manager:
    """A field manager: its name, its operation and the subresource that it writes."""

    name: str
    operation: str
    subresource: str = ""
    api_version: str = ""
    """Empty for Apply, since an applier is the same manager in every version."""

    @override
    def __str__(self) -> str:
        return json.dumps(
            [self.name, self.operation, self.api_version, self.subresource], separators=(",", ":")
        )


@dataclass(frozen=True, slots=True)
class VersionedSet:
    """The fields of one manager, the version that they refer to and the time of its last write."""

    fields: FieldSet
    api_version: str
    time: str | None = None

    def with_fields(self, fields: FieldSet) -> "VersionedSet":
        return replace(self, fields=fields)


@dataclass(slots=True)
class ManagedFields:
    """The fields of all managers of an object."""

    managers: dict[Manager, VersionedSet] = field(default_factory=dict)

    def set(self, manager: Manager, owned: VersionedSet) -> None:
        """Set the fields of a manager; remove a manager without fields."""
        if owned.fields:
            self.managers[manager] = owned
        else:
            self.managers.pop(manager, None)

    def cap_updaters(self) -> None:
        """Merge the oldest updaters of each version into one to bound their number."""
        updaters = [manager for manager in self.managers if manager.operation == UPDATE]
        excess = len(updaters) - MAX_UPDATERS
        updaters.sort(key=lambda manager: (self.managers[manager].time or "", str(manager)))
        earliest_by_version: dict[str, Manager] = {}
        for manager in updaters:
            if excess <= 0:
                return
            owned = self.managers[manager]
            merged = Manager(_ANCIENT_CHANGES, UPDATE, api_version=owned.api_version)
            earliest = earliest_by_version.setdefault(owned.api_version, manager)
            if earliest is manager:
                continue
            if merged not in self.managers:
                self.managers[merged] = self.managers.pop(earliest)
            fields = fieldsets.union(owned.fields, self.managers[merged].fields)
            self.managers[merged] = owned.with_fields(fields)
            if manager != merged:
                del self.managers[manager]
            excess -= 1


def decode(entries: Any) -> ManagedFields:
    """Decode the entries of metadata.managedFields."""
    managed = ManagedFields()
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
        managed.managers[manager] = VersionedSet(
            entry.get("fieldsV1") or {}, version, entry.get("time")
        )
    return managed


def encode(managed: ManagedFields) -> list[Draft]:
    """Encode entries, appliers before updaters and older before newer."""
    rows = sorted(
        managed.managers.items(),
        key=lambda row: (
            row[0].operation,
            row[1].time or "",
            row[0].name,
            row[1].api_version,
            row[0].subresource,
        ),
    )
    return [_entry(manager, owned) for manager, owned in rows]


def _entry(manager: Manager, owned: VersionedSet) -> Draft:
    entry = {
        "manager": manager.name,
        "operation": manager.operation,
        "apiVersion": owned.api_version,
        "time": owned.time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fieldsets.sort(owned.fields),
        "subresource": manager.subresource,
    }
    return {key: value for key, value in entry.items() if value not in (None, "")}


def is_reset(entries: Any) -> bool:
    """Whether a client resets managedFields: with an empty list or one empty entry."""
    return isinstance(entries, list) and entries in ([], [{}])


def without_entries(obj: Draft) -> Draft:
    """Return an object without its managedFields."""
    metadata = obj.get("metadata")
    if not metadata or "managedFields" not in metadata:
        return obj
    rest = {key: value for key, value in metadata.items() if key != "managedFields"}
    return {**obj, "metadata": rest}
