"""Objections that many kinds share."""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from webhook.api import fielderrors, gotext, identifiers
from webhook.api.fielderrors import FieldError

Object = dict[str, Any]
Errors = Iterator[FieldError]

IMMUTABLE: Final = "field is immutable"
PORT_RANGE: Final = "must be between 1 and 65535, inclusive"
_NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_PERCENT: Final = re.compile(r"[0-9]+%")
_PERCENT_RULE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_PORT_NAME: Final = re.compile(r"[-a-z0-9]+")
_SELECTOR_WITH_VALUES: Final = ("In", "NotIn")
_SELECTOR_WITHOUT: Final = ("Exists", "DoesNotExist")


def not_negative(path: str, value: Any) -> Errors:
    """Object to a number below zero."""
    if isinstance(value, int | float) and value < 0:
        yield fielderrors.invalid(path, value, _NOT_NEGATIVE)


def one_of(path: str, value: Any, allowed: Sequence[str]) -> Errors:
    """Object to a word that is none of the allowed ones."""
    if value not in allowed:
        yield fielderrors.not_supported(path, value, allowed)


def required(path: str, value: Any, detail: str = "") -> Errors:
    """Object to an empty value."""
    if not value:
        yield fielderrors.required(path, detail)


def worded(path: str, value: Any, problems: Iterable[str]) -> Errors:
    """Turn what is wrong with a name into objections."""
    for problem in problems:
        yield fielderrors.invalid(path, value, problem)


def port(path: str, value: Any) -> Errors:
    """Object to a port number out of range."""
    if not isinstance(value, int) or not 1 <= value <= 65535:
        yield fielderrors.invalid(path, value, PORT_RANGE)


def port_or_name(path: str, value: Any) -> Errors:
    """Object to what is neither a port nor the name of one."""
    if isinstance(value, str):
        yield from worded(path, value, port_name_problems(value))
    else:
        yield from port(path, value)


def port_name_problems(name: str) -> Iterator[str]:
    """Say what is wrong with the name of a port."""
    if len(name) > 15:
        yield "must be no more than 15 characters"
    if not _PORT_NAME.fullmatch(name):
        yield "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
    if not re.search(r"[a-z]", name):
        yield "must contain at least one letter (a-z)"
    if "--" in name:
        yield "must not contain consecutive hyphens"
    if name.startswith("-") or name.endswith("-"):
        yield "must not begin or end with a hyphen"


def int_or_percent(path: str, value: Any) -> Errors:
    """Object to what is neither a number nor a percentage."""
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            yield fielderrors.invalid(path, value, _PERCENT_RULE)
    else:
        yield from not_negative(path, value)


def not_over_full(path: str, value: Any) -> Errors:
    """Object to more than everything."""
    if isinstance(value, str) and _PERCENT.fullmatch(value) and int(value[:-1]) > 100:
        yield fielderrors.invalid(path, value, "must not be greater than 100%")


def is_zero(value: Any) -> bool:
    """Whether a number or a percentage amounts to nothing."""
    return value in (0, "0%")


def ip(path: str, value: str) -> Errors:
    """Object to what is no address."""
    try:
        ipaddress.ip_address(value)
    except ValueError:
        detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        yield fielderrors.invalid(path, value, detail)


def labels(path: str, found: Mapping[str, str]) -> Errors:
    """Object to label keys and values."""
    for key, value in found.items():
        yield from worded(path, key, identifiers.label_key_errors(key))
        yield from worded(path, value, identifiers.label_value_errors(value))


def label_selector(path: str, selector: Mapping[str, Any] | None) -> Errors:
    """Object to a selector that could select nothing or that means nothing."""
    if not selector:
        return
    yield from labels(f"{path}.matchLabels", selector.get("matchLabels") or {})
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        yield from _expression(f"{path}.matchExpressions[{index}]", expression)


def _expression(path: str, expression: Mapping[str, Any]) -> Errors:
    operator, values = expression.get("operator", ""), expression.get("values") or ()
    if operator in _SELECTOR_WITH_VALUES:
        detail = "must be specified when `operator` is 'In' or 'NotIn'"
        yield from required(f"{path}.values", values, detail)
    elif operator in _SELECTOR_WITHOUT:
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield fielderrors.forbidden(f"{path}.values", detail)
    else:
        yield fielderrors.invalid(f"{path}.operator", operator, "not a valid selector operator")
    key = expression.get("key", "")
    yield from worded(f"{path}.key", key, identifiers.label_key_errors(key))


def go_struct(value: Mapping[str, Any], fields: Mapping[str, str]) -> fielderrors.Verbatim:
    """Show a value as Go writes the struct that holds it: its own names and order, all fields."""
    pairs = (
        f"{gotext.quote(shown)}:{gotext.to_json(value.get(name))}" for name, shown in fields.items()
    )
    return fielderrors.Verbatim("{" + ",".join(pairs) + "}")
