"""Validation of the values at the paths of a scale subresource."""

from typing import Any, Final

from webhook.dev.apiserver.registry.resources import ScalePaths
from webhook.kube import fielderrors
from webhook.kube.fielderrors import FieldError
from webhook.kube.meta import Draft

_INT32: Final = 2**31 - 1
_GO_TYPES: Final = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


class _AccessError(ValueError):
    """A value on the path has an unexpected type."""


def spec_errors(paths: ScalePaths | None, obj: Draft) -> list[FieldError]:
    """Validate spec.replicas."""
    return [] if paths is None else _count_errors(obj, paths.spec_replicas)


def status_errors(paths: ScalePaths | None, obj: Draft) -> list[FieldError]:
    """Validate status.replicas and the selector."""
    if paths is None:
        return []
    errors = _count_errors(obj, paths.status_replicas)
    if paths.selector:
        try:
            _find(obj, paths.selector, str)
        except _AccessError as error:
            errors.append(fielderrors.invalid(paths.selector, "", str(error)))
    return errors


def _count_errors(obj: Draft, path: str) -> list[FieldError]:
    try:
        value = _find(obj, path, int) or 0
    except _AccessError as error:
        return [fielderrors.invalid(path, 0, str(error))]
    if value < 0:
        return [fielderrors.invalid(path, value, "should be a non-negative integer")]
    if value > _INT32:
        return [fielderrors.invalid(path, value, f"should be less than or equal to {_INT32}")]
    return []


def _find(obj: Draft, path: str, wanted: type) -> Any:
    value: Any = obj
    steps = path.strip(".").split(".")
    for depth, step in enumerate(steps):
        if value is None:
            return None
        if not isinstance(value, dict):
            raise _unexpected(steps[: depth + 1], value, "map[string]interface{}")
        if step not in value:
            return None
        value = value[step]
    if type(value) is not wanted:
        raise _unexpected(steps, value, _GO_TYPES[wanted])
    return value


def _unexpected(steps: list[str], value: Any, wanted: str) -> _AccessError:
    shown = "true" if value is True else "false" if value is False else str(value)
    given = _GO_TYPES.get(type(value), "<nil>")
    return _AccessError(
        f".{'.'.join(steps)} accessor error: {shown} is of the type {given}, expected {wanted}"
    )
