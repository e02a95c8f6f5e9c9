"""What a Tortoise and its autoscaler should look like now, and the writes that get them there."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from webhook.api import names, patches
from webhook.api.core import CustomResourceDefinition, HorizontalPodAutoscaler
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft, Object, ObjectKey, Raw
from webhook.api.scaling import Tortoise
from webhook.domain import constraints, learning, notes, schedules
from webhook.domain.floors import NO_FLOORS, Floors
from webhook.runtime.actions import Patch
from webhook.state.indexes import (
    NOTED_AUTOSCALERS,
    SCALINGS_BY_TORTOISE,
    TORTOISES_BY_AUTOSCALER,
)
from webhook.state.snapshot import Snapshot

_TORTOISE: Final = kind_of_model(Tortoise)
_AUTOSCALER: Final = kind_of_model(HorizontalPodAutoscaler)
_MARKS: Final = (notes.ANNOTATION, names.SCALING_AFTERMATH, names.SCALING_FLOORS)


class Effect(NamedTuple):
    """The floors that are asked for on a Tortoise now, and what of them can hold."""

    held: Floors
    wanted: Floors


NO_EFFECT: Final = Effect(NO_FLOORS, NO_FLOORS)


def effect_on(tortoise: ObjectKey, snapshot: Snapshot) -> Effect:
    """Sum up the open windows on a Tortoise."""
    scalings = snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise))
    held = schedules.held(scalings, snapshot.taken_at)
    options = snapshot.options.scaling
    if options.effect == "none":
        return Effect(held, NO_FLOORS)
    return Effect(held, schedules.effective(snapshot.get(Tortoise, tortoise), held, options))


def concerns(tortoise: Tortoise, snapshot: Snapshot) -> bool:
    """Tell at a glance whether a Tortoise has schedules, or carries anything of ours.

    Tortoises change many times a minute, and most of them are nobody's target.
    """
    return bool(
        snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise.key))
        or tortoise.spec.recommenders
        or tortoise.status.recommendations.constraints is not None
        or _is_marked(tortoise)
    )


def _is_marked(obj: Object) -> bool:
    return any(mark in obj.metadata.annotations for mark in _MARKS)


def tortoise_of(autoscaler: HorizontalPodAutoscaler, snapshot: Snapshot) -> ObjectKey | None:
    """Find the Tortoise that an autoscaler belongs to, or is noted to have belonged to."""
    owner = _owner_of(autoscaler, snapshot)
    if owner is not None:
        return owner
    found = notes.parse(autoscaler.metadata.annotations.get(notes.ANNOTATION))
    return ObjectKey(autoscaler.namespace, found.tortoise) if found else None


def _owner_of(autoscaler: HorizontalPodAutoscaler, snapshot: Snapshot) -> ObjectKey | None:
    for tortoise in snapshot.by_index(TORTOISES_BY_AUTOSCALER, str(autoscaler.key)):
        return tortoise.key
    return None


def autoscaler_of(tortoise: Tortoise, snapshot: Snapshot) -> HorizontalPodAutoscaler | None:
    """Find the autoscaler that a Tortoise works with."""
    key = ObjectKey(tortoise.namespace, schedules.autoscaler_of(tortoise))
    return snapshot.get(HorizontalPodAutoscaler, key)


def autoscalers_of(tortoise: ObjectKey, snapshot: Snapshot) -> Iterator[HorizontalPodAutoscaler]:
    """Find the autoscaler of a Tortoise, and others that carry notes of it."""
    found = snapshot.get(Tortoise, tortoise)
    own = autoscaler_of(found, snapshot) if found is not None else None
    if own is not None:
        yield own
    for noted in snapshot.by_index(NOTED_AUTOSCALERS, str(tortoise)):
        if own is None or noted.key != own.key:
            yield noted


def is_settled(tortoise: ObjectKey, snapshot: Snapshot) -> bool:
    """Tell whether neither the Tortoise nor an autoscaler of it has to be written."""
    found = snapshot.get(Tortoise, tortoise)
    if found is not None and write_tortoise(found, snapshot) is not None:
        return False
    return autoscalers_are_settled(tortoise, snapshot)


def autoscalers_are_settled(tortoise: ObjectKey, snapshot: Snapshot) -> bool:
    """Tell whether no autoscaler of a Tortoise has to be written."""
    return all(
        write_autoscaler(each, snapshot) is None for each in autoscalers_of(tortoise, snapshot)
    )


def write_autoscaler(autoscaler: HorizontalPodAutoscaler, snapshot: Snapshot) -> Patch | None:
    """Say how an autoscaler has to change; None if it is as it should be.

    Floors are for the autoscaler that its Tortoise names; any other that carries a note of it,
    such as a copy, only gives back what it owes.
    """
    tortoise = tortoise_of(autoscaler, snapshot)
    if tortoise is None:
        return None
    owner = _owner_of(autoscaler, snapshot)
    effect = effect_on(owner, snapshot) if owner is not None else NO_EFFECT
    if effect.wanted.replicas is None and not _is_marked(autoscaler):
        return None
    raw = snapshot.raw(HorizontalPodAutoscaler, autoscaler.key)
    if raw is None:
        return None
    present, draft = _written(raw)
    notes.settle_autoscaler(draft, None, tortoise.name, effect.wanted.replicas)
    return _patch(_AUTOSCALER, autoscaler, present, draft, effect.held)


def write_tortoise(tortoise: Tortoise, snapshot: Snapshot) -> Patch | None:
    """Say how a Tortoise has to change; None if it is as it should be."""
    effect = effect_on(tortoise.key, snapshot)
    if not effect.held and not tortoise.spec.recommenders and not _is_marked(tortoise):
        return None
    raw = snapshot.raw(Tortoise, tortoise.key)
    if raw is None:
        return None
    present, draft = _written(raw)
    notes.settle_tortoise(draft, None, effect.wanted)
    if is_recorded(snapshot) or not effect.held:
        constraints.claim(draft, effect.held)
    if effect.wanted.replicas is not None and learning.read(tortoise) is None:
        # With the first write: a later one may be refused, and what was learned by then stays.
        _mark(draft, effect.wanted.replicas, snapshot)
    return _patch(_TORTOISE, tortoise, present, draft, effect.held)


def write_status(tortoise: Tortoise, snapshot: Snapshot) -> Patch | None:
    """Say how the record in a Tortoise's status has to change."""
    raw = snapshot.raw(Tortoise, tortoise.key)
    effect = effect_on(tortoise.key, snapshot)
    if raw is None or (effect.held and not is_recorded(snapshot)):
        return None
    recommendations = (raw.get("status") or {}).get("recommendations") or {}
    present = {key: recommendations[key] for key in ("constraints",) if key in recommendations}
    wanted = {"constraints": constraints.constraints_of(effect.held)} if effect.held else {}
    change = patches.merge_diff(present, wanted)
    if not change:
        return None
    named: Draft = {"metadata": {"annotations": _meaning(effect.held)}}
    named["status"] = {"recommendations": change}
    # All of it comes from the windows, so no version of the Tortoise has to be insisted on.
    return Patch(_TORTOISE, tortoise.key, named, tortoise.uid, subresource="status")


def _mark(draft: Draft, floor: int, snapshot: Snapshot) -> None:
    if snapshot.options.scaling.unlearn:
        marked = learning.write(learning.mark(None, floor, 0))
        annotations = draft["metadata"].get("annotations") or {}
        draft["metadata"]["annotations"] = {**annotations, names.SCALING_AFTERMATH: marked}


def replicas_of(tortoise: Tortoise, snapshot: Snapshot) -> int:
    """Count the replicas of a Tortoise's workload, as its autoscaler sees them."""
    autoscaler = autoscaler_of(tortoise, snapshot)
    return autoscaler.status.current_replicas if autoscaler is not None else 0


def is_recorded(snapshot: Snapshot) -> bool:
    """Tell whether the served Tortoise has the fields of the record."""
    definition = snapshot.get(CustomResourceDefinition, ObjectKey("", constraints.DEFINITION))
    return constraints.is_stored(definition, _TORTOISE.version)


def _patch(kind: Any, obj: Object, raw: Raw, draft: Draft, held: Floors) -> Patch | None:
    """Write the difference, and name the floors that we mean: our own policies believe us.

    They take that annotation off again; where none was asked, it is taken off with a later write.
    """
    change = patches.merge_diff(raw, draft)
    if change:
        metadata = change.setdefault("metadata", {})
        annotations = metadata.get("annotations", {})
        if annotations is None:  # all of them go, and one comes
            annotations = dict.fromkeys(obj.metadata.annotations)
        metadata["annotations"] = {**annotations, **_meaning(held)}
    elif names.SCALING_FLOORS in obj.metadata.annotations:
        change = {"metadata": {"annotations": {names.SCALING_FLOORS: None}}}
    else:
        return None
    return Patch(kind, obj.key, change, obj.uid, obj.resource_version)


def _meaning(held: Floors) -> Draft:
    return {names.SCALING_FLOORS: msgspec.json.encode(held).decode()}


def _written(raw: Raw) -> tuple[Raw, Draft]:
    """Give the part of an object that is written outside its status, and a copy to edit.

    A Tortoise's status is long, hours by hours of recommendations, and none of it is compared.
    """
    part = {key: raw[key] for key in ("metadata", "spec") if key in raw}
    copied: Draft = msgspec.json.decode(msgspec.json.encode(part))
    return part, copied
