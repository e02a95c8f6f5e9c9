"""The checks of one schema node, with the messages of Kubernetes' OpenAPI validation."""

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from webhook.kube import fielderrors, gotext, jsontext
from webhook.kube.fielderrors import FieldError
from webhook.kube.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from webhook.kube.schema import Schema


class _Absent:
    """Marks an old value that does not exist, unlike null."""


ABSENT: Final = _Absent()
_KINDS: Final = {
    bool: "boolean",
    str: "string",
    int: "integer",
    float: "number",
    list: "array",
    dict: "object",
}
_INT_RANGES: Final = {"int32": 2**31, "int64": 2**63, "": 2**63}


class Context(NamedTuple):
    """Collects errors; `prefix` is the path of the whole value."""

    errors: list[FieldError]
    prefix: str

    def field(self, path: str) -> str:
        """Return the path of a field for an error."""
        name = path.removeprefix(".")
        if not name:
            return self.prefix or fielderrors.ROOT
        return fielderrors.child(self.prefix, name)

    def invalid(self, path: str, value: Any, detail: str) -> None:
        """Add the error of an invalid value."""
        self.errors.append(fielderrors.invalid(self.field(path), value, detail))

    def mistyped(self, path: str, wanted: str, given: str) -> None:
        """Add the error of a wrong type or format."""
        detail = f"{path} in body must be of type {wanted}: {gotext.quote(given)}"
        self.errors.append(fielderrors.type_invalid(self.field(path), given, detail))

    def composite(self, detail: str) -> None:
        """Add an error of the whole value; Kubernetes gives such errors no field."""
        self.errors.append(fielderrors.invalid(self.prefix or fielderrors.ROOT, "", detail))


class NumberBounds(NamedTuple):
    """The bounds of a number."""

    minimum: float | None
    maximum: float | None
    exclusive_minimum: bool
    exclusive_maximum: bool

    @classmethod
    def of(cls, raw: "Mapping[str, Any]") -> "NumberBounds":
        return cls(
            raw.get("minimum"),
            raw.get("maximum"),
            bool(raw.get("exclusiveMinimum")),
            bool(raw.get("exclusiveMaximum")),
        )


def is_equal_json(left: Any, right: Any) -> bool:
    """Compare JSON values by type, too: true, 1 and 1.0 differ."""
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(
            is_equal_json(left[key], right[key]) for key in left
        )
    if isinstance(left, list):
        return len(left) == len(right) and all(map(is_equal_json, left, right))
    return bool(left == right)


def check(schema: "Schema", value: Any, old: Any, path: str, context: Context) -> None:
    """Collect the errors of a value and everything below it."""
    if old is not ABSENT and is_equal_json(value, old):
        return
    kind = _KINDS.get(type(value), "null")
    _check_type(schema, value, kind, path, context)
    if schema.is_composed and kind != "null":
        _check_composition(schema, value, old, path, context)
    if kind == "string":
        _check_string(schema, value, path, context)
    elif kind in ("integer", "number"):
        _check_number(schema, value, path, context)
    elif kind == "array":
        _check_array(schema, value, old, path, context)
    if schema.enum:
        _check_enum(schema, value, path, context)
    if kind == "object":
        _check_object(schema, value, old, path, context)


def _check_type(schema: "Schema", value: Any, kind: str, path: str, context: Context) -> None:
    types = schema.types
    if not types or kind in types:
        return
    if kind == "null":
        if not schema.nullable:
            context.mistyped(path, ",".join(types), "null")
        return
    if kind == "integer" and "number" in types:
        return
    if kind == "number" and "integer" in types and value.is_integer():
        return
    if schema.format and kind not in ("string", "array"):
        given = {"integer": "int64", "number": "float64"}.get(kind, "")
        context.mistyped(path, schema.format, given)
        return
    if schema.format and kind == "array" and not {"integer", "number"} & set(types):
        return
    context.mistyped(path, ",".join(types), kind)


def _check_composition(schema: "Schema", value: Any, old: Any, path: str, context: Context) -> None:
    quoted = gotext.quote(path)
    if schema.any_of:
        results = [_errors_of(one, value, old, path, context) for one in schema.any_of]
        if all(results):
            context.composite(f"{quoted} must validate at least one schema (anyOf)")
            context.errors.extend(results[0])
    if schema.one_of:
        results = [_errors_of(one, value, old, path, context) for one in schema.one_of]
        valid = results.count([])
        if valid != 1:
            outcome = f"Found {valid} valid alternatives" if valid else "Found none valid"
            context.composite(f"{quoted} must validate one and only one schema (oneOf). {outcome}")
            context.errors.extend([] if valid else results[0])
    if schema.all_of:
        results = [_errors_of(one, value, old, path, context) for one in schema.all_of]
        for errors in results:
            context.errors.extend(errors)
        if any(results):
            suffix = ". None validated" if all(results) else ""
            context.composite(f"{quoted} must validate all the schemas (allOf){suffix}")
    if schema.not_ is not None and not _errors_of(schema.not_, value, ABSENT, path, context):
        context.composite(f"{quoted} must not validate the schema (not)")


def _errors_of(
    schema: "Schema", value: Any, old: Any, path: str, context: Context
) -> list[FieldError]:
    inner = Context([], context.prefix)
    check(schema, value, old, path, inner)
    return inner.errors


def _check_string(schema: "Schema", value: str, path: str, context: Context) -> None:
    if schema.max_length is not None and len(value) > schema.max_length:
        context.errors.append(fielderrors.too_long(context.field(path), schema.max_length))
    elif schema.min_length is not None and len(value) < schema.min_length:
        detail = f"{path} in body should be at least {schema.min_length} chars long"
        context.invalid(path, value, detail)
    elif schema.pattern is not None:
        pattern = schema.pattern
        if pattern.search is None:
            problem = f"{pattern.text}, but pattern is invalid: {pattern.problem}"
            context.invalid(path, value, f"{path} in body should match '{problem}'")
        elif not pattern.search(value):
            context.invalid(path, value, f"{path} in body should match '{pattern.text}'")
    if schema.format:
        is_valid = FORMATS.get(schema.format.replace("-", ""))
        if is_valid is not None and not is_valid(value):
            context.mistyped(path, schema.format, value)


def _check_number(schema: "Schema", value: float, path: str, context: Context) -> None:
    if schema.types == ("integer",) and value == math.trunc(value):
        bound = _INT_RANGES.get(schema.format, 2**63)
        if not -bound <= value < bound:
            form = f"with format {schema.format}" if schema.format else "(default format)"
            context.composite(f"Checked value must be of type integer {form} in {path}")
    factor = schema.multiple_of
    if factor is not None and not _is_multiple(value, factor):
        detail = f"{path} in body should be a multiple of {gotext.number(factor)}"
        context.invalid(path, value, detail)
    low, high, above, below = schema.limits
    if low is not None and (value < low or (above and value == low)):
        words = "greater than" if above else "greater than or equal to"
        context.invalid(path, value, f"{path} in body should be {words} {gotext.number(low)}")
    if high is not None and (value > high or (below and value == high)):
        words = "less than" if below else "less than or equal to"
        context.invalid(path, value, f"{path} in body should be {words} {gotext.number(high)}")


def _is_multiple(value: float, factor: float) -> bool:
    if isinstance(value, int) and float(factor).is_integer():
        return value % int(factor) == 0
    return abs(value / factor - round(value / factor)) < 1e-9


def _check_array(schema: "Schema", value: list[Any], old: Any, path: str, context: Context) -> None:
    if schema.items is not None:
        olds = _correlate(schema, old)
        plain = schema.items.plain
        for index, item in enumerate(value):
            if type(item) is plain:
                continue
            before = olds.get(_entry_key(schema, item), ABSENT) if olds else ABSENT
            check(schema.items, item, before, f"{path}[{index}]", context)
    size = len(value)
    if schema.min_items is not None and size < schema.min_items:
        context.invalid(path, size, f"{path} in body should have at least {schema.min_items} items")
    if schema.max_items is not None and size > schema.max_items:
        context.errors.append(fielderrors.too_many(context.field(path), size, schema.max_items))
    if schema.unique_items and any(
        is_equal_json(item, other) for index, item in enumerate(value) for other in value[:index]
    ):
        context.invalid(path, "", f"{path} in body shouldn't contain duplicates")


def _entry_key(schema: "Schema", item: Any) -> bytes:
    entry = item if isinstance(item, dict) else {}
    return jsontext.dumps([entry.get(key) for key in schema.list_keys])


def _correlate(schema: "Schema", old: Any) -> dict[bytes, Any]:
    """Return the old entries by key; only lists of type map have keys."""
    if schema.list_type != "map" or not isinstance(old, list):
        return {}
    return {_entry_key(schema, item): item for item in old}


def correlated(schema: "Schema", value: list[Any], old: Any) -> list[tuple[Any, Any]]:
    """Pair the entries of a list with their old values; only lists of type map have keys."""
    olds = _correlate(schema, old)
    return [(item, olds.get(_entry_key(schema, item), ABSENT)) for item in value]


def _check_enum(schema: "Schema", value: Any, path: str, context: Context) -> None:
    if any(is_equal_json(value, allowed) for allowed in schema.enum):
        return
    supported = [one if isinstance(one, str) else gotext.to_json(one) for one in schema.enum]
    context.errors.append(fielderrors.not_supported(context.field(path), value, supported))


def _check_object(
    schema: "Schema", value: dict[str, Any], old: Any, path: str, context: Context
) -> None:
    size = len(value)
    if schema.min_properties is not None and size < schema.min_properties:
        detail = f"{path} in body should have at least {schema.min_properties} properties"
        context.invalid(path, size, detail)
    if schema.max_properties is not None and size > schema.max_properties:
        context.errors.append(
            fielderrors.too_many(context.field(path), size, schema.max_properties)
        )
    olds = old if isinstance(old, dict) else {}
    properties = schema.properties
    for name, member in value.items():
        child = properties.get(name)
        if child is not None:
            if type(member) is child.plain:
                continue
            where = f"{path}.{name}" if path else name
            check(child, member, olds.get(name, ABSENT), where, context)
        elif schema.additional is not None:
            check(schema.additional, member, olds.get(name, ABSENT), f"{path}.{name}", context)
        elif not schema.additional_allowed:
            context.invalid(path, name, f"{path}.{name} in body is a forbidden property")
    for name in schema.required:
        if name not in value:
            context.errors.append(fielderrors.required(context.field(f"{path}.{name}")))
