"""The string formats of OpenAPI schemas, checked exactly as strictly as Kubernetes does."""

import base64
import binascii
import datetime
import ipaddress
import re
import string
from collections.abc import Callable
from email.utils import parseaddr
from typing import Final
from urllib.parse import urlsplit

_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})\Z")
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
_GO_DURATION: Final = re.compile(
    r"[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)\Z"
)
_SCALA_DURATION: Final = re.compile(
    r"[0-9]+\s*(ns|nano\w*|us|µs|micro\w*|ms|milli\w*|s|sec\w*|m|min\w*|h|hr|hour\w*|d|day\w*"
    r"|w|wk|week\w*)(?![A-Za-zµ])",
    re.IGNORECASE,
)
_HOST_LABEL: Final = re.compile(r"[^\W_]([^\W_]|-){0,61}[^\W_]\Z|[^\W_]\Z")
_TOP_LEVEL: Final = re.compile(r"[^\W\d_]{2,63}\Z")
_MAC: Final = re.compile(
    r"[0-9A-Fa-f]{2}(([:-])[0-9A-Fa-f]{2}(\2[0-9A-Fa-f]{2}){4}(\2[0-9A-Fa-f]{2}){0,2})\Z"
    r"|[0-9A-Fa-f]{4}(\.[0-9A-Fa-f]{4}){2,3}\Z"
)
_UUID: Final = re.compile(
    r"[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\Z", re.IGNORECASE
)
_SHORT_NAME: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"


def _is_date(text: str) -> bool:
    if not _DATE.match(text):
        return False
    try:
        datetime.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    date, _, time = text.lower().partition("t")
    match = _TIME.match(time)
    return (
        _is_date(date)
        and match is not None
        and (match[1] <= "23" and match[2] <= "59" and match[3] <= "59")
    )


def _is_duration(text: str) -> bool:
    return bool(_GO_DURATION.match(text) or _SCALA_DURATION.search(text))


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return bool(text)


def _is_hostname(text: str) -> bool:
    labels = text.split(".")
    if len(text) > 255 or not all(_HOST_LABEL.match(label) for label in labels):
        return False
    return len(labels) == 1 or bool(_TOP_LEVEL.match(labels[-1]))


def _is_email(text: str) -> bool:
    _, address = parseaddr(text)
    local, _, domain = address.rpartition("@")
    return bool(local and domain)


def _is_ip(text: str, version: int) -> bool:
    try:
        return ipaddress.ip_address(text).version == version
    except ValueError:
        return False


def _is_cidr(text: str) -> bool:
    if "/" not in text:
        return False
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        return False
    return True


def _is_uri(text: str) -> bool:
    if not text or any(char in string.whitespace for char in text):
        return False
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return text.startswith("/") or bool(parts.scheme)


def _matches(pattern: str, flags: int = 0) -> Callable[[str], bool]:
    compiled = re.compile(rf"(?:{pattern})\Z", flags)
    return lambda text: compiled.match(text) is not None


def _is_isbn(text: str, length: int) -> bool:
    digits = re.sub(r"[\s-]", "", text)
    if len(digits) != length or not re.match(r"[0-9]{9}([0-9]{3})?[0-9X]\Z", digits):
        return False
    values = [10 if digit == "X" else int(digit) for digit in digits]
    if length == 10:
        return sum((index + 1) * value for index, value in enumerate(values)) % 11 == 0
    return sum(value * (3 if index % 2 else 1) for index, value in enumerate(values)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    digits = [int(char) for char in text if char.isdigit()]
    if not 12 < len(digits) < 20:
        return False
    doubled = [digit * 2 if index % 2 else digit for index, digit in enumerate(digits[::-1])]
    return sum(digit - 9 if digit > 9 else digit for digit in doubled) % 10 == 0


FORMATS: Final[dict[str, Callable[[str], bool]]] = {
    "bsonobjectid": _matches("[0-9a-fA-F]{24}"),
    "uri": _is_uri,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": lambda text: _is_ip(text, 4),
    "ipv6": lambda text: _is_ip(text, 6),
    "cidr": _is_cidr,
    "mac": lambda text: _MAC.match(text) is not None,
    "uuid": lambda text: _UUID.match(text) is not None,
    "uuid3": lambda text: _is_uuid_version(text, "3"),
    "uuid4": lambda text: _is_uuid_version(text, "4"),
    "uuid5": lambda text: _is_uuid_version(text, "5"),
    "isbn": lambda text: _is_isbn(text, 10) or _is_isbn(text, 13),
    "isbn10": lambda text: _is_isbn(text, 10),
    "isbn13": lambda text: _is_isbn(text, 13),
    "creditcard": _is_credit_card,
    "ssn": _matches(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}"),
    "hexcolor": _matches("#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _matches(r"rgb\(\s*[0-9]{1,3}\s*,\s*[0-9]{1,3}\s*,\s*[0-9]{1,3}\s*\)"),
    "byte": _is_base64,
    "password": lambda _: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": lambda text: len(text) <= 63 and _matches(_SHORT_NAME)(text),
    "k8slongname": lambda text: (
        len(text) <= 253 and _matches(rf"{_SHORT_NAME}(\.{_SHORT_NAME})*")(text)
    ),
}
"""Checks by the name of the format without dashes; as in Kubernetes, an unknown format passes."""


def _is_uuid_version(text: str, version: str) -> bool:
    plain = text.replace("-", "")
    if not _UUID.match(text) or plain[12] != version:
        return False
    return version == "3" or plain[16] in "89abAB"
