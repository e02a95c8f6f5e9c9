"""Uniqueness of the entries of lists of type set or map."""

from typing import TYPE_CHECKING, Any, Final

from webhook.kube import fielderrors, jsontext
from webhook.kube.fielderrors import FieldError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webhook.kube.schema import Schema

_CONTAINERS: Final = (dict, list)


def list_errors(schema: "Schema", value: Any, path: str) -> list[FieldError]:
    """Return the errors of duplicate entries, for the value and everything below it."""
    errors: list[FieldError] = []
    if not schema.may_repeat:
        return errors
    if isinstance(value, dict):
        for name, member in value.items():
            if not isinstance(member, _CONTAINERS):
                continue
            if (child := schema.properties.get(name)) is not None:
                errors += list_errors(child, member, fielderrors.child(path, name))
            elif schema.additional is not None:
                errors += list_errors(schema.additional, member, f"{path}[{name}]")
    elif isinstance(value, list):
        errors += _duplicates(schema, value, path)
        if schema.items is not None:
            for index, item in enumerate(value):
                errors += list_errors(schema.items, item, f"{path}[{index}]")
    return errors


def _duplicates(schema: "Schema", value: list[Any], path: str) -> list[FieldError]:
    if schema.list_type == "set":
        return _duplicate_errors(value, path)
    if schema.list_type != "map":
        return []
    for index, item in enumerate(value):
        if item is not None and not isinstance(item, dict):
            detail = "must be an object for an array of list-type map"
            return [fielderrors.invalid(f"{path}[{index}]", item, detail)]
    keys = [
        {key: item[key] for key in schema.list_keys if key in item} if item else {}
        for item in value
    ]
    return _duplicate_errors(keys, path)


def _duplicate_errors(values: "Sequence[Any]", path: str) -> list[FieldError]:
    times: dict[bytes, int] = {}
    errors = []
    for index, value in enumerate(values):
        key = jsontext.dumps(value, is_sorted=True)
        times[key] = times.get(key, 0) + 1
        if times[key] == 2:
            errors.append(fielderrors.duplicate(f"{path}[{index}]", value))
    return errors
