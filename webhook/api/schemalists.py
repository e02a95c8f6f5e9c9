"""Uniqueness in lists that a schema declares to be sets or maps."""

from typing import TYPE_CHECKING, Any, Final

from webhook.api import fielderrors, jsontext
from webhook.api.fielderrors import FieldError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from webhook.api.schema import Schema

_CONTAINERS: Final = (dict, list)


def list_errors(schema: "Schema", value: Any, path: str) -> list[FieldError]:
    """Object to entries that occur twice in lists declared as sets or maps."""
    errors: list[FieldError] = []
    if not schema.may_repeat:
        return errors
    if isinstance(value, dict):
        for name, found in value.items():
            if not isinstance(found, _CONTAINERS):
                continue
            if (child := schema.properties.get(name)) is not None:
                errors += list_errors(child, found, fielderrors.child(path, name))
            elif schema.additional is not None:
                errors += list_errors(schema.additional, found, f"{path}[{name}]")
    elif isinstance(value, list):
        errors += _repetitions(schema, value, path)
        if schema.items is not None:
            for index, found in enumerate(value):
                errors += list_errors(schema.items, found, f"{path}[{index}]")
    return errors


def _repetitions(schema: "Schema", value: list[Any], path: str) -> list[FieldError]:
    if schema.list_type == "set":
        return _repeated(value, path)
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
    return _repeated(keys, path)


def _repeated(values: "Sequence[Any]", path: str) -> list[FieldError]:
    times: dict[bytes, int] = {}
    errors = []
    for index, value in enumerate(values):
        key = jsontext.dumps(value, is_sorted=True)
        times[key] = times.get(key, 0) + 1
        if times[key] == 2:
            errors.append(fielderrors.duplicate(f"{path}[{index}]", value))
    return errors
