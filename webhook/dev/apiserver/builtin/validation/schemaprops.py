"""Validation of the keywords of CRD schemas: types, lists, maps, rules and defaults."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from webhook.dev.apiserver.builtin.validation import checks
from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.kube import fielderrors
from webhook.kube.jsontext import deep_copy
from webhook.kube.meta import Raw
from webhook.kube.schema import Schema

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_LIST_TYPE: Final = "x-kubernetes-list-type"
_LIST_KEYS: Final = "x-kubernetes-list-map-keys"
_MAP_TYPE: Final = "x-kubernetes-map-type"
_RULES: Final = "x-kubernetes-validations"
_UNSUPPORTED: Final = (
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
)
_REASONS: Final = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_PATH_STEP: Final = re.compile(r"\.([^.\[\]]+)|\['((?:\\.|[^'\\])*)'\]")


def validate_keywords(schema: Raw, path: str) -> Errors:
    """Validate a schema and all schemas in it."""
    yield from _basics(schema, path)
    for where, child in _children(schema):
        yield from validate_keywords(child, f"{path}.{where}")
    yield from _map_type(schema, path)
    yield from _list_type(schema, path)
    yield from _list_keys(schema, path)
    for index, rule in enumerate(schema.get(_RULES) or ()):
        yield from _rule(schema, rule, f"{path}.{_RULES}[{index}]")


def validate_defaults(schema: Raw, path: str) -> Errors:
    """Validate the defaults in a schema, which must be valid and complete values of it."""
    default = schema.get("default")
    if default is not None:
        compiled, where = Schema(schema), f"{path}.default"
        pruned = deep_copy(default)
        if compiled.prune(pruned, is_resource=compiled.embedded):
            yield fielderrors.invalid(where, default, "must not have unknown fields")
        yield from compiled.validate(default, prefix=where)
    items = schema.get("items")
    if isinstance(items, Mapping):
        yield from validate_defaults(items, f"{path}.items")
    for name, child in (schema.get("properties") or {}).items():
        yield from validate_defaults(child, f"{path}.properties[{name}]")


def _children(schema: Raw) -> Iterator[tuple[str, Raw]]:
    for name in ("additionalProperties", "not", "items"):
        if isinstance(schema.get(name), Mapping):
            yield name, schema[name]
    for name, child in (schema.get("properties") or {}).items():
        yield f"properties[{name}]", child
    for name in ("allOf", "oneOf", "anyOf"):
        for index, child in enumerate(schema.get(name) or ()):
            yield f"{name}[{index}]", child


def _basics(schema: Raw, path: str) -> Errors:
    kind = schema.get("type") or ""
    if kind:
        yield from checks.one_of(f"{path}.type", kind, _TYPES)
    for name in _UNSUPPORTED:
        if schema.get(name):
            yield fielderrors.forbidden(f"{path}.{name}", f"{name} is not supported")
    if schema.get("uniqueItems"):
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield fielderrors.forbidden(f"{path}.uniqueItems", detail)
    additional = schema.get("additionalProperties")
    if additional is not None and additional is not True and schema.get("properties"):
        detail = "additionalProperties and properties are mutual exclusive"
        yield fielderrors.forbidden(f"{path}.additionalProperties", detail)
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        where = f"{path}.x-kubernetes-preserve-unknown-fields"
        yield fielderrors.invalid(where, False, "must be true or undefined")


def _required_type(schema: Raw, path: str, keyword: str, wanted: str) -> Errors:
    """Reject a keyword in a schema of another type than the wanted one."""
    kind = schema.get("type") or ""
    detail = f"must be {wanted} if {keyword} is specified"
    if kind == wanted:
        return
    if kind:
        yield fielderrors.invalid(f"{path}.type", kind, detail)
    else:
        yield fielderrors.required(f"{path}.type", detail)


def _map_type(schema: Raw, path: str) -> Errors:
    kind = schema.get(_MAP_TYPE)
    if kind is not None:
        yield from _required_type(schema, path, _MAP_TYPE, "object")
        yield from checks.one_of(f"{path}.{_MAP_TYPE}", kind, ("atomic", "granular"))


def _list_type(schema: Raw, path: str) -> Errors:
    kind, items = schema.get(_LIST_TYPE), schema.get("items") or {}
    if kind is None:
        return
    yield from _required_type(schema, path, _LIST_TYPE, "array")
    yield from checks.one_of(f"{path}.{_LIST_TYPE}", kind, ("atomic", "set", "map"))
    if kind == "set":
        detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
        inner = items.get(_LIST_TYPE)
        if items.get("type") == "array" and inner not in (None, "atomic"):
            yield fielderrors.invalid(f"{path}.items.{_LIST_TYPE}", inner, detail)
        if items.get("type") == "object" and items.get(_MAP_TYPE) != "atomic":
            # Kubernetes shows the type of the list, which an object has not.
            yield fielderrors.invalid(f"{path}.items.{_MAP_TYPE}", inner, detail)
    if kind in ("set", "map") and items.get("nullable"):
        detail = f"cannot be nullable when {_LIST_TYPE} is {kind}"
        yield fielderrors.forbidden(f"{path}.items.nullable", detail)


def _list_keys(schema: Raw, path: str) -> Errors:
    kind, keys = schema.get(_LIST_TYPE), schema.get(_LIST_KEYS) or []
    detail = f"must be map if {_LIST_KEYS} is non-empty"
    if keys and kind is None:
        yield fielderrors.required(f"{path}.{_LIST_TYPE}", detail)
    elif keys and kind != "map":
        yield fielderrors.invalid(f"{path}.{_LIST_TYPE}", kind, detail)
    if kind != "map":
        return
    where, items = f"{path}.{_LIST_KEYS}", schema.get("items") or {}
    if not keys:
        yield fielderrors.required(where, f"must not be empty if {_LIST_TYPE} is map")
    if items.get("type") != "object":
        detail = f"must be object if parent array's {_LIST_TYPE} is map"
        yield fielderrors.invalid(f"{path}.items.type", items.get("type") or "", detail)
        return
    properties = items.get("properties") or {}
    for index, key in enumerate(keys):
        if key not in properties:
            detail = "entries must all be names of item properties"
            yield fielderrors.invalid(where, keys, detail)
        else:
            yield from _list_key(items, key, f"{path}.items.properties[{key}]")
        if key in keys[:index]:
            yield fielderrors.invalid(where, keys, "must not contain duplicate entries")


def _list_key(items: Raw, key: str, path: str) -> Errors:
    field = items["properties"][key]
    if field.get("type") in ("array", "object"):
        # Kubernetes shows the type of the items.
        detail = f"must be a scalar type if parent array's {_LIST_TYPE} is map"
        yield fielderrors.invalid(f"{path}.type", items["type"], detail)
    subject = f"this property is in {_LIST_KEYS}, so it"
    if key not in (items.get("required") or ()) and field.get("default") is None:
        detail = f"{subject} must have a default or be a required property"
        yield fielderrors.required(f"{path}.default", detail)
    if field.get("nullable"):
        yield fielderrors.forbidden(f"{path}.nullable", f"{subject} cannot be nullable")


def _rule(schema: Raw, rule: Raw, path: str) -> Errors:
    text, message = rule.get("rule") or "", rule.get("message") or ""
    if not text.strip():
        yield fielderrors.required(f"{path}.rule", "rule is not specified")
    elif message and not message.strip():
        yield fielderrors.invalid(f"{path}.message", message, "must be non-empty if specified")
    elif _has_line_breaks(message.strip()):
        yield fielderrors.invalid(f"{path}.message", message, "must not contain line breaks")
    elif _has_line_breaks(text.strip()) and not message:
        detail = "message must be specified if rule contains line breaks"
        yield fielderrors.required(f"{path}.message", detail)
    expression = rule.get("messageExpression") or ""
    if expression and not expression.strip():
        detail = "messageExpression must be non-empty if specified"
        yield fielderrors.required(f"{path}.messageExpression", detail)
    if rule.get("reason") is not None:
        yield from checks.one_of(f"{path}.reason", rule["reason"], _REASONS)
    yield from _field_path(schema, rule.get("fieldPath") or "", f"{path}.fieldPath")


def _field_path(schema: Raw, field_path: str, path: str) -> Errors:
    if not field_path:
        return
    if not field_path.strip():
        yield fielderrors.invalid(path, field_path, "must be non-empty if specified")
    if _has_line_breaks(field_path):
        yield fielderrors.invalid(path, field_path, "must not contain line breaks")
    node: Schema | None = Schema(schema)
    end = 0
    for step in _PATH_STEP.finditer(field_path):
        if node is None or step.start() != end:
            break
        node, end = node.child(step[1] or step[2]), step.end()
    if node is None or end != len(field_path):
        yield fielderrors.invalid(path, field_path, "must be a valid path")


def _has_line_breaks(text: str) -> bool:
    return "\n" in text or "\r" in text
