"""Validation of names, label keys and label values, with the messages of Kubernetes."""

import re
from typing import Final

_LABEL_FORM: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN_FORM: Final = rf"{_LABEL_FORM}(\.{_LABEL_FORM})*"
_DNS1035_FORM: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_KEY_FORM: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_CONFIG_KEY_FORM: Final = "[-._a-zA-Z0-9]+"

_LABEL: Final = re.compile(rf"{_LABEL_FORM}\Z")
_SUBDOMAIN: Final = re.compile(rf"{_SUBDOMAIN_FORM}\Z")
_DNS1035: Final = re.compile(rf"{_DNS1035_FORM}\Z")
_KEY: Final = re.compile(rf"{_KEY_FORM}\Z")
_VALUE: Final = re.compile(rf"({_KEY_FORM})?\Z")
_CONFIG_KEY: Final = re.compile(rf"{_CONFIG_KEY_FORM}\Z")

_ALPHANUMERIC_ENDS: Final = "and must start and end with an alphanumeric character"
_KEY_RULE: Final = f"must consist of alphanumeric characters, '-', '_' or '.', {_ALPHANUMERIC_ENDS}"
_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
    f"'-' or '.', {_ALPHANUMERIC_ENDS}"
)
_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    f"{_ALPHANUMERIC_ENDS}"
)
_DNS1035_RULE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    f"'.', {_ALPHANUMERIC_ENDS}"
)
_CONFIG_KEY_RULE: Final = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
)


def _regex_error(rule: str, form: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{form}')"


def _length_errors(value: str, limit: int, unit: str = "characters") -> list[str]:
    # Kubernetes counts bytes everywhere, although it writes "bytes" only for labels.
    return [f"must be no more than {limit} {unit}"] if len(value.encode()) > limit else []


def subdomain_errors(value: str, unit: str = "characters") -> list[str]:
    """Return the errors of an RFC 1123 subdomain, the usual form of an object's name."""
    errors = _length_errors(value, 253, unit)
    if not _SUBDOMAIN.match(value):
        errors.append(_regex_error(_SUBDOMAIN_RULE, _SUBDOMAIN_FORM, "example.com"))
    return errors


def dns1123_label_errors(value: str) -> list[str]:
    """Return the errors of an RFC 1123 label, such as the name of a Namespace."""
    errors = _length_errors(value, 63)
    if not _LABEL.match(value):
        if _SUBDOMAIN.match(value):
            errors.append("must not contain dots")
        else:
            errors.append(_regex_error(_LABEL_RULE, _LABEL_FORM, "my-name", "123-abc"))
    return errors


def dns1035_label_errors(value: str) -> list[str]:
    """Return the errors of an RFC 1035 label, such as the name of a Service."""
    errors = _length_errors(value, 63)
    if not _DNS1035.match(value):
        errors.append(_regex_error(_DNS1035_RULE, _DNS1035_FORM, "my-name", "abc-123"))
    return errors


def path_segment_errors(value: str) -> list[str]:
    """Return the errors of a path segment, such as the name of a ClusterRole."""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{char}'" for char in "/%" if char in value]


def label_key_errors(value: str) -> list[str]:
    """Return the errors of a label or annotation key: `[subdomain/]name`."""
    parts = value.split("/")
    rule = _regex_error(_KEY_RULE, _KEY_FORM, "MyName", "my.name", "123-abc")
    if len(parts) > 2:
        return [
            f"a valid label key {rule} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    errors: list[str] = []
    if len(parts) == 2:
        if not parts[0]:
            errors.append("prefix part must be non-empty")
        errors += [
            f"prefix part {error}" for error in subdomain_errors(parts[0], "bytes") if parts[0]
        ]
    name = parts[-1]
    if not name:
        errors.append("name part must be non-empty")
    errors += [f"name part {error}" for error in _length_errors(name, 63, "bytes")]
    if not _KEY.match(name):
        errors.append(f"name part {rule}")
    return errors


def label_value_errors(value: str) -> list[str]:
    """Return the errors of a label value."""
    errors = _length_errors(value, 63, "bytes")
    if not _VALUE.match(value):
        errors.append(_regex_error(_VALUE_RULE, f"({_KEY_FORM})?", "MyValue", "my_value", "12345"))
    return errors


def config_key_errors(value: str) -> list[str]:
    """Return the errors of a key in the data of a ConfigMap or Secret."""
    errors = _length_errors(value, 253)
    if not _CONFIG_KEY.match(value):
        errors.append(
            _regex_error(_CONFIG_KEY_RULE, _CONFIG_KEY_FORM, "key.name", "KEY_NAME", "key-name")
        )
    if value in (".", ".."):
        errors.append(f"must not be '{value}'")
    elif value.startswith(".."):
        errors.append("must not start with '..'")
    return errors
