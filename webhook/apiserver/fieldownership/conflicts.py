"""The 409 that server-side apply answers where fields belong to others."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from webhook.api import gotext, status
from webhook.apiserver.fieldownership import sets
from webhook.apiserver.fieldownership.managers import UPDATE, Manager
from webhook.apiserver.fieldownership.sets import FieldSet


class Conflict(NamedTuple):
    """A field that another manager owns."""

    manager: Manager
    path: tuple[str, ...]


class ConflictError(Exception):
    """An apply that would change fields of others without force."""

    def __init__(self, conflicts: Iterable[Conflict]) -> None:
        self.conflicts = sorted(conflicts, key=lambda conflict: str(conflict.manager))
        super().__init__(message(self.conflicts))

    def status(self) -> status.StatusError:
        """Answer with one cause a field."""
        causes = [
            {
                "reason": "FieldManagerConflict",
                "message": f"conflict with {_shown(conflict.manager)}",
                "field": sets.written(conflict.path),
            }
            for conflict in self.conflicts
        ]
        return status.apply_conflict(str(self), causes)


def of(owned: Mapping[Manager, FieldSet]) -> list[Conflict]:
    """List every field of every manager."""
    return [
        Conflict(manager, path) for manager, fields in owned.items() for path in sets.paths(fields)
    ]


def message(found: list[Conflict]) -> str:
    """Word the conflicts: one in a line, several as a list under each manager."""
    if len(found) == 1:
        conflict = found[0]
        return (
            f"Apply failed with 1 conflict: conflict with {_shown(conflict.manager)}: "
            f"{sets.written(conflict.path)}"
        )
    lines = []
    for manager in dict.fromkeys(conflict.manager for conflict in found):
        lines.append(f"conflicts with {_shown(manager)}:")
        lines += [f"- {sets.written(path)}" for owner, path in found if owner == manager]
    return f"Apply failed with {len(found)} conflicts: " + "\n".join(lines)


def _shown(manager: Manager) -> str:
    text = gotext.quote(manager.name)
    if manager.subresource:
        text = f"{text} with subresource {gotext.quote(manager.subresource)}"
    return f"{text} using {manager.api_version}" if manager.operation == UPDATE else text
