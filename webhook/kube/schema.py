"""Structural schemas of custom resources: defaulting, pruning and validation like Kubernetes."""

from collections.abc import Mapping
from typing import Any, Final

from webhook.kube import schemachecks, schemalists
from webhook.kube.fielderrors import ROOT, FieldError
from webhook.kube.formats import FORMATS
from webhook.kube.jsontext import deep_copy
from webhook.kube.schemapatterns import compile_pattern

META_FIELDS: Final = frozenset({"apiVersion", "kind", "metadata"})
"""Fields at the root of a resource that are never pruned."""
_CONTAINERS: Final = (dict, list)
_NUMBER_FORMATS: Final = {"integer": ("int32", "int64"), "number": ("float", "double")}


class Schema:
    """One node of an openAPIV3Schema, compiled once and applied to many objects."""

    __slots__ = (
        "additional", "additional_allowed", "all_of", "any_of", "default", "embedded", "enum",
        "format", "has_default", "int_or_string", "is_composed", "items", "limits", "list_keys",
        "list_type", "max_items", "max_length", "max_properties", "may_default", "may_repeat",
        "min_items", "min_length", "min_properties", "multiple_of", "not_", "nullable", "one_of",
        "pattern", "plain", "preserve", "properties", "raw", "required", "rules", "types",
        "unique_items",
    )  # fmt: skip

    def __init__(self, raw: Mapping[str, Any], known: "dict[int, Schema] | None" = None) -> None:
        """Compile a node; `known` holds compiled ones, since built-in types can be recursive."""
        known = {} if known is None else known
        known[id(raw)] = self
        self.raw = raw
        self.int_or_string = bool(raw.get("x-kubernetes-int-or-string"))
        self.types: tuple[str, ...] = (raw["type"],) if raw.get("type") else ()
        if self.int_or_string:
            self.types = ("integer", "string")
        self.nullable = bool(raw.get("nullable"))
        self.preserve = bool(raw.get("x-kubernetes-preserve-unknown-fields"))
        self.embedded = bool(raw.get("x-kubernetes-embedded-resource"))
        self.has_default = raw.get("default") is not None
        self.default = raw.get("default")
        # A type inside itself sees these before they are computed, and so is always searched.
        self.may_default = self.may_repeat = True
        self._compile_children(raw, known)
        self._compile_constraints(raw)
        self._precompute()

    def _compile_children(self, raw: Mapping[str, Any], known: "dict[int, Schema]") -> None:
        def compiled(child: Mapping[str, Any]) -> Schema:
            return known.get(id(child)) or Schema(child, known)

        self.properties = {
            name: compiled(child) for name, child in (raw.get("properties") or {}).items()
        }
        additional = raw.get("additionalProperties")
        self.additional_allowed = additional is not False
        self.additional: Schema | None = None
        if isinstance(additional, Mapping):
            self.additional = compiled(additional)
        elif additional is True:
            self.additional = Schema({"x-kubernetes-preserve-unknown-fields": True})
        items = raw.get("items")
        self.items = compiled(items) if isinstance(items, Mapping) else None
        self.all_of = [compiled(child) for child in raw.get("allOf") or ()]
        self.any_of = [compiled(child) for child in raw.get("anyOf") or ()]
        self.one_of = [compiled(child) for child in raw.get("oneOf") or ()]
        self.not_ = compiled(raw["not"]) if raw.get("not") is not None else None
        self.is_composed = bool(self.all_of or self.any_of or self.one_of or self.not_)

    def _compile_constraints(self, raw: Mapping[str, Any]) -> None:
        self.required: tuple[str, ...] = tuple(raw.get("required") or ())
        self.enum: tuple[Any, ...] = tuple(raw.get("enum") or ())
        self.format = _supported_format(self.types, raw.get("format") or "")
        self.limits = schemachecks.NumberBounds.of(raw)
        self.multiple_of = raw.get("multipleOf")
        self.max_length = raw.get("maxLength")
        self.min_length = raw.get("minLength")
        self.pattern = compile_pattern(raw.get("pattern") or "")
        self.max_items = raw.get("maxItems")
        self.min_items = raw.get("minItems")
        self.unique_items = bool(raw.get("uniqueItems"))
        self.max_properties = raw.get("maxProperties")
        self.min_properties = raw.get("minProperties")
        self.list_type = raw.get("x-kubernetes-list-type")
        self.list_keys: tuple[str, ...] = tuple(raw.get("x-kubernetes-list-map-keys") or ())
        self.rules = tuple(raw.get("x-kubernetes-validations") or ())

    def _precompute(self) -> None:
        """Compute which searches can be skipped: most objects are large and simple."""
        below = [*self.properties.values(), self.additional, self.items]
        children = [child for child in below if child is not None]
        self.may_default = any(child.has_default or child.may_default for child in children)
        self.may_repeat = self.list_type in ("set", "map") or any(
            child.may_repeat for child in children
        )
        self.plain = self._plain()

    def _plain(self) -> type | None:
        """Return the Python type of which every value is valid, if there is one."""
        if self.is_composed or self.enum:
            return None
        if self.types == ("boolean",):
            return bool
        sizes = (self.max_length, self.min_length)
        is_constrained = self.format or self.pattern is not None or sizes != (None, None)
        return str if "string" in self.types and not is_constrained else None

    def child(self, name: str) -> "Schema | None":
        """Return the schema of a field; None for an unknown field."""
        return self.properties.get(name, self.additional)

    def apply_defaults(self, value: Any) -> None:
        """Drop nulls that are not nullable and set defaults, in place."""
        _drop_nulls(value, self)
        _apply_defaults(value, self)

    def prune(self, value: Any, *, is_resource: bool = True) -> list[str]:
        """Remove unknown fields in place; returns their paths."""
        unknown: list[str] = []
        if is_resource and isinstance(value, dict):
            _prune_fields(value, self, "", unknown, is_resource=True)
        else:
            _prune(value, self, "", unknown)
        return unknown

    def validate(
        self, value: Any, old: Any = schemachecks.ABSENT, *, prefix: str = ""
    ) -> list[FieldError]:
        """Return all errors; with `old`, those of unchanged parts are ignored (ratcheting)."""
        errors: list[FieldError] = []
        context = schemachecks.Context(errors, prefix)
        schemachecks.check(self, value, schemachecks.ABSENT, "", context)
        if errors and old is not schemachecks.ABSENT:
            errors.clear()
            schemachecks.check(self, value, old, "", context)
        return errors

    def validate_lists(self, value: Any, old: Any = schemachecks.ABSENT) -> list[FieldError]:
        """Return the errors of duplicates in sets and maps, unless `old` has some, too."""
        if old is not schemachecks.ABSENT and schemalists.list_errors(self, old, ROOT):
            return []
        return schemalists.list_errors(self, value, ROOT)


def _supported_format(types: tuple[str, ...], name: str) -> str:
    if types in ((), ("string",)):
        return name if name.replace("-", "") in FORMATS else ""
    if len(types) == 1 and name in _NUMBER_FORMATS.get(types[0], ()):
        return name
    return ""


def _drop_nulls(value: Any, schema: Schema | None) -> None:
    if schema is None:
        return
    if isinstance(value, dict):
        nulls = [name for name, member in value.items() if member is None]
        for name in nulls:
            child = schema.child(name)
            if child is not None and not child.nullable and not child.has_default:
                del value[name]
        for name, member in value.items():
            if isinstance(member, _CONTAINERS):
                _drop_nulls(member, schema.child(name))
    elif isinstance(value, list):
        for item in value:
            _drop_nulls(item, schema.items)


def _apply_defaults(value: Any, schema: Schema | None) -> None:
    if schema is None or not schema.may_default:
        return
    if isinstance(value, dict):
        for name, child in schema.properties.items():
            if child.has_default and (
                name not in value or (value[name] is None and not child.nullable)
            ):
                value[name] = deep_copy(child.default)
        for name, member in value.items():
            if isinstance(member, _CONTAINERS):
                _apply_defaults(member, schema.child(name))
            elif member is None and name not in schema.properties:
                value[name] = _item_default(member, schema.additional)
    elif isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            value[index] = _item_default(item, schema.items)
            _apply_defaults(value[index], schema.items)


def _item_default(value: Any, schema: Schema | None) -> Any:
    if value is None and schema is not None and not schema.nullable:
        return deep_copy(schema.default)
    return value


def _prune(value: Any, schema: Schema | None, path: str, unknown: list[str]) -> None:
    if isinstance(value, dict):
        if schema is None:
            unknown.extend(f"{path}.{name}" for name in value)
            value.clear()
            return
        _prune_fields(value, schema, path, unknown, is_resource=schema.embedded)
    elif isinstance(value, list):
        if schema is not None and schema.preserve:
            return
        items = schema.items if schema is not None else None
        for index, item in enumerate(value):
            if isinstance(item, _CONTAINERS):
                _prune(item, items, f"{path}[{index}]", unknown)


def _prune_fields(
    value: dict[str, Any], schema: Schema, path: str, unknown: list[str], *, is_resource: bool
) -> None:
    pruned = []
    for name, member in value.items():
        if is_resource and name in META_FIELDS:
            continue
        child = schema.child(name)
        if child is None:
            if not schema.preserve:
                pruned.append(name)
                unknown.append(f"{path}.{name}" if path else name)
        elif isinstance(member, _CONTAINERS):
            _prune(member, child, f"{path}.{name}" if path else name, unknown)
    for name in pruned:
        del value[name]
