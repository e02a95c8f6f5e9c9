"""The generator of structural OpenAPI schemas, from Structs."""

from collections.abc import Mapping
from functools import cache
from inspect import getdoc
from typing import Final

from msgspec import inspect

from webhook.api.kinds import Kind
from webhook.kube.meta import Draft, Metadata, Object

_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_INT32_LIMIT: Final = 2**31 - 1
_LIST_KEYS: Final = {"conditions": "type", "workers": "name"}
_PLAIN: Final[Mapping[type[inspect.Type], Draft]] = {
    inspect.AnyType: {_PRESERVE: True},
    inspect.StrType: {"type": "string"},
    inspect.BoolType: {"type": "boolean"},
}
_ROOT: Final[Draft] = {
    "apiVersion": {
        "type": "string",
        "description": "the version of the schema that this object is written in",
    },
    "kind": {"type": "string", "description": "what this object is"},
    "metadata": {"type": "object"},
}


@cache
def schema_of(kind: Kind) -> Draft:
    """Return the schema of a kind; the result is shared and must not be edited."""
    root = inspect.type_info(kind.model)
    if not isinstance(root, inspect.StructType):
        raise TypeError(f"{kind.model} is no Struct")
    schema = _Writer(preserve=kind.preserve_unknown).struct(root, is_root=True)
    schema["properties"] = {**schema["properties"], **_ROOT}
    return schema


@cache
def whole_schema_of(kind: Kind) -> Draft:
    """Return the schema of a kind with that of its metadata, which CRDs may not contain."""
    metadata = _Writer(preserve=True).schema(inspect.type_info(Metadata))
    schema = schema_of(kind)
    return {**schema, "properties": {**schema["properties"], "metadata": metadata}}


class _Writer:
    """Converts types into schemas; with `preserve`, unknown fields are preserved."""

    def __init__(self, *, preserve: bool) -> None:
        self._preserve = preserve

    def schema(self, kind: inspect.Type) -> Draft:
        match kind:
            case inspect.Metadata():
                return self._described(kind)
            case inspect.StructType():
                return self.struct(kind)
            case inspect.UnionType():
                return self._union(kind)
            case inspect.VarTupleType():
                return {"type": "array", "items": self.schema(kind.item_type)}
            case inspect.DictType():
                return {"type": "object", "additionalProperties": self.schema(kind.value_type)}
            case inspect.IntType():
                return {"type": "integer", "format": _width(kind)}
            case _:
                return dict(_PLAIN[type(kind)])

    def struct(self, kind: inspect.StructType, *, is_root: bool = False) -> Draft:
        if issubclass(kind.cls, Object) and not is_root:
            return {"type": "object", _PRESERVE: True}
        schema: Draft = {"type": "object", "description": getdoc(kind.cls)}
        required = [field.encode_name for field in kind.fields if _is_required(field.type)]
        if required:
            schema["required"] = required
        schema["properties"] = {
            field.encode_name: self._listed(field.encode_name, self.schema(field.type))
            for field in kind.fields
        }
        if self._preserve:
            schema[_PRESERVE] = True
        return schema

    def _described(self, kind: inspect.Metadata) -> Draft:
        schema = self.schema(kind.type)
        schema.update(kind.extra_json_schema or {})
        schema.update((kind.extra or {}).get("schema", {}))
        return schema

    def _union(self, kind: inspect.UnionType) -> Draft:
        members = [member for member in kind.types if not isinstance(member, inspect.NoneType)]
        if len(members) == 1:
            return self.schema(members[0])
        if {type(member) for member in members} == {inspect.IntType, inspect.StrType}:
            return {"x-kubernetes-int-or-string": True}
        raise TypeError(f"{kind} has no schema")

    def _listed(self, name: str, schema: Draft) -> Draft:
        """Make lists with several writers maps, so that entries are owned one by one."""
        key = _LIST_KEYS.get(name)
        if key is None or schema.get("type") != "array":
            return schema
        entry = {**schema["items"]}
        entry["required"] = sorted({*entry.get("required", ()), key})
        listed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [key]}
        return {**schema, **listed, "items": entry}


def _is_required(kind: inspect.Type) -> bool:
    return isinstance(kind, inspect.Metadata) and bool((kind.extra or {}).get("required"))


def _width(kind: inspect.IntType) -> str:
    return "int32" if kind.le == _INT32_LIMIT else "int64"
