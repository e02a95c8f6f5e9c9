"""Labels, annotations and finalizers that Espalier wrote on an object, and their removal."""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from webhook.api import names
from webhook.kube.meta import Draft, Raw

_OUR_FINALIZERS: Final = frozenset({names.FINALIZER, names.SCHEDULED_SCALING_FINALIZER})
_MAPS: Final = ("labels", "annotations")
_INSTRUCTIONS: Final = frozenset({names.TRIGGER_DELETION})
"""Kept: machine-controller-manager needs them to delete the right machines."""


class Marks(NamedTuple):
    """What is removed from an object; `kept` are names of ours that others wrote."""

    labels: tuple[str, ...]
    annotations: tuple[str, ...]
    finalizers: tuple[str, ...]
    kept: tuple[str, ...]

    def __bool__(self) -> bool:
        return bool(self.labels or self.annotations or self.finalizers)


def find_marks(raw: Raw, always_ours: frozenset[str] = frozenset()) -> Marks:
    """Find our labels, annotations and finalizers on an object.

    The managers in managedFields decide: names of ours that a user set (such as annotations that
    stand for fields which Gardener lacks) are the user's. Our finalizers are ours whatever the
    manager, because nobody else would remove them, and so are the annotations in `always_ours`.
    """
    metadata = raw.get("metadata") or {}
    owned = {
        field: set(_owned(metadata, field)) - _INSTRUCTIONS for field in (*_MAPS, "finalizers")
    }
    owned["annotations"] |= always_ours
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
    return Marks(found["labels"], found["annotations"], finalizers, kept)


def removal_patch(raw: Raw, found: Marks) -> Draft:
    """Build the merge patch that removes the marks; it conflicts if the object has changed."""
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
    """Decode a key (`f:name`) or an item of a set (`v:"name"`) of managedFields."""
    return recorded[2:].strip('"')


def pending_shoots(shoots: Iterable[Raw]) -> Iterator[str]:
    """Yield the shoots without a seed that only Espalier would place."""
    for shoot in shoots:
        spec = shoot.get("spec") or {}
        is_ours = spec.get("schedulerName") == names.SCHEDULER_NAME
        if is_ours and not spec.get("seedName") and not _is_self_hosted(spec):
            yield f"{shoot['metadata'].get('namespace')}/{shoot['metadata']['name']}"


def _is_self_hosted(spec: Raw) -> bool:
    workers = (spec.get("provider") or {}).get("workers") or ()
    return any(worker.get("controlPlane") is not None for worker in workers)
