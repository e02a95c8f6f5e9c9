"""The requirements of label selectors: matching, and the parser of their text form."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from webhook.kube import fielderrors, identifiers
from webhook.kube.fielderrors import FieldError

IN: Final = "in"
NOT_IN: Final = "notin"
EQUALS: Final = "="
DOUBLE_EQUALS: Final = "=="
NOT_EQUALS: Final = "!="
EXISTS: Final = "exists"
DOES_NOT_EXIST: Final = "!"
GREATER: Final = "gt"
LESS: Final = "lt"

_POSITIVE: Final = frozenset({IN, EQUALS, DOUBLE_EQUALS})
_NEGATIVE: Final = frozenset({NOT_IN, NOT_EQUALS})
_BINARY: Final = {
    "in": IN, "notin": NOT_IN, "=": EQUALS, "==": DOUBLE_EQUALS, "!=": NOT_EQUALS,
    ">": GREATER, "<": LESS,
}  # fmt: skip
_BINARY_LISTED: Final = "in, notin, =, ==, !=, gt, lt"
_INTEGER: Final = re.compile(r"[+-]?[0-9]+\Z")
_IDENTIFIER: Final = "identifier"
_END: Final = "end"
_ERROR: Final = "error"
_TOKENS: Final = frozenset({")", ",", "!", "==", "=", ">", "<", "!=", "("})
_SPECIAL: Final = frozenset("=!(),><")
_SPACE: Final = frozenset(" \t\r\n")


class SelectorError(ValueError):
    """A malformed selector."""


class Requirement(NamedTuple):
    """One requirement on the label `key`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels meet this requirement."""
        value = labels.get(self.key)
        if self.operator in _POSITIVE:
            return value in self.values
        if self.operator in _NEGATIVE:
            return value is None or value not in self.values
        if self.operator == EXISTS:
            return value is not None
        if self.operator == DOES_NOT_EXIST:
            return value is None
        if value is None or not _INTEGER.match(value):
            return False
        bound = int(self.values[0])
        return int(value) > bound if self.operator == GREATER else int(value) < bound


def _requirement_errors(key: str, operator: str, values: Sequence[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    if problems := identifiers.label_key_errors(key):
        errors.append(fielderrors.invalid("key", key, "; ".join(problems)))
    if operator in (GREATER, LESS):
        errors += [
            fielderrors.invalid(
                f"values[{index}]",
                value,
                "for 'Gt', 'Lt' operators, the value must be an integer",
            )
            for index, value in enumerate(values)
            if not _INTEGER.match(value)
        ]
    for index, value in enumerate(values):
        if problems := identifiers.label_value_errors(value):
            detail = "; ".join(problems)
            errors.append(fielderrors.invalid(f"values[{index}][{key}]", value, detail))
    return errors


def make_requirement(key: str, operator: str, values: Iterable[str]) -> Requirement:
    """Build a requirement; raises SelectorError with the part that is malformed."""
    ordered = sorted(set(values))
    if errors := _requirement_errors(key, operator, ordered):
        raise SelectorError(fielderrors.aggregate(errors))
    return Requirement(key, operator, tuple(ordered))


def _scan(text: str) -> list[tuple[str, str]]:
    symbols: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        char = text[position]
        if char in _SPACE:
            position += 1
        elif char in _SPECIAL:
            symbol, position = _scan_special(text, position)
            symbols.append(symbol)
        else:
            start = position
            while position < len(text) and text[position] not in _SPECIAL | _SPACE:
                position += 1
            word = text[start:position]
            symbols.append((word if word in _BINARY else _IDENTIFIER, word))
    return [*symbols, (_END, "")]


def _scan_special(text: str, start: int) -> tuple[tuple[str, str], int]:
    """Scan the longest operator at `start`; other special characters become one error symbol."""
    best = ""
    position = start
    while position < len(text) and text[position] in _SPECIAL:
        candidate = text[start : position + 1]
        if candidate in _TOKENS:
            best = candidate
        elif best:
            break
        position += 1
    if not best:
        return (_ERROR, f"error expected: keyword found '{text[start:position]}'"), position
    return (best, best), position


class _Parser:
    """A recursive-descent parser with the messages of Kubernetes' own parser."""

    def __init__(self, text: str) -> None:
        self._tokens = _scan(text)
        self._position = 0

    def _peek(self) -> tuple[str, str]:
        symbol, literal = self._tokens[min(self._position, len(self._tokens) - 1)]
        # Where a value is expected, "in" and "notin" are values.
        return (_IDENTIFIER if symbol in (IN, NOT_IN) else symbol), literal

    def _next(self) -> tuple[str, str]:
        symbol = self._peek()
        self._position += 1
        return symbol

    def parse(self) -> tuple[Requirement, ...]:
        requirements: list[Requirement] = []
        while True:
            symbol, literal = self._peek()
            if symbol == _END:
                break
            if symbol not in (_IDENTIFIER, "!"):
                raise SelectorError(
                    f"found '{literal}', expected: !, identifier, or 'end of string'"
                )
            try:
                requirements.append(self._requirement())
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from error
            if not self._separated():
                break
        return tuple(sorted(requirements, key=lambda requirement: requirement.key))

    def _separated(self) -> bool:
        symbol, literal = self._next()
        if symbol == _END:
            return False
        if symbol != ",":
            raise SelectorError(f"found '{literal}', expected: ',' or 'end of string'")
        after, literal = self._peek()
        if after not in (_IDENTIFIER, "!"):
            raise SelectorError(f"found '{literal}', expected: identifier after ','")
        return True

    def _requirement(self) -> Requirement:
        symbol, literal = self._next()
        negated = symbol == "!"
        if negated:
            symbol, literal = self._next()
        if symbol != _IDENTIFIER:
            raise SelectorError(f"found '{literal}', expected: identifier")
        if errors := identifiers.label_key_errors(literal):
            raise SelectorError(
                str(fielderrors.invalid(fielderrors.ROOT, literal, "; ".join(errors)))
            )
        key = literal
        if negated or self._peek()[0] in (_END, ","):
            return Requirement(key, DOES_NOT_EXIST if negated else EXISTS)
        word, literal = self._tokens[self._position]
        self._position += 1
        if word not in _BINARY:
            raise SelectorError(f"found '{literal}', expected: {_BINARY_LISTED}")
        operator = _BINARY[word]
        values = self._values() if operator in (IN, NOT_IN) else self._exact_value()
        return make_requirement(key, operator, values)

    def _exact_value(self) -> set[str]:
        if self._peek()[0] in (_END, ","):
            return {""}
        symbol, literal = self._next()
        if symbol != _IDENTIFIER:
            raise SelectorError(f"found '{literal}', expected: identifier")
        return {literal}

    def _values(self) -> set[str]:
        symbol, literal = self._next()
        if symbol != "(":
            raise SelectorError(f"found '{literal}' expected: '('")
        symbol, literal = self._peek()
        if symbol == ")":
            self._next()
            return {""}
        if symbol not in (_IDENTIFIER, ","):
            raise SelectorError(f"found '{literal}', expected: ',', ')' or identifier")
        values: set[str] = set()
        while True:
            symbol, literal = self._next()
            after, following = self._peek()
            if symbol == _IDENTIFIER:
                values.add(literal)
                if after not in (",", ")"):
                    raise SelectorError(f"found '{following}', expected: ',' or ')'")
            elif symbol == ",":
                if not values or after in (",", ")"):
                    values.add("")
            else:
                raise SelectorError(f"found '{literal}', expected: ',', or identifier")
            if after == ")":
                self._next()
                return values


def parse(text: str) -> tuple[Requirement, ...]:
    """Parse the text form of requirements; returns them sorted by key."""
    return _Parser(text).parse()
