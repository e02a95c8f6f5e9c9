"""The syntax of label selectors, by field."""

from collections.abc import Iterator
from typing import Final

from webhook.admission.decision import Finding
from webhook.kube import identifiers
from webhook.kube.meta import Selector

_WITH_VALUES: Final = ("In", "NotIn")
_WITHOUT_VALUES: Final = ("Exists", "DoesNotExist")


def validate(selector: Selector, base: str) -> Iterator[Finding]:
    """Reject invalid keys, operators and values; `base` is the path of the selector."""
    for key, value in selector.match_labels.items():
        for error in identifiers.label_key_errors(key):
            yield Finding.invalid(f"{base}.matchLabels", key, error)
        for error in identifiers.label_value_errors(value):
            yield Finding.invalid(f"{base}.matchLabels", value, error)
    for index, term in enumerate(selector.match_expressions):
        field = f"{base}.matchExpressions[{index}]"
        for error in identifiers.label_key_errors(term.key):
            yield Finding.invalid(f"{field}.key", term.key, error)
        if term.operator in _WITH_VALUES and not term.values:
            yield Finding.required(f"{field}.values", f"list what {term.operator} compares with")
        elif term.operator in _WITHOUT_VALUES and term.values:
            yield Finding.forbidden(f"{field}.values", f"{term.operator} takes none, remove them")
        elif term.operator not in (*_WITH_VALUES, *_WITHOUT_VALUES):
            yield Finding.not_supported(
                f"{field}.operator", term.operator, (*_WITH_VALUES, *_WITHOUT_VALUES)
            )
