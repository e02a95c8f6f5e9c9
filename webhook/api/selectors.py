"""Label and field selectors: parse them, match them, and refuse bad ones in Kubernetes' words."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from webhook.api import requirements
from webhook.api.meta import Selector
from webhook.api.requirements import (
    DOES_NOT_EXIST,
    EQUALS,
    EXISTS,
    IN,
    NOT_IN,
    Requirement,
    SelectorError,
    make_requirement,
)

_EXPRESSION_OPERATORS: Final = {
    "In": IN,
    "NotIn": NOT_IN,
    "Exists": EXISTS,
    "DoesNotExist": DOES_NOT_EXIST,
}


class LabelSelector(NamedTuple):
    """Conditions that all have to hold; none at all matches everything."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Tell whether an object with these labels is selected."""
        if self.nothing:
            return False
        return all(requirement.matches(labels or {}) for requirement in self.requirements)

    @property
    def is_everything(self) -> bool:
        return not self.nothing and not self.requirements


EVERYTHING: Final = LabelSelector()
NOTHING: Final = LabelSelector(nothing=True)


class FieldTerm(NamedTuple):
    """A field that must, or must not, have a value."""

    field: str
    value: str
    negated: bool = False


class FieldSelector(NamedTuple):
    """Terms that all have to hold; a field that an object lacks counts as empty."""

    terms: tuple[FieldTerm, ...] = ()

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Tell whether an object with these fields is selected."""
        return all((fields.get(field, "") == value) != no for field, value, no in self.terms)

    def exact(self, field: str) -> str | None:
        """Return the one value that `field` must have, if it must have one."""
        for term in self.terms:
            if term.field == field and not term.negated:
                return term.value
        return None


def parse_labels(text: str) -> LabelSelector:
    """Read the text form, as in a `labelSelector` query parameter."""
    return LabelSelector(requirements.parse(text))


def from_object(selector: Mapping[str, Any] | None) -> LabelSelector:
    """Read the object form (`matchLabels`, `matchExpressions`); absent selects nothing."""
    if selector is None:
        return NOTHING
    return _compile(
        selector.get("matchLabels") or {},
        [
            (term.get("key", ""), term.get("operator", ""), term.get("values") or ())
            for term in selector.get("matchExpressions") or ()
        ],
    )


def from_struct(selector: Selector | None) -> LabelSelector:
    """Read a selector that was decoded with its object; absent selects nothing."""
    if selector is None:
        return NOTHING
    return _compile(
        selector.match_labels,
        [(term.key, term.operator, term.values) for term in selector.match_expressions],
    )


def _compile(
    labels: Mapping[str, str], terms: Iterable[tuple[str, str, Iterable[str]]]
) -> LabelSelector:
    found = [make_requirement(key, EQUALS, [value]) for key, value in labels.items()]
    for key, operator, values in terms:
        if operator not in _EXPRESSION_OPERATORS:
            raise SelectorError(f'"{operator}" is not a valid label selector operator')
        found.append(make_requirement(key, _EXPRESSION_OPERATORS[operator], values))
    return LabelSelector(tuple(sorted(found, key=lambda one: one.key)))


def parse_fields(
    text: str, convert: Callable[[str, str], tuple[str, str]] | None = None
) -> FieldSelector:
    """Read a `fieldSelector`; `convert` may rename or refuse each field."""
    terms = []
    for part in sorted(_split_terms(text)):
        if not part:
            continue
        field, operator, escaped = _split_term(part)
        if not operator:
            raise SelectorError(f"invalid selector: '{text}'; can't understand '{part}'")
        value = _unescape(escaped)
        if convert is not None:
            field, value = convert(field, value)
        terms.append(FieldTerm(field, value, operator == "!="))
    return FieldSelector(tuple(terms))


def _split_terms(text: str) -> list[str]:
    terms = [""]
    escaped = False
    for char in text:
        if char == "," and not escaped:
            terms.append("")
            continue
        escaped = char == "\\" and not escaped
        terms[-1] += char
    return terms


def _split_term(term: str) -> tuple[str, str, str]:
    for index in range(len(term)):
        for operator in ("!=", "==", "="):
            if term.startswith(operator, index):
                return term[:index], operator, term[index + len(operator) :]
    return term, "", ""


def _unescape(text: str) -> str:
    result = ""
    escaped = False
    for char in text:
        if escaped and char not in "\\,=":
            raise SelectorError(f"invalid field selector: invalid escape sequence: \\{char}")
        if not escaped and char in ",=":
            raise SelectorError(
                f"invalid field selector: unescaped character in value: {ord(char)}"
            )
        if escaped or char != "\\":
            result += char
        escaped = char == "\\" and not escaped
    if escaped:
        raise SelectorError("invalid field selector: invalid escape sequence: \\")
    return result
