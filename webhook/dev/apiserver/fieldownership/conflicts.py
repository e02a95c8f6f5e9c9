"""Conflicts of server-side apply with other field managers, and their 409."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from webhook.dev.apiserver.fieldownership import fieldsets
from webhook.dev.apiserver.fieldownership.fieldsets import FieldSet
from webhook.dev.apiserver.fieldownership.managers import UPDATE, Manager
from webhook.kube import gotext, status


class Conflict(NamedTuple):
    """A field that another manager owns."""

    manager: Manager
    path: tuple[str, ...]


class ConflictError(Exception):
    """An apply without force that changes fields of other managers."""

    def __init__(self, conflicts: Iterable[Conflict]) -> None:
        self.conflicts = sorted(conflicts, key=lambda conflict: str(conflict.manager))
        super().__init__(message(self.conflicts))

    def status(self) -> status.StatusError:
        """Return the Status, with one cause for each field."""
        causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {_format_manager(conflict.manager)}",
                "field": fieldsets.format_path(conflict.path),
            }
            for conflict in self.conflicts
        ]
        return status.apply_conflict(str(self), causes)


def from_managers(fields_by_manager: Mapping[Manager, FieldSet]) -> list[Conflict]:
    """Return a conflict for each field of each manager."""
    return [
        Conflict(manager, path)
        for manager, fields in fields_by_manager.items()
        for path in fieldsets.paths(fields)
    ]


def message(conflicts: list[Conflict]) -> str:
    """Return the message: one conflict in a line, several as a list by manager."""
    if len(conflicts) == 1:
        conflict = conflicts[0]
        return (
            f"Apply failed with 1 conflict: conflict with {_format_manager(conflict.manager)}: "
            f"{fieldsets.format_path(conflict.path)}"
        )
    lines = []
    for manager in dict.fromkeys(conflict.manager for conflict in conflicts):
        lines.append(f"conflicts with {_format_manager(manager)}:")
        lines += [
            f"- {fieldsets.format_path(path)}" for owner, path in conflicts if owner == manager
        ]
    return f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines)


def _format_manager(manager: Manager) -> str:
    text = gotext.quote(manager.name)
    if manager.subresource:
        text = f"{text} with subresource {gotext.quote(manager.subresource)}"
    return f"{text} using {manager.api_version}" if manager.operation == UPDATE else text
