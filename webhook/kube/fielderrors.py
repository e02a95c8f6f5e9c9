"""Errors of single fields (field.Error), with the wording of Kubernetes."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from typing_extensions import override

from webhook.kube import gotext

NOT_FOUND: Final = "FieldValueNotFound"
REQUIRED: Final = "FieldValueRequired"
DUPLICATE: Final = "FieldValueDuplicate"
INVALID: Final = "FieldValueInvalid"
NOT_SUPPORTED: Final = "FieldValueNotSupported"
FORBIDDEN: Final = "FieldValueForbidden"
TOO_LONG: Final = "FieldValueTooLong"
TOO_MANY: Final = "FieldValueTooMany"
TOO_FEW: Final = "FieldValueTooFew"
TYPE_INVALID: Final = "FieldValueTypeInvalid"
INTERNAL: Final = "InternalError"

_TITLES: Final = {
    NOT_FOUND: "Not found",
    REQUIRED: "Required value",
    DUPLICATE: "Duplicate value",
    INVALID: "Invalid value",
    NOT_SUPPORTED: "Unsupported value",
    FORBIDDEN: "Forbidden",
    TOO_LONG: "Too long",
    TOO_MANY: "Too many",
    TOO_FEW: "Too few",
    TYPE_INVALID: "Invalid value",
    INTERNAL: "Internal error",
}
_WITHOUT_VALUE: Final = frozenset({REQUIRED, FORBIDDEN, TOO_LONG, INTERNAL})

ROOT: Final = "<nil>"
"""The path of an object's root in Kubernetes' messages."""


class _Omitted:
    """Marks a value that is left out of messages."""


OMITTED: Final = _Omitted()


class Verbatim(str):
    """A string value that messages show without quotes."""

    __slots__ = ()


class FieldError(NamedTuple):
    """One error: its type, the path of the field, the invalid value and the reason."""

    type: str
    field: str
    value: Any = None
    detail: str = ""

    @property
    def body(self) -> str:
        """The message of the Status cause."""
        text = _TITLES[self.type]
        if self.type not in _WITHOUT_VALUE and self.value is not OMITTED:
            text = f"{text}: {_formatted(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    @override
    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def _formatted(value: Any) -> str:
    if isinstance(value, Verbatim):
        return str(value)
    if isinstance(value, str):
        return gotext.quote(value)
    if isinstance(value, int | float):
        return gotext.number(value)
    return gotext.to_json(value)


def required(field: str, detail: str = "") -> FieldError:
    """Return the error of a missing value."""
    return FieldError(REQUIRED, field, "", detail)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """Return the error of a value that is malformed or out of range."""
    return FieldError(INVALID, field, value, detail)


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    """Return the error of a value of the wrong JSON type."""
    return FieldError(TYPE_INVALID, field, value, detail)


def not_found(field: str, value: Any) -> FieldError:
    """Return the error of a value that refers to nothing."""
    return FieldError(NOT_FOUND, field, value)


def duplicate(field: str, value: Any) -> FieldError:
    """Return the error of a value that must be unique and is not."""
    return FieldError(DUPLICATE, field, value)


def forbidden(field: str, detail: str) -> FieldError:
    """Return the error of a value that may not be set, or not be changed."""
    return FieldError(FORBIDDEN, field, "", detail)


def not_supported(field: str, value: Any, supported: Sequence[str]) -> FieldError:
    """Return the error of a value that is not in an enumeration."""
    detail = "supported values: " + ", ".join(map(gotext.quote, supported)) if supported else ""
    return FieldError(NOT_SUPPORTED, field, value, detail)


def too_long(field: str, limit: int) -> FieldError:
    """Return the error of a string that exceeds its maximum length."""
    unit = "byte" if limit == 1 else "bytes"
    return FieldError(TOO_LONG, field, "", f"may not be more than {limit} {unit}")


def too_many(field: str, actual: int, limit: int) -> FieldError:
    """Return the error of a list or map with too many entries."""
    unit = "item" if limit == 1 else "items"
    return FieldError(TOO_MANY, field, actual, f"must have at most {limit} {unit}")


def aggregate(errors: Iterable[object]) -> str:
    """Join errors as Kubernetes does: without duplicates, in brackets if there are several."""
    messages = list(dict.fromkeys(str(error) for error in errors))
    return messages[0] if len(messages) == 1 else "[" + ", ".join(messages) + "]"


def child(path: str, name: str) -> str:
    """Return the path of a field below a path."""
    return name if path in ("", ROOT) else f"{path}.{name}"
