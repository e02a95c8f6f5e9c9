"""The record of raised values: an annotation of the object itself, written in the same patch.

With it, the values can be restored from the object alone, whoever copied or restored the object.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from webhook.api import names
from webhook.domain.scaling.floors import Floors, RaisedValue, Value, apply_floor
from webhook.kube.meta import Draft, Raw
from webhook.kube.quantity import QuantityError

ANNOTATION: Final = names.SCALING_NOTE


@dataclass(slots=True)
class RaisedValues:
    """The raised values of one object by field, their Tortoise, and the list entries we added."""

    tortoise: str
    values: dict[str, RaisedValue] = field(default_factory=dict)
    made: list[str] = field(default_factory=list)


def read(raw: Raw | None) -> RaisedValues | None:
    """Return the raised values of an object; None without a valid annotation."""
    annotations = _mapping(_mapping(raw).get("metadata")).get("annotations")
    return parse(_mapping(annotations).get(ANNOTATION))


def parse(text: Any) -> RaisedValues | None:
    """Decode the annotation; None if it is malformed."""
    if not isinstance(text, str):
        return None
    try:
        return msgspec.json.decode(text, type=RaisedValues)
    except msgspec.MsgspecError:
        return None


def write(draft: Draft, raised: RaisedValues | None) -> None:
    """Set the annotation of an object, or remove it if no value is raised."""
    metadata = draft.setdefault("metadata", {})
    annotations: dict[str, str] = metadata.get("annotations") or {}
    if raised is not None and raised.values:
        text = msgspec.json.encode(raised).decode()
        metadata["annotations"] = {**annotations, ANNOTATION: text}
    elif ANNOTATION in annotations:
        kept = {key: value for key, value in annotations.items() if key != ANNOTATION}
        if kept:
            metadata["annotations"] = kept
        else:
            del metadata["annotations"]


def read_or_previous(raw: Raw, old: Raw | None) -> RaisedValues | None:
    """Return the raised values of an object or, if a client dropped them, those of before."""
    return read(raw) or read(old)


def apply_floor_to_autoscaler(
    draft: Draft, old: Raw | None, tortoise: str, floor: int | None
) -> None:
    """Raise both bounds of a HorizontalPodAutoscaler to the floor, or restore them."""
    raised = read_or_previous(draft, old) or RaisedValues(tortoise)
    spec: Draft = draft.setdefault("spec", {})
    for name in ("minReplicas", "maxReplicas"):
        _apply_to_field(spec, name, name, raised, floor)
    write(draft, raised)


def apply_floors_to_tortoise(draft: Draft, old: Raw | None, floors: Floors) -> None:
    """Raise the resource policy of a Tortoise to the floors, or restore it."""
    raised = read_or_previous(draft, old) or RaisedValues(
        _mapping(draft.get("metadata")).get("name", "")
    )
    spec: Draft = draft.setdefault("spec", {})
    entries: list[Draft] = list(spec.get("resourcePolicy") or [])
    containers = {*floors.resources, *(key.split("/", 1)[0] for key in raised.values)}
    for container in sorted(containers):
        entry = _entry(entries, container, raised)
        _apply_to_entry(entry, container, raised, floors.resources.get(container, {}))
    entries = [entry for entry in entries if not _is_obsolete(entry, raised)]
    raised.made = [
        name for name in raised.made if any(e.get("containerName") == name for e in entries)
    ]
    if entries or spec.get("resourcePolicy"):
        spec["resourcePolicy"] = entries
    if not entries:
        spec.pop("resourcePolicy", None)
    write(draft, raised)


def _entry(entries: list[Draft], container: str, raised: RaisedValues) -> Draft:
    for entry in entries:
        if entry.get("containerName") == container:
            return entry
    entry = {"containerName": container}
    entries.append(entry)
    if container not in raised.made:
        raised.made.append(container)
    return entry


def _apply_to_entry(entry: Draft, container: str, raised: RaisedValues, floors: Raw) -> None:
    for bound in ("minAllocatedResources", "maxAllocatedResources"):
        amounts: Draft = dict(entry.get(bound) or {})
        resources = {*floors, *_raised_keys(raised, f"{container}/{bound}/")}
        for resource in sorted(resources):
            key = f"{container}/{bound}/{resource}"
            floor = floors.get(resource)
            if bound == "maxAllocatedResources" and resource not in amounts:
                floor = None  # without an upper bound there is nothing to raise
            _apply_to_field(amounts, resource, key, raised, floor)
        if amounts:
            entry[bound] = amounts
        elif entry.get(bound):
            del entry[bound]


def _raised_keys(raised: RaisedValues, prefix: str) -> Iterable[str]:
    return [key.removeprefix(prefix) for key in raised.values if key.startswith(prefix)]


def _is_obsolete(entry: Draft, raised: RaisedValues) -> bool:
    """Return whether an entry was added by us and is empty now."""
    is_empty = not any(value for key, value in entry.items() if key != "containerName")
    return is_empty and entry.get("containerName") in raised.made


def _apply_to_field(
    parent: Draft, name: str, key: str, raised: RaisedValues, floor: Value | None
) -> None:
    try:
        value, record = apply_floor(parent.get(name), raised.values.get(key), floor)
    except QuantityError:
        value, record = parent.get(name), None  # validation reports a malformed value
    if value is None:
        parent.pop(name, None)
    else:
        parent[name] = value
    if record is None:
        raised.values.pop(key, None)
    else:
        raised.values[key] = record


def _mapping(value: Any) -> Raw:
    return value if isinstance(value, dict) else {}
