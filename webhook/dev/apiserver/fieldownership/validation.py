"""Validate an applied configuration against its schema."""

from collections.abc import Iterator
from typing import Any

from webhook.dev.apiserver.builtin.schemas import Schema
from webhook.dev.apiserver.fieldownership import fieldschemas, fieldsets
from webhook.dev.apiserver.fieldownership.fieldschemas import DEDUCED
from webhook.kube import gotext
from webhook.kube.meta import Draft


def validate(value: Any, schema: Schema) -> list[str]:
    """Return the errors of a configuration against its schema, in the words of Kubernetes."""
    return [f"{path}: {text}" if path else text for path, text in _validate(value, schema, False)]


def _validate(value: Any, schema: Schema, preserve: bool) -> Iterator[tuple[str, str]]:
    preserve = preserve or bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    if value is None:
        return
    declared = schema.get("type")
    if isinstance(value, dict) and declared in ("object", None):
        yield from _validate_fields(value, schema, preserve)
    elif isinstance(value, list) and declared in ("array", None):
        yield from _validate_items(value, schema, preserve)
    elif declared is not None:
        yield from (("", text) for text in _validate_scalar(value, schema))


def _validate_fields(value: Draft, schema: Schema, preserve: bool) -> Iterator[tuple[str, str]]:
    fields = fieldschemas.fields(schema)
    for name, inner in value.items():
        below = fields.of(name) or (DEDUCED if preserve else None)
        if below is None:
            yield f".{name}", "field not declared in schema"
            return
        for path, text in _validate(inner, below, preserve):
            yield f".{name}{path}", text


def _validate_items(value: list[Any], schema: Schema, preserve: bool) -> Iterator[tuple[str, str]]:
    inner = fieldschemas.items(schema)
    seen: set[str] = set()
    for index, item in enumerate(value):
        position = f"[{index}]"
        if not fieldschemas.is_atomic_list(schema):
            try:
                element = fieldschemas.path_element(schema, item)
            except fieldschemas.BadItemError as error:
                yield "", f"element {index}: {error}"
                return
            position = fieldsets.format_path((element,))
            if element in seen:
                yield "", f"duplicate entries for key {position}"
            seen.add(element)
        for path, text in _validate(item, inner, preserve):
            yield f"{position}{path}", text


def _validate_scalar(value: Any, schema: Schema) -> Iterator[str]:
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
