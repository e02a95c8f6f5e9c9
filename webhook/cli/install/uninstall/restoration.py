"""Patches that restore what Espalier changed: raised values, and seeds drained or hidden."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from webhook.api import names
from webhook.api.core import HorizontalPodAutoscaler
from webhook.api.scaling import Tortoise
from webhook.api.seeds import Seed
from webhook.domain.scaling import constraints, raised_values
from webhook.domain.scaling.floors import NO_FLOORS
from webhook.kube import patches
from webhook.kube.jsontext import deep_copy
from webhook.kube.meta import Draft, Object, Raw

RESTORED: Final[tuple[type[Object], ...]] = (HorizontalPodAutoscaler, Tortoise, Seed)
"""Kinds with changed values, in the order in which they are restored."""

_ANNOTATIONS: Final = (
    *(names.SCALING_NOTE, names.SCALING_FLOORS, names.SCALING_AFTERMATH),
    *(names.SCALE_IN, names.CORDONED_BY),
)


class RestorePatch(NamedTuple):
    """A merge patch of an object or of a subresource."""

    body: Draft
    subresource: str = ""


def restore_patches(model: type[Object], raw: Raw) -> Iterator[RestorePatch]:
    """Yield the patches that restore every changed value and remove our annotations.

    Our annotations are found by name and not by managedFields: admission adds them to the
    writes of others, who are then recorded as their managers.
    """
    draft: Draft = deep_copy(raw)
    if model is HorizontalPodAutoscaler:
        raised_values.apply_floor_to_autoscaler(draft, None, "", None)
    elif model is Seed:
        _release_seed(draft)
    else:
        raised_values.apply_floors_to_tortoise(draft, None, NO_FLOORS)
        constraints.set_recommender(draft, NO_FLOORS)
    annotations = draft["metadata"].get("annotations")
    for name in _ANNOTATIONS if annotations else ():
        annotations.pop(name, None)
    yield from _patch(raw, draft, "")
    if model is Tortoise:
        status: Draft = deep_copy(raw)
        constraints.set_constraints(status, NO_FLOORS)
        yield from _patch(raw, status, "status")


def _release_seed(draft: Draft) -> None:
    """Uncordon a seed, and show it to schedulers if we have hidden it."""
    spec = draft.setdefault("spec", {})
    taints = spec.get("taints") or []
    kept = [taint for taint in taints if taint.get("key") != names.CORDON_TAINT]
    if kept != taints:
        spec["taints"] = kept
    if names.SCALE_IN in (draft["metadata"].get("annotations") or {}):
        spec.setdefault("settings", {}).setdefault("scheduling", {})["visible"] = True


def _patch(raw: Raw, draft: Draft, subresource: str) -> Iterator[RestorePatch]:
    change = patches.merge_diff(raw, draft)
    if change and not subresource:
        guard = {"resourceVersion": raw["metadata"].get("resourceVersion")}
        change["metadata"] = {**(change.get("metadata") or {}), **guard}
    if change:
        yield RestorePatch(change, subresource)
