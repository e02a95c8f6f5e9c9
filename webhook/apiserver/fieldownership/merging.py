"""Merge an applied configuration into a live object, and judge that it fits the schema."""

from collections import deque
from collections.abc import Iterator
from typing import Any

from webhook.api import gotext
from webhook.apiserver.fieldownership import schemas, sets
from webhook.apiserver.fieldownership.schemas import DEDUCED, Schema
from webhook.apiserver.fieldownership.values import MISSING


def merged(live: Any, config: Any, schema: Schema) -> Any:
    """Lay a configuration over a live value: objects by field, lists by item, all else whole."""
    result = _merged(live, config, schema)
    return {} if result is MISSING else result


def _merged(live: Any, config: Any, schema: Schema) -> Any:
    if config is MISSING:
        return live
    if live is MISSING:
        return config
    if isinstance(live, dict) and live and isinstance(config, dict | None):
        if schemas.is_atomic_map(schema):
            return config
        return _merged_fields(live, config or {}, schema)
    if isinstance(live, list) and live and isinstance(config, list | None):
        if schemas.is_atomic_list(schema):
            return config
        return _merged_items(live, config or [], schema)
    return config


def _merged_fields(live: dict[str, Any], config: dict[str, Any], schema: Schema) -> dict[str, Any]:
    fields = schemas.fields(schema)
    result = {}
    for name in [*live, *(name for name in config if name not in live)]:
        inner = fields.of(name) or DEDUCED
        result[name] = _merged(live.get(name, MISSING), config.get(name, MISSING), inner)
    return result


def _merged_items(live: list[Any], config: list[Any], schema: Schema) -> list[Any]:
    """Items that both have take the configuration's order; those of the live list stay between."""
    inner = schemas.items(schema)
    theirs = {schemas.element(schema, item): item for item in config}
    known: dict[str, Any] = {}
    ours = []
    for item in live:
        element = schemas.element(schema, item)
        # Live items that share their keys are replaced, not merged: which one would be meant?
        known[element] = MISSING if element in known else item
        ours.append((element, item))
    result = []
    for element, item in _interleaved(ours, list(theirs)):
        mine = item if element not in theirs else known.get(element, MISSING)
        result.append(_merged(mine, theirs.get(element, MISSING), inner))
    return result


def _interleaved(ours: list[tuple[str, Any]], order: list[str]) -> Iterator[tuple[str, Any]]:
    shared = deque(element for element in order if element in {name for name, _ in ours})
    wanted, taken = set(order), set[str]()
    left = right = 0
    while left < len(ours) or right < len(order):
        if left < len(ours):
            element, item = ours[left]
            if element not in wanted:
                yield element, item
                left += 1
                continue
            if element in taken:
                left += 1
            elif shared and shared[0] != element:
                left += 1
                continue
        if right < len(order):
            element = order[right]
            yield element, None
            right += 1
            taken.add(element)
            if shared and shared[0] == element:
                shared.popleft()


def objections(value: Any, schema: Schema) -> list[str]:
    """Say where a configuration does not fit the schema, worded as Kubernetes does."""
    return [f"{path}: {text}" if path else text for path, text in _judged(value, schema, False)]


def _judged(value: Any, schema: Schema, preserve: bool) -> Iterator[tuple[str, str]]:
    preserve = preserve or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if value is None:
        return
    declared = schema.get("type")
    if isinstance(value, dict) and declared in ("object", None):
        yield from _judged_fields(value, schema, preserve)
    elif isinstance(value, list) and declared in ("array", None):
        yield from _judged_items(value, schema, preserve)
    elif declared is not None:
        yield from (("", text) for text in _judged_scalar(value, schema))


def _judged_fields(
    value: dict[str, Any], schema: Schema, preserve: bool
) -> Iterator[tuple[str, str]]:
    fields = schemas.fields(schema)
    for name, inner in value.items():
        below = fields.of(name) or (DEDUCED if preserve else None)
        if below is None:
            yield f".{name}", "field not declared in schema"
            return
        for path, text in _judged(inner, below, preserve):
            yield f".{name}{path}", text


def _judged_items(value: list[Any], schema: Schema, preserve: bool) -> Iterator[tuple[str, str]]:
    inner = schemas.items(schema)
    seen: set[str] = set()
    for index, item in enumerate(value):
        shown = f"[{index}]"
        if not schemas.is_atomic_list(schema):
            try:
                element = schemas.element(schema, item)
            except schemas.BadItemError as error:
                yield "", f"element {index}: {error}"
                return
            shown = sets.written((element,))
            if element in seen:
                yield "", f"duplicate entries for key {shown}"
            seen.add(element)
        for path, text in _judged(item, inner, preserve):
            yield f"{shown}{path}", text


def _judged_scalar(value: Any, schema: Schema) -> Iterator[str]:
    declared, form = schema["type"], schema.get("format", "")
    if declared == "object":
        yield f"expected map, got &{{{gotext.plain(value)}}}"
    elif declared == "array":
        yield f"expected list, got &{{{gotext.plain(value)}}}"
    elif declared == "string" and not isinstance(value, str) and form in ("", "byte"):
        yield f"expected string, got &value.valueUnstructured{{Value:{gotext.syntax(value)}}}"
    elif declared == "boolean" and not isinstance(value, bool):
        yield f"expected boolean, got &{{{gotext.plain(value)}}}"
    elif declared in ("integer", "number") and not _is_number(value):
        yield f"expected numeric (int or float), got {gotext.type_name(value)}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
