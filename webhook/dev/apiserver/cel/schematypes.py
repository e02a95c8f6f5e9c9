"""The CEL types of a schema: what its rules may select, and how large its values can be."""

from dataclasses import dataclass, field
from typing import Final

from webhook.dev.apiserver.cel import declarations
from webhook.dev.apiserver.cel.values import escape_name
from webhook.kube.schema import Schema

MAX_REQUEST: Final = 3 * 1024 * 1024
"""The size in bytes of the largest request, which bounds lists and strings without a limit."""
_MAX_TEXT: Final = MAX_REQUEST - 2
_BYTES_PER_CHARACTER: Final = 4
_FORMATS: Final = {
    "byte": declarations.BYTES,
    "duration": declarations.DURATION,
    "date": declarations.TIMESTAMP,
    "date-time": declarations.TIMESTAMP,
}
_SCALARS: Final = {
    "boolean": (declarations.BOOL, 4),
    "integer": (declarations.INT, 1),
    "number": (declarations.DOUBLE, 1),
}
"""The CEL type of a JSON type, and the length of its shortest value in JSON."""


@dataclass(frozen=True, slots=True)
class DeclaredType:
    """A CEL type with the bounds that its schema gives to its values."""

    name: str
    min_size: int = 1
    """The length of the shortest value in JSON."""
    max_elements: int = 0
    """The largest number of items, entries or bytes."""
    fields: dict[str, "DeclaredType"] = field(default_factory=dict)
    element: "DeclaredType | None" = None
    """The type of items of a list or of values of a map."""


STRING: Final = DeclaredType(declarations.STRING, 2, _MAX_TEXT)


def declared_type(schema: Schema, path: str = "self", *, is_root: bool = False) -> DeclaredType:
    """Return the type of a schema; fields without a type of their own are left out."""
    return _declare(schema, path, is_root=is_root) or DeclaredType(declarations.DYN)


def object_fields(declared: DeclaredType) -> dict[str, dict[str, str]]:
    """Return the fields of each object type below a type, by the name of the type."""
    found: dict[str, dict[str, str]] = {}
    if declared.fields:
        found[declared.name] = {name: each.name for name, each in declared.fields.items()}
    for child in (*declared.fields.values(), declared.element):
        if child is not None:
            found |= object_fields(child)
    return found


def _declare(schema: Schema, path: str, *, is_root: bool = False) -> DeclaredType | None:
    if schema.int_or_string:
        return DeclaredType(declarations.DYN, 1, _MAX_TEXT)
    kind = schema.types[0] if schema.types else ""
    if kind in _SCALARS:
        return DeclaredType(*_SCALARS[kind])
    if kind == "string":
        return _declare_string(schema)
    if kind == "array":
        return _declare_list(schema, path)
    if kind == "object":
        if schema.additional is not None:
            return _declare_map(schema, path)
        return _declare_object(schema, path, is_root=is_root or schema.embedded)
    return None


def _declare_string(schema: Schema) -> DeclaredType:
    name = _FORMATS.get(schema.raw.get("format") or "", declarations.STRING)
    if schema.max_length is not None:
        return DeclaredType(name, 2, max(schema.max_length, 0) * _BYTES_PER_CHARACTER)
    if schema.enum:
        longest = max(len(str(value).encode()) for value in schema.enum)
        return DeclaredType(name, 2, longest)
    return DeclaredType(name, 2, _MAX_TEXT)


def _declare_list(schema: Schema, path: str) -> DeclaredType | None:
    item = _declare(schema.items, f"{path}.@idx") if schema.items is not None else None
    if item is None:
        return None
    most = _MAX_TEXT // (item.min_size + 1)
    if schema.max_items is not None:
        most = max(schema.max_items, 0)
    return DeclaredType(f"list({item.name})", 2, most, element=item)


def _declare_map(schema: Schema, path: str) -> DeclaredType | None:
    value = _declare(schema.additional, f"{path}.@elem") if schema.additional is not None else None
    if value is None:
        return None
    most = _MAX_TEXT // (value.min_size + 6)
    if schema.max_properties is not None:
        most = max(schema.max_properties, 0)
    name = f"map({declarations.STRING}, {value.name})"
    return DeclaredType(name, 2, most, element=value)


def _declare_object(schema: Schema, path: str, *, is_root: bool) -> DeclaredType:
    fields: dict[str, DeclaredType] = {}
    smallest = 2
    for name, child in schema.properties.items():
        declared = _declare(child, f"{path}.{name}")
        if declared is None:
            continue
        fields[escape_name(name)] = declared
        if name in schema.required and not child.has_default:
            smallest += len(name) + declared.min_size + 4
    if is_root:
        identity = {"name": STRING, "generateName": STRING}
        fields |= {
            "apiVersion": STRING,
            "kind": STRING,
            "metadata": DeclaredType(f"{path}.metadata", 2, fields=identity),
        }
    return DeclaredType(path, smallest, fields=fields)
