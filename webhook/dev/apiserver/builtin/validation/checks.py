"""Checks of single fields that many kinds share."""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from webhook.kube import fielderrors, gotext, identifiers
from webhook.kube.fielderrors import FieldError
from webhook.kube.meta import Raw

Errors: TypeAlias = Iterator[FieldError]
"""The errors that a validation function yields."""

IPNetwork: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

CIDR_RULE: Final = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
IMMUTABLE: Final = "field is immutable"
PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
TAINT_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
PORT_RANGE: Final = "must be between 1 and 65535, inclusive"
_NOT_NEGATIVE: Final = "must be greater than or equal to 0"
_PERCENT: Final = re.compile(r"[0-9]+%")
_PERCENT_RULE: Final = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)
_PORT_NAME: Final = re.compile(r"[-a-z0-9]+")
_SELECTOR_WITH_VALUES: Final = ("In", "NotIn")
_SELECTOR_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")


def not_negative(path: str, value: Any) -> Errors:
    """Reject a number below zero."""
    if isinstance(value, int | float) and value < 0:
        yield fielderrors.invalid(path, value, _NOT_NEGATIVE)


def one_of(path: str, value: Any, allowed: Sequence[str]) -> Errors:
    """Reject a value that is not one of the allowed ones."""
    if value not in allowed:
        yield fielderrors.not_supported(path, value, allowed)


def required(path: str, value: Any, detail: str = "") -> Errors:
    """Reject an empty value."""
    if not value:
        yield fielderrors.required(path, detail)


def invalid_each(path: str, value: Any, problems: Iterable[str]) -> Errors:
    """Yield an error for each problem of a value."""
    for problem in problems:
        yield fielderrors.invalid(path, value, problem)


def port(path: str, value: Any) -> Errors:
    """Reject a port number out of range."""
    if not isinstance(value, int) or not 1 <= value <= 65535:
        yield fielderrors.invalid(path, value, PORT_RANGE)


def port_or_name(path: str, value: Any) -> Errors:
    """Reject a value that is neither a port number nor a port name."""
    if isinstance(value, str):
        yield from invalid_each(path, value, port_name_problems(value))
    else:
        yield from port(path, value)


def port_name_problems(name: str) -> Iterator[str]:
    """Yield what is wrong with a port name."""
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
    """Reject a value that is neither a number of at least zero nor a percentage."""
    if isinstance(value, str):
        if not _PERCENT.fullmatch(value):
            yield fielderrors.invalid(path, value, _PERCENT_RULE)
    else:
        yield from not_negative(path, value)


def not_more_than_100_percent(path: str, value: Any) -> Errors:
    """Reject a percentage above 100 %."""
    if isinstance(value, str) and _PERCENT.fullmatch(value) and int(value[:-1]) > 100:
        yield fielderrors.invalid(path, value, "must not be greater than 100%")


def is_zero(value: Any) -> bool:
    """Whether a number or a percentage is zero."""
    return value in (0, "0%")


def ip_address(path: str, value: str) -> Errors:
    """Reject a value that is not an IP address."""
    try:
        ipaddress.ip_address(value)
    except ValueError:
        detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        yield fielderrors.invalid(path, value, detail)


def parse_cidr(value: str) -> IPNetwork | None:
    """Return the network of a CIDR; None without a prefix length or if it is malformed."""
    try:
        return ipaddress.ip_network(value, strict=False) if "/" in value else None
    except ValueError:
        return None


def is_strict_subnet(part: IPNetwork, whole: IPNetwork) -> bool:
    """Whether a network lies in another one and is smaller."""
    return (
        part.version == whole.version
        and part.prefixlen > whole.prefixlen
        and part.network_address in whole
    )


def labels(path: str, found: Mapping[str, str]) -> Errors:
    """Reject invalid label keys and values."""
    for key, value in found.items():
        yield from invalid_each(path, key, identifiers.label_key_errors(key))
        yield from invalid_each(path, value, identifiers.label_value_errors(value))


def label_selector(path: str, selector: Raw | None) -> Errors:
    """Reject invalid requirements of a label selector."""
    if not selector:
        return
    yield from labels(f"{path}.matchLabels", selector.get("matchLabels") or {})
    for index, expression in enumerate(selector.get("matchExpressions") or ()):
        yield from _requirement(f"{path}.matchExpressions[{index}]", expression)


def _requirement(path: str, expression: Raw) -> Errors:
    operator, values = expression.get("operator", ""), expression.get("values") or ()
    if operator in _SELECTOR_WITH_VALUES:
        detail = "must be specified when `operator` is 'In' or 'NotIn'"
        yield from required(f"{path}.values", values, detail)
    elif operator in _SELECTOR_WITHOUT_VALUES:
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield fielderrors.forbidden(f"{path}.values", detail)
    else:
        yield fielderrors.invalid(f"{path}.operator", operator, "not a valid selector operator")
    key = expression.get("key", "")
    yield from invalid_each(f"{path}.key", key, identifiers.label_key_errors(key))


def go_struct(value: Raw, fields: Mapping[str, str]) -> fielderrors.Verbatim:
    """Format a value as Go prints its struct: all fields, under their Go names, in Go's order."""
    pairs = (
        f"{gotext.quote(shown)}:{gotext.to_json(value.get(name))}" for name, shown in fields.items()
    )
    return fielderrors.Verbatim("{" + ",".join(pairs) + "}")
