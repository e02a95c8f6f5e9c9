"""The changes between two revisions of a ManagedSeedSet's templates, as text."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import yaml

from webhook.api import names
from webhook.api.core import ControllerRevision

_NONE: Final = "<none>"


def templates(revision: ControllerRevision) -> Any:
    """Return the templates that a revision holds."""
    data = revision.data if isinstance(revision.data, Mapping) else {}
    return data.get("spec") or {}


def unified(old: ControllerRevision | None, new: ControllerRevision) -> str:
    """Return the unified diff of two revisions."""
    before = _lines(templates(old)) if old is not None else []
    name = f"revision {old.revision}" if old is not None else "nothing"
    after = _lines(templates(new))
    return "".join(difflib.unified_diff(before, after, name, f"revision {new.revision}"))


def summary(old: ControllerRevision | None, new: ControllerRevision) -> str:
    """Describe the change in one line: its cause, or each field with its old and new value."""
    cause = new.metadata.annotations.get(names.CHANGE_CAUSE)
    if cause:
        return cause
    if old is None:
        return _NONE
    changes = [*_changes(templates(old), templates(new), ())]
    shown = ", ".join(changes[:3])
    return f"{shown} and {len(changes) - 3} more" if len(changes) > 3 else shown or _NONE


def _changes(old: Any, new: Any, path: Sequence[str]) -> Iterator[str]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}):
            yield from _changes(old.get(key), new.get(key), (*path, key))
    elif old != new:
        yield f"{'.'.join(path)}: {_short(old)} → {_short(new)}"


def _short(value: Any) -> str:
    if value is None:
        return _NONE
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000).strip()
    text = text.removesuffix("...").strip()
    return text if len(text) <= 40 else f"{text[:37]}..."


def _lines(document: Any) -> list[str]:
    return yaml.safe_dump(document, sort_keys=True).splitlines(keepends=True)
