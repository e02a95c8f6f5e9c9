"""What is wrong with one field of an object, worded as Kubernetes words it."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from typing_extensions import override

from webhook.api import gotext

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

_WORDS: Final = {
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

#: How Kubernetes writes the path of an object's root.
ROOT: Final = "<nil>"


class _Omitted:
    """Stands for a value that is too large to be shown."""


OMITTED: Final = _Omitted()


class Verbatim(str):
    """A value that is shown as it is, without quotes."""

    __slots__ = ()


class FieldError(NamedTuple):
    """One objection: the cause type, the field's path, the value refused and why."""

    type: str
    field: str
    value: Any = None
    detail: str = ""

    @property
    def body(self) -> str:
        """The message of the Status cause."""
        text = _WORDS[self.type]
        if self.type not in _WITHOUT_VALUE and self.value is not OMITTED:
            text = f"{text}: {_written(self.value)}"
        return f"{text}: {self.detail}" if self.detail else text

    @override
    def __str__(self) -> str:
        return f"{self.field}: {self.body}"


def _written(value: Any) -> str:
    if isinstance(value, Verbatim):
        return str(value)
    if isinstance(value, str):
        return gotext.quote(value)
    if isinstance(value, int | float):
        return gotext.number(value)
    return gotext.to_json(value)


def required(field: str, detail: str = "") -> FieldError:
    """A value has to be there."""
    return FieldError(REQUIRED, field, "", detail)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    """A value is malformed or out of bounds."""
    return FieldError(INVALID, field, value, detail)


def type_invalid(field: str, value: Any, detail: str) -> FieldError:
    """A value has the wrong JSON type."""
    return FieldError(TYPE_INVALID, field, value, detail)


def not_found(field: str, value: Any) -> FieldError:
    """A value names something that is not there."""
    return FieldError(NOT_FOUND, field, value)


def duplicate(field: str, value: Any) -> FieldError:
    """A value occurs twice where it must be unique."""
    return FieldError(DUPLICATE, field, value)


def forbidden(field: str, detail: str) -> FieldError:
    """A value may not be set, or not be changed."""
    return FieldError(FORBIDDEN, field, "", detail)


def not_supported(field: str, value: Any, supported: Sequence[str]) -> FieldError:
    """A value is none of the enumerated ones."""
    detail = "supported values: " + ", ".join(map(gotext.quote, supported)) if supported else ""
    return FieldError(NOT_SUPPORTED, field, value, detail)


def too_long(field: str, limit: int) -> FieldError:
    """A string exceeds its length."""
    unit = "byte" if limit == 1 else "bytes"
    return FieldError(TOO_LONG, field, "", f"may not be more than {limit} {unit}")


def too_many(field: str, actual: int, limit: int) -> FieldError:
    """A list or a map has more entries than allowed."""
    unit = "item" if limit == 1 else "items"
    return FieldError(TOO_MANY, field, actual, f"must have at most {limit} {unit}")


def aggregate(errors: Iterable[object]) -> str:
    """Join messages as Kubernetes aggregates errors: without repetition, brackets from two on."""
    messages = list(dict.fromkeys(str(error) for error in errors))
    return messages[0] if len(messages) == 1 else "[" + ", ".join(messages) + "]"


def child(path: str, name: str) -> str:
    """Descend into a named field."""
    return name if path in ("", ROOT) else f"{path}.{name}"
