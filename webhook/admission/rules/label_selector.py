"""A label selector as it is written, place by place."""

from collections.abc import Iterator
from typing import Final

from webhook.admission.decision import Finding
from webhook.api import identifiers
from webhook.api.meta import Selector

_LISTING: Final = ("In", "NotIn")
_BARE: Final = ("Exists", "DoesNotExist")


def judge(selector: Selector, base: str) -> Iterator[Finding]:
    """Refuse keys, operators and values that no selector can have; `base` is its path."""
    for key, value in selector.match_labels.items():
        for error in identifiers.label_key_errors(key):
            yield Finding.invalid(f"{base}.matchLabels", key, error)
        for error in identifiers.label_value_errors(value):
            yield Finding.invalid(f"{base}.matchLabels", value, error)
    for index, term in enumerate(selector.match_expressions):
        field = f"{base}.matchExpressions[{index}]"
        for error in identifiers.label_key_errors(term.key):
            yield Finding.invalid(f"{field}.key", term.key, error)
        if term.operator in _LISTING and not term.values:
            yield Finding.required(f"{field}.values", f"list what {term.operator} compares with")
        elif term.operator in _BARE and term.values:
            yield Finding.forbidden(f"{field}.values", f"{term.operator} takes none, remove them")
        elif term.operator not in (*_LISTING, *_BARE):
            yield Finding.not_supported(f"{field}.operator", term.operator, (*_LISTING, *_BARE))
