"""What Espalier wrote on an object, by the object's own records, and how to take it off."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from webhook.api import names
from webhook.api.meta import Draft, Raw

_OUR_FINALIZERS: Final = frozenset({names.FINALIZER, names.SCHEDULED_SCALING_FINALIZER})
_MAPS: Final = ("labels", "annotations")
_ORDERS: Final = frozenset({names.TRIGGER_DELETION})
"""Left to those who carry them out: without it the wrong machine would be deleted."""


class Traces(NamedTuple):
    """What is to be taken off an object, and what of our names stays because others wrote it."""

    labels: tuple[str, ...]
    annotations: tuple[str, ...]
    finalizers: tuple[str, ...]
    kept: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.labels or self.annotations or self.finalizers)


def traces(raw: Raw, notes: frozenset[str] = frozenset()) -> Traces:
    """Find our labels, annotations and finalizers on an object.

    Who wrote what is read from managedFields: names of ours that a user set (the twins of fields
    that Gardener lacks) are the user's. Our finalizers go whoever is recorded, because nobody
    else would ever remove them, and so do the annotations that are named as our notes.
    """
    metadata = raw.get("metadata") or {}
    owned = {field: set(_owned(metadata, field)) - _ORDERS for field in (*_MAPS, "finalizers")}
    owned["annotations"] |= notes
    finalizers = tuple(
        name
        for name in metadata.get("finalizers") or ()
        if name in _OUR_FINALIZERS or name in owned["finalizers"]
    )
    found = {
        field: tuple(key for key in metadata.get(field) or () if key in owned[field])
        for field in _MAPS
    }
    kept = tuple(
        key
        for field in _MAPS
        for key in metadata.get(field) or ()
        if key.startswith(names.PREFIX) and key not in owned[field]
    )
    return Traces(found["labels"], found["annotations"], finalizers, kept)


def removal(raw: Raw, found: Traces) -> Draft:
    """Build the merge patch that takes the traces off, refused if the object has changed."""
    metadata: Draft = {"resourceVersion": raw["metadata"].get("resourceVersion")}
    for field in _MAPS:
        if keys := getattr(found, field):
            metadata[field] = dict.fromkeys(keys)
    if found.finalizers:
        present: Iterable[str] = raw["metadata"].get("finalizers") or ()
        metadata["finalizers"] = [name for name in present if name not in found.finalizers]
    return {"metadata": metadata}


def _owned(metadata: Raw, field: str) -> Iterator[str]:
    for entry in metadata.get("managedFields") or ():
        if str(entry.get("manager", "")).startswith(names.FIELD_MANAGER):
            recorded: Any = entry.get("fieldsV1") or {}
            for step in ("f:metadata", f"f:{field}"):
                recorded = recorded.get(step) or {}
            yield from map(_name_of, recorded)


def _name_of(recorded: str) -> str:
    """Read a key (`f:name`) or an entry of a set (`v:"name"`)."""
    return recorded[2:].strip('"')


def waiting_for_us(shoots: Iterable[Raw]) -> Iterator[str]:
    """List shoots that only Espalier would place, and that have no seed yet."""
    for shoot in shoots:
        spec = shoot.get("spec") or {}
        is_ours = spec.get("schedulerName") == names.SCHEDULER_NAME
        if is_ours and not spec.get("seedName") and not _is_self_hosted(spec):
            yield f"{shoot['metadata'].get('namespace')}/{shoot['metadata']['name']}"


def _is_self_hosted(spec: Raw) -> bool:
    workers = (spec.get("provider") or {}).get("workers") or ()
    return any(worker.get("controlPlane") is not None for worker in workers)
