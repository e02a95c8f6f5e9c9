"""Fields of other field managers, read from the managedFields of an object.

The local provider writes with a field manager of its own. So it can distinguish its fields from
those of others even if the values are equal, and never overwrites the latter.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from webhook.kube.meta import Raw

FIELD_MANAGER: Final = "local-provider"


class FieldOwners:
    """The fields of one object that others own.

    An object without managedFields (one that never went through an API server) has no owners.
    """

    def __init__(self, raw: Raw) -> None:
        entries = (raw.get("metadata") or {}).get("managedFields") or ()
        self._foreign = [
            entry.get("fieldsV1") or {}
            for entry in entries
            if entry.get("manager") != FIELD_MANAGER
        ]

    def may_write(self, *path: str) -> bool:
        """Return whether no other manager owns a field or a part of it."""
        return not any(_owns(fields, path) for fields in self._foreign)

    def may_set(self, condition_type: str) -> bool:
        """Return whether no other manager owns the condition of that type.

        An owner of the whole list does not count as the owner of its items.
        """
        return not any(condition_type in _condition_types(fields) for fields in self._foreign)


def _owns(fields: Any, path: tuple[str, ...]) -> bool:
    for step in path:
        if f"f:{step}" not in fields:
            return False
        fields = fields[f"f:{step}"]
        if not fields:
            # An empty entry owns the field with everything below it.
            return True
    return True


def _condition_types(fields: Any) -> Iterator[str]:
    items = (fields.get("f:status") or {}).get("f:conditions") or {}
    for element in items:
        if element.startswith("k:"):
            yield json.loads(element.removeprefix("k:")).get("type", "")
