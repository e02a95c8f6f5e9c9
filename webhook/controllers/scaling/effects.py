"""What a Tortoise and its autoscaler should look like now, and the writes that get them there."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgspec

from webhook.api import names, patches
from webhook.api.core import CustomResourceDefinition, HorizontalPodAutoscaler
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Draft, Object, ObjectKey, Raw
from webhook.api.scaling import Tortoise
from webhook.domain import constraints, notes, schedules
from webhook.domain.floors import NO_FLOORS, Floors
from webhook.domain.windows import next_edge
from webhook.runtime.actions import Patch
from webhook.state.indexes import (
    NOTED_AUTOSCALERS,
    SCALINGS_BY_TORTOISE,
    TORTOISES_BY_AUTOSCALER,
)
from webhook.state.snapshot import Snapshot

_TORTOISE: Final = kind_of_model(Tortoise)
_AUTOSCALER: Final = kind_of_model(HorizontalPodAutoscaler)


class Effect(NamedTuple):
    """The floors that are asked for on a Tortoise now, and what of them can hold."""

    held: Floors
    wanted: Floors


def effect_on(tortoise: ObjectKey, snapshot: Snapshot) -> Effect:
    """Sum up the open windows on a Tortoise."""
    scalings = snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise))
    held = schedules.held(scalings, snapshot.taken_at)
    options = snapshot.options.scaling
    if options.effect == "none":
        return Effect(held, NO_FLOORS)
    return Effect(held, schedules.effective(snapshot.get(Tortoise, tortoise), held, options))


def seconds_to_edge(tortoise: ObjectKey, snapshot: Snapshot) -> float | None:
    """Say how long until a window on a Tortoise opens or closes; None if none ever does."""
    now = snapshot.taken_at
    edges = [
        edge
        for scaling in snapshot.by_index(SCALINGS_BY_TORTOISE, str(tortoise))
        if (schedule := schedules.schedule_of(scaling)) is not None
        and (edge := next_edge(schedule, now)) is not None
    ]
    return (min(edges) - now).total_seconds() if edges else None


def tortoise_of(autoscaler: HorizontalPodAutoscaler, snapshot: Snapshot) -> ObjectKey | None:
    """Find the Tortoise that an autoscaler belongs to, or is noted to have belonged to."""
    for tortoise in snapshot.by_index(TORTOISES_BY_AUTOSCALER, str(autoscaler.key)):
        return tortoise.key
    found = notes.parse(autoscaler.metadata.annotations.get(notes.ANNOTATION))
    return ObjectKey(autoscaler.namespace, found.tortoise) if found else None


def autoscalers_of(tortoise: ObjectKey, snapshot: Snapshot) -> Iterator[HorizontalPodAutoscaler]:
    """Find the autoscaler of a Tortoise, and others that carry notes of it."""
    found = snapshot.get(Tortoise, tortoise)
    seen: set[ObjectKey] = set()
    if found is not None:
        key = ObjectKey(found.namespace, schedules.autoscaler_of(found))
        autoscaler = snapshot.get(HorizontalPodAutoscaler, key)
        if autoscaler is not None:
            seen.add(key)
            yield autoscaler
    for noted in snapshot.by_index(NOTED_AUTOSCALERS, str(tortoise)):
        if noted.key not in seen:
            yield noted


def write_autoscaler(autoscaler: HorizontalPodAutoscaler, snapshot: Snapshot) -> Patch | None:
    """Say how an autoscaler has to change; None if it is as it should be."""
    tortoise = tortoise_of(autoscaler, snapshot)
    raw = snapshot.raw(HorizontalPodAutoscaler, autoscaler.key)
    if tortoise is None or raw is None:
        return None
    effect = effect_on(tortoise, snapshot)
    draft = _copy(raw)
    notes.settle_autoscaler(draft, None, tortoise.name, effect.wanted.replicas)
    return _patch(_AUTOSCALER, autoscaler, raw, draft, effect.held)


def write_tortoise(tortoise: Tortoise, snapshot: Snapshot) -> Patch | None:
    """Say how a Tortoise has to change; None if it is as it should be."""
    raw = snapshot.raw(Tortoise, tortoise.key)
    if raw is None:
        return None
    effect = effect_on(tortoise.key, snapshot)
    draft = _copy(raw)
    notes.settle_tortoise(draft, None, effect.wanted)
    if is_recorded(snapshot) or not effect.held:
        constraints.claim(draft, effect.held)
    return _patch(_TORTOISE, tortoise, raw, draft, effect.held)


def write_status(tortoise: Tortoise, snapshot: Snapshot) -> Patch | None:
    """Say how the record in a Tortoise's status has to change."""
    raw = snapshot.raw(Tortoise, tortoise.key)
    effect = effect_on(tortoise.key, snapshot)
    if raw is None or (effect.held and not is_recorded(snapshot)):
        return None
    draft = _copy(raw)
    constraints.constrain(draft, effect.held)
    patch = _patch(_TORTOISE, tortoise, raw, draft, effect.held)
    return patch._replace(subresource="status") if patch is not None else None


def is_recorded(snapshot: Snapshot) -> bool:
    """Tell whether the served Tortoise has the fields of the record."""
    definition = snapshot.get(CustomResourceDefinition, ObjectKey("", constraints.DEFINITION))
    return constraints.is_stored(definition, _TORTOISE.version)


def _patch(kind: Any, obj: Object, raw: Raw, draft: Draft, held: Floors) -> Patch | None:
    """Write the difference, and name the floors that we mean: our own policies believe us."""
    change = patches.merge_diff(raw, draft)
    if not change:
        return None
    metadata = change.setdefault("metadata", {})
    annotations = metadata.get("annotations", {})
    if annotations is None:  # all of them go, and one comes
        annotations = dict.fromkeys(obj.metadata.annotations)
    meant = msgspec.json.encode(held).decode()
    metadata["annotations"] = {**annotations, names.SCALING_FLOORS: meant}
    return Patch(kind, obj.key, change, obj.uid, obj.resource_version)


def _copy(raw: Raw) -> Draft:
    copied: Draft = msgspec.json.decode(msgspec.json.encode(raw))
    return copied
