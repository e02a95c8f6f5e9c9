"""The desired state of a Tortoise and its autoscaler, and the patches that lead there."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from webhook.api import names
from webhook.api.core import CustomResourceDefinition, HorizontalPodAutoscaler
from webhook.api.kinds import kind_of_model
from webhook.api.scaling import Tortoise
from webhook.domain.scaling import aftermath, constraints, raised_values, schedules
from webhook.domain.scaling.floors import NO_FLOORS, Floors
from webhook.kube import patches
from webhook.kube.jsontext import deep_copy
from webhook.kube.meta import Draft, Object, ObjectKey, Raw
from webhook.runtime.actions import Patch
from webhook.state.indexes import RAISED_AUTOSCALERS, SCALINGS_BY_TORTOISE, TORTOISES_BY_AUTOSCALER
from webhook.state.snapshot import Snapshot

_TORTOISE: Final = kind_of_model(Tortoise)
_AUTOSCALER: Final = kind_of_model(HorizontalPodAutoscaler)
_ANNOTATIONS: Final = (raised_values.ANNOTATION, names.SCALING_AFTERMATH, names.SCALING_FLOORS)


class Effect(NamedTuple):
    """The floors of the open windows on a Tortoise, and those that we apply ourselves."""

    requested: Floors
    applied: Floors


NO_EFFECT: Final = Effect(NO_FLOORS, NO_FLOORS)


def effect_on(tortoise: ObjectKey, snapshot: Snapshot) -> Effect:
    """Combine the open windows on a Tortoise."""
    scalings = snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise))
    requested = schedules.schedules_of(tortoise, scalings, snapshot.taken_at).floors
    options = snapshot.options.scaling
    if options.effect == "none":
        return Effect(requested, NO_FLOORS)
    return Effect(
        requested, schedules.effective_floors(snapshot.get(Tortoise, tortoise), requested, options)
    )


def is_relevant(tortoise: Tortoise, snapshot: Snapshot) -> bool:
    """Return whether a Tortoise has schedules, or anything that we wrote.

    It must be cheap: Tortoises change many times a minute, and most of them have no schedule.
    """
    return bool(
        snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise.key))
        or tortoise.spec.recommenders
        or tortoise.status.recommendations.constraints is not None
        or _is_annotated(tortoise)
    )


def _is_annotated(obj: Object) -> bool:
    return any(mark in obj.metadata.annotations for mark in _ANNOTATIONS)


def tortoise_of(autoscaler: HorizontalPodAutoscaler, snapshot: Snapshot) -> ObjectKey | None:
    """Return the Tortoise of an autoscaler, or the one that its annotation names."""
    owner = _owner_of(autoscaler, snapshot)
    if owner is not None:
        return owner
    found = raised_values.parse(autoscaler.metadata.annotations.get(raised_values.ANNOTATION))
    return ObjectKey(autoscaler.namespace, found.tortoise) if found else None


def _owner_of(autoscaler: HorizontalPodAutoscaler, snapshot: Snapshot) -> ObjectKey | None:
    for tortoise in snapshot.by_index(TORTOISES_BY_AUTOSCALER, str(autoscaler.key)):
        return tortoise.key
    return None


def autoscaler_of(tortoise: Tortoise, snapshot: Snapshot) -> HorizontalPodAutoscaler | None:
    """Return the autoscaler of a Tortoise."""
    key = ObjectKey(tortoise.namespace, schedules.autoscaler_of(tortoise))
    return snapshot.get(HorizontalPodAutoscaler, key)


def autoscalers_of(tortoise: ObjectKey, snapshot: Snapshot) -> Iterator[HorizontalPodAutoscaler]:
    """Return the autoscaler of a Tortoise, and others with values raised for it."""
    found = snapshot.get(Tortoise, tortoise)
    own = autoscaler_of(found, snapshot) if found is not None else None
    if own is not None:
        yield own
    for raised in snapshot.by_index(RAISED_AUTOSCALERS, str(tortoise)):
        if own is None or raised.key != own.key:
            yield raised


def is_settled(tortoise: ObjectKey, snapshot: Snapshot) -> bool:
    """Return whether neither the Tortoise nor an autoscaler of it has to be patched."""
    found = snapshot.get(Tortoise, tortoise)
    if found is not None and patch_tortoise(found, snapshot) is not None:
        return False
    return autoscalers_are_settled(tortoise, snapshot)


def autoscalers_are_settled(tortoise: ObjectKey, snapshot: Snapshot) -> bool:
    """Return whether no autoscaler of a Tortoise has to be patched."""
    return all(
        patch_autoscaler(each, snapshot) is None for each in autoscalers_of(tortoise, snapshot)
    )


def patch_autoscaler(autoscaler: HorizontalPodAutoscaler, snapshot: Snapshot) -> Patch | None:
    """Return the patch of an autoscaler; None if it is as desired.

    Only the autoscaler that the Tortoise names gets floors. Any other one with values raised for
    it, such as a copy, gets its original values back.
    """
    tortoise = tortoise_of(autoscaler, snapshot)
    if tortoise is None:
        return None
    owner = _owner_of(autoscaler, snapshot)
    effect = effect_on(owner, snapshot) if owner is not None else NO_EFFECT
    if effect.applied.replicas is None and not _is_annotated(autoscaler):
        return None
    raw = snapshot.raw(HorizontalPodAutoscaler, autoscaler.key)
    if raw is None:
        return None
    present, draft = _writable(raw)
    raised_values.apply_floor_to_autoscaler(draft, None, tortoise.name, effect.applied.replicas)
    return _patch(_AUTOSCALER, autoscaler, present, draft, effect.requested)


def patch_tortoise(tortoise: Tortoise, snapshot: Snapshot) -> Patch | None:
    """Return the patch of a Tortoise; None if it is as desired."""
    effect = effect_on(tortoise.key, snapshot)
    if not effect.requested and not tortoise.spec.recommenders and not _is_annotated(tortoise):
        return None
    raw = snapshot.raw(Tortoise, tortoise.key)
    if raw is None:
        return None
    present, draft = _writable(raw)
    raised_values.apply_floors_to_tortoise(draft, None, effect.applied)
    if stores_constraints(snapshot) or not effect.requested:
        constraints.set_recommender(draft, effect.requested)
    if effect.applied.replicas is not None and aftermath.read(tortoise) is None:
        # With the first write: a later one may be refused, and Tortoise would learn from the floor.
        _start_aftermath(draft, effect.applied.replicas, snapshot)
    return _patch(_TORTOISE, tortoise, present, draft, effect.requested)


def patch_status(tortoise: Tortoise, snapshot: Snapshot) -> Patch | None:
    """Return the patch of the constraints in a Tortoise's status; None if they are as desired."""
    raw = snapshot.raw(Tortoise, tortoise.key)
    effect = effect_on(tortoise.key, snapshot)
    if raw is None or (effect.requested and not stores_constraints(snapshot)):
        return None
    recommendations = (raw.get("status") or {}).get("recommendations") or {}
    present = {key: recommendations[key] for key in ("constraints",) if key in recommendations}
    wanted = (
        {"constraints": constraints.constraints_of(effect.requested)} if effect.requested else {}
    )
    change = patches.merge_diff(present, wanted)
    if not change:
        return None
    named: Draft = {"metadata": {"annotations": _floors_annotation(effect.requested)}}
    named["status"] = {"recommendations": change}
    # All of it is computed from windows, so the patch requires no version of the Tortoise.
    return Patch(_TORTOISE, tortoise.key, named, tortoise.uid, subresource="status")


def _start_aftermath(draft: Draft, floor: int, snapshot: Snapshot) -> None:
    if snapshot.options.scaling.unlearn:
        marked = aftermath.write(aftermath.start(None, floor, 0))
        annotations = draft["metadata"].get("annotations") or {}
        draft["metadata"]["annotations"] = {**annotations, names.SCALING_AFTERMATH: marked}


def replicas_of(tortoise: Tortoise, snapshot: Snapshot) -> int:
    """Return the replicas of a Tortoise's workload by the status of its autoscaler."""
    autoscaler = autoscaler_of(tortoise, snapshot)
    return autoscaler.status.current_replicas if autoscaler is not None else 0


def stores_constraints(snapshot: Snapshot) -> bool:
    """Return whether the served Tortoise CRD has the fields of the constraints."""
    definition = snapshot.get(CustomResourceDefinition, ObjectKey("", constraints.CRD_NAME))
    return constraints.is_served(definition, _TORTOISE.version)


def _patch(kind: Any, obj: Object, raw: Raw, draft: Draft, requested: Floors) -> Patch | None:
    """Return a patch of the difference, with the floors in an annotation for our own policies.

    They remove the annotation again; without them a later patch does. No patch is written that
    changes nothing: an API server drops it before anybody sees it.
    """
    change = patches.merge_diff(raw, draft)
    if change:
        metadata = change.setdefault("metadata", {})
        annotations = metadata.get("annotations", {})
        if annotations is None:  # all others are removed
            annotations = dict.fromkeys(obj.metadata.annotations)
        metadata["annotations"] = {**annotations, **_floors_annotation(requested)}
    elif names.SCALING_FLOORS in obj.metadata.annotations:
        change = {"metadata": {"annotations": {names.SCALING_FLOORS: None}}}
    else:
        return None
    return Patch(kind, obj.key, change, obj.uid, obj.resource_version)


def _floors_annotation(requested: Floors) -> Draft:
    return {names.SCALING_FLOORS: msgspec.json.encode(requested).decode()}


def _writable(raw: Raw) -> tuple[Raw, Draft]:
    """Return the part of an object that is written outside its status, and a copy to edit.

    A Tortoise's status is long, and none of it is compared.
    """
    part = {key: raw[key] for key in ("metadata", "spec") if key in raw}
    copied: Draft = deep_copy(part)
    return part, copied
