"""Who wrote which part of an object, as the API server keeps it in managedFields.

The local provider writes as a field manager of its own, so that whatever anybody else wrote is
told apart from what it played, even where the two look alike.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from webhook.api.meta import Raw

MANAGER: Final = "local-provider"


class Authors:
    """The writers of one object, read from its managedFields.

    Where there are none (an object that nobody sent through an API server) nothing is anybody's.
    """

    def __init__(self, raw: Raw) -> None:
        entries = (raw.get("metadata") or {}).get("managedFields") or ()
        self._others = [
            entry.get("fieldsV1") or {} for entry in entries if entry.get("manager") != MANAGER
        ]

    def may_write(self, *path: str) -> bool:
        """Tell whether nobody else wrote a field, or any part of it."""
        return not any(_holds(fields, path) for fields in self._others)

    def may_set(self, condition_type: str) -> bool:
        """Tell whether nobody else wrote the condition of that type.

        A list that has one owner as a whole says nothing of its items.
        """
        return not any(condition_type in _types(fields) for fields in self._others)


def _holds(fields: Any, path: tuple[str, ...]) -> bool:
    for step in path:
        if f"f:{step}" not in fields:
            return False
        fields = fields[f"f:{step}"]
        if not fields:
            # Owned as a whole, with all that is below.
            return True
    return True


def _types(fields: Any) -> Iterator[str]:
    items = (fields.get("f:status") or {}).get("f:conditions") or {}
    for element in items:
        if element.startswith("k:"):
            yield json.loads(element.removeprefix("k:")).get("type", "")
