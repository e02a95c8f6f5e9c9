"""Notes of raised values: an annotation in the object itself, written in the same patch.

What is owed can so be read from the object alone, whoever copied, restored or adopted it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from webhook.api import names
from webhook.api.meta import Draft, Raw
from webhook.api.quantity import QuantityError
from webhook.domain.floors import Floors, Note, Value, settle

ANNOTATION: Final = names.SCALING_NOTE


@dataclass(slots=True)
class Notes:
    """What was raised in one object, by field, on whose behalf, and which entries were made."""

    tortoise: str
    values: dict[str, Note] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)


def read(raw: Raw | None) -> Notes | None:
    """Read an object's notes; a text that is none of ours counts as no note."""
    annotations = _mapping(_mapping(raw).get("metadata")).get("annotations")
    return parse(_mapping(annotations).get(ANNOTATION))


def parse(text: Any) -> Notes | None:
    """Read notes as they are written into the annotation."""
    if not isinstance(text, str):
        return None
    try:
        return msgspec.json.decode(text, type=Notes)
    except msgspec.MsgspecError:
        return None


def write(draft: Draft, notes: Notes | None) -> None:
    """Put notes into an object, or take them away once nothing is owed."""
    metadata = draft.setdefault("metadata", {})
    annotations: dict[str, str] = metadata.get("annotations") or {}
    if notes is not None and notes.values:
        text = msgspec.json.encode(notes).decode()
        metadata["annotations"] = {**annotations, ANNOTATION: text}
    elif ANNOTATION in annotations:
        kept = {key: value for key, value in annotations.items() if key != ANNOTATION}
        if kept:
            metadata["annotations"] = kept
        else:
            del metadata["annotations"]


def carried(raw: Raw, old: Raw | None) -> Notes | None:
    """Read an object's notes, or those it had before: a client that replaces it drops them."""
    return read(raw) or read(old)


def settle_autoscaler(draft: Draft, old: Raw | None, tortoise: str, floor: int | None) -> None:
    """Hold both bounds of a HorizontalPodAutoscaler at the floor, or give back what is owed."""
    notes = carried(draft, old) or Notes(tortoise)
    spec: Draft = draft.setdefault("spec", {})
    for name in ("minReplicas", "maxReplicas"):
        _settle_field(spec, name, name, notes, floor)
    write(draft, notes)


def settle_tortoise(draft: Draft, old: Raw | None, floors: Floors) -> None:
    """Hold a Tortoise's resource policy at the floors, or give back what is owed."""
    notes = carried(draft, old) or Notes(_mapping(draft.get("metadata")).get("name", ""))
    spec: Draft = draft.setdefault("spec", {})
    entries: list[Draft] = list(spec.get("resourcePolicy") or [])
    containers = {*floors.resources, *(key.split("/", 1)[0] for key in notes.values)}
    for container in sorted(containers):
        entry = _entry(entries, container, notes)
        _settle_entry(entry, container, notes, floors.resources.get(container, {}))
    entries = [entry for entry in entries if not _is_spent(entry, notes)]
    notes.made = [
        name for name in notes.made if any(e.get("containerName") == name for e in entries)
    ]
    if entries or spec.get("resourcePolicy"):
        spec["resourcePolicy"] = entries
    if not entries:
        spec.pop("resourcePolicy", None)
    write(draft, notes)


def _entry(entries: list[Draft], container: str, notes: Notes) -> Draft:
    for entry in entries:
        if entry.get("containerName") == container:
            return entry
    entry = {"containerName": container}
    entries.append(entry)
    if container not in notes.made:
        notes.made.append(container)
    return entry


def _settle_entry(entry: Draft, container: str, notes: Notes, floors: Raw) -> None:
    for bound in ("minAllocatedResources", "maxAllocatedResources"):
        amounts: Draft = dict(entry.get(bound) or {})
        resources = {*floors, *_noted(notes, f"{container}/{bound}/")}
        for resource in sorted(resources):
            note = f"{container}/{bound}/{resource}"
            floor = floors.get(resource)
            if bound == "maxAllocatedResources" and resource not in amounts:
                floor = None  # no upper bound is no obstacle
            _settle_field(amounts, resource, note, notes, floor)
        if amounts:
            entry[bound] = amounts
        elif entry.get(bound):
            del entry[bound]


def _noted(notes: Notes, prefix: str) -> Iterable[str]:
    return [key.removeprefix(prefix) for key in notes.values if key.startswith(prefix)]


def _is_spent(entry: Draft, notes: Notes) -> bool:
    """Tell an entry that we made and that holds nothing any more."""
    holds = any(value for key, value in entry.items() if key != "containerName")
    return not holds and entry.get("containerName") in notes.made


def _settle_field(holder: Draft, name: str, key: str, notes: Notes, floor: Value | None) -> None:
    try:
        value, note = settle(holder.get(name), notes.values.get(key), floor)
    except QuantityError:
        value, note = holder.get(name), None  # not ours to mend: whoever wrote it will be told
    if value is None:
        holder.pop(name, None)
    else:
        holder[name] = value
    if note is None:
        notes.values.pop(key, None)
    else:
        notes.values[key] = note


def _mapping(value: Any) -> Raw:
    return value if isinstance(value, dict) else {}
