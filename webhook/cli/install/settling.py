"""What scheduled scaling still owes to Tortoises and autoscalers when Espalier leaves."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec

from webhook.api import names, patches
from webhook.api.core import HorizontalPodAutoscaler
from webhook.api.meta import Draft, Object, Raw
from webhook.api.scaling import Tortoise
from webhook.domain import constraints, notes
from webhook.domain.floors import NO_FLOORS

SETTLED: Final[tuple[type[Object], ...]] = (HorizontalPodAutoscaler, Tortoise)
"""Kinds that carry notes, in the order in which they are settled."""

_MARKS: Final = (names.SCALING_NOTE, names.SCALING_FLOORS, names.SCALING_AFTERMATH)


class Change(NamedTuple):
    """A merge patch, refused if the object has changed since it was read."""

    body: Draft
    subresource: str = ""


def owed(model: type[Object], raw: Raw) -> Iterator[Change]:
    """Give back every value that a note tells of, and take the record and the marks away.

    Whoever wrote the object last is recorded as the writer of our notes, which admission added;
    so they go by their name alone.
    """
    draft = _copy(raw)
    if model is HorizontalPodAutoscaler:
        notes.settle_autoscaler(draft, None, "", None)
    else:
        notes.settle_tortoise(draft, None, NO_FLOORS)
        constraints.claim(draft, NO_FLOORS)
    annotations = draft["metadata"].get("annotations")
    for mark in _MARKS if annotations else ():
        annotations.pop(mark, None)
    yield from _change(raw, draft, "")
    if model is Tortoise:
        recorded = _copy(raw)
        constraints.constrain(recorded, NO_FLOORS)
        yield from _change(raw, recorded, "status")


def _change(raw: Raw, draft: Draft, subresource: str) -> Iterator[Change]:
    change = patches.merge_diff(raw, draft)
    if change and not subresource:
        guard = {"resourceVersion": raw["metadata"].get("resourceVersion")}
        change["metadata"] = {**(change.get("metadata") or {}), **guard}
    if change:
        yield Change(change, subresource)


def _copy(raw: Raw) -> Draft:
    copied: Draft = msgspec.json.decode(msgspec.json.encode(raw))
    return copied
