"""Label and field selectors: parsing, matching, and the error messages of Kubernetes."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

from webhook.kube import requirements
from webhook.kube.meta import Selector
from webhook.kube.requirements import (
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
    """Requirements that must all be met; without any, everything matches."""

    requirements: tuple[Requirement, ...] = ()
    nothing: bool = False

    def matches(self, labels: Mapping[str, str] | None) -> bool:
        """Return whether an object with these labels is selected."""
        if self.nothing:
            return False
        return all(requirement.matches(labels or {}) for requirement in self.requirements)

    @property
    def is_everything(self) -> bool:
        return not self.nothing and not self.requirements


EVERYTHING: Final = LabelSelector()
NOTHING: Final = LabelSelector(nothing=True)


class FieldTerm(NamedTuple):
    """A field that must have a value, or must not if negated."""

    field: str
    value: str
    negated: bool = False


class FieldSelector(NamedTuple):
    """Terms that must all be met; a field that an object lacks counts as empty."""

    terms: tuple[FieldTerm, ...] = ()

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Return whether an object with these fields is selected."""
        return all((fields.get(field, "") == value) != no for field, value, no in self.terms)

    def exact(self, field: str) -> str | None:
        """Return the value that `field` must have; None without such a term."""
        for term in self.terms:
            if term.field == field and not term.negated:
                return term.value
        return None


def parse_labels(text: str) -> LabelSelector:
    """Parse the text form, as in the query parameter `labelSelector`."""
    return LabelSelector(requirements.parse(text))


def from_object(selector: Mapping[str, Any] | None) -> LabelSelector:
    """Compile the object form (`matchLabels`, `matchExpressions`); None selects nothing."""
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
    """Compile a decoded selector; None selects nothing."""
    if selector is None:
        return NOTHING
    return _compile(
        selector.match_labels,
        [(term.key, term.operator, term.values) for term in selector.match_expressions],
    )


def _compile(
    labels: Mapping[str, str], terms: Iterable[tuple[str, str, Iterable[str]]]
) -> LabelSelector:
    compiled = [make_requirement(key, EQUALS, [value]) for key, value in labels.items()]
    for key, operator, values in terms:
        if operator not in _EXPRESSION_OPERATORS:
            raise SelectorError(f'"{operator}" is not a valid label selector operator')
        compiled.append(make_requirement(key, _EXPRESSION_OPERATORS[operator], values))
    return LabelSelector(tuple(sorted(compiled, key=lambda requirement: requirement.key)))


def parse_fields(
    text: str, convert: Callable[[str, str], tuple[str, str]] | None = None
) -> FieldSelector:
    """Parse a `fieldSelector`; `convert` may rename or refuse each field."""
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
