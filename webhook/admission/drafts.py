"""Helpers to edit drafts: set fields that are absent and keep those that are set."""

from typing import Any

from webhook.kube.meta import Draft


def section(draft: Draft, *path: str) -> Draft:
    """Return the object at a path; one that is absent or null is created."""
    for key in path:
        found = draft.get(key)
        if not isinstance(found, dict):
            found = draft[key] = {}
        draft = found
    return draft


def default(draft: Draft, key: str, value: Any) -> None:
    """Set a value where there is none; an empty string counts as none."""
    if draft.get(key) in (None, ""):
        draft[key] = value


def default_absent(draft: Draft, key: str, value: Any) -> None:
    """Set a value where there is none; an empty string stays, for the validators to reject."""
    if draft.get(key) is None:
        draft[key] = value


def default_at(draft: Draft, path: tuple[str, ...], value: Any) -> None:
    """Set a value at a path where there is none."""
    *parents, key = path
    default(section(draft, *parents), key, value)
