"""Compile expressions: parse, check types, and report errors as CEL's own compiler does."""

import re
import sys
from collections.abc import Mapping
from typing import Any, Final

from celpy import Environment
from celpy.celparser import CELParseError

from webhook.dev.apiserver.cel import declarations, functions
from webhook.dev.apiserver.cel.checker import UNSUPPORTED, Checker, Issue, Tree

MAX_LENGTH: Final = 10 * 1024
"""Kubernetes' limit; a longer expression costs more than a request may."""
_OPTIONAL: Final = re.compile(r"\.\s*\?|\[\s*\?|\{\s*\?|,\s*\?")
_QUOTED: Final = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\"""")
_EXPECTED: Final = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
    "BYTES, IDENTIFIER}"
)


class BadExpressionError(ValueError):
    """An expression that does not compile."""


class UnsupportedExpressionError(BadExpressionError):
    """An expression that compiles in Kubernetes, but not in this API server."""


def new_environment() -> Environment:
    """Return an environment of celpy, without the recursion limit that it sets for the process."""
    limit = sys.getrecursionlimit()
    try:
        return Environment()
    finally:
        sys.setrecursionlimit(max(limit, sys.getrecursionlimit()))


def compile_expression(
    expression: str,
    variables: Mapping[str, str],
    result_types: tuple[str, ...],
    known_functions: Mapping[str, functions.Function],
) -> Any:
    """Compile an expression that evaluates to one of some types."""
    environment = new_environment()
    tree, result_type = check_expression(expression, variables, environment=environment)
    if result_type not in result_types:
        raise BadExpressionError(f"must evaluate to {result_types[0]} but got {result_type}")
    return environment.program(tree, functions={**known_functions})


def check_expression(
    expression: str,
    variables: Mapping[str, str],
    fields: Mapping[str, Mapping[str, str]] = declarations.FIELDS,
    *,
    environment: Environment | None = None,
) -> tuple[Tree, str]:
    """Parse an expression and check its types; return its tree and the type of its result."""
    if len(expression) > MAX_LENGTH:
        raise BadExpressionError(f"expression is longer than {MAX_LENGTH} characters")
    _reject_optional_syntax(expression)
    try:
        tree = (environment or new_environment()).compile(expression)
    except CELParseError as error:
        raise BadExpressionError(_syntax_error(expression, error)) from error
    checker = Checker(expression, variables, fields)
    result_type = checker.check(tree)
    if checker.issues:
        issues = "\n".join(issue.format(expression) for issue in sorted(checker.issues))
        text = f"compilation failed: {issues}"
        is_unsupported = any(UNSUPPORTED in issue.text for issue in checker.issues)
        raise UnsupportedExpressionError(text) if is_unsupported else BadExpressionError(text)
    return tree, result_type


def _reject_optional_syntax(expression: str) -> None:
    unquoted = _QUOTED.sub(lambda match: "_" * len(match[0]), expression)
    found = _OPTIONAL.search(unquoted)
    if found is not None:
        before = expression[: found.end() - 1]
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        issue = Issue(line, column, f"optional syntax {UNSUPPORTED}")
        raise UnsupportedExpressionError(f"compilation failed: {issue.format(expression)}")


def _syntax_error(expression: str, error: CELParseError) -> str:
    """Return the message of CEL's own compiler for the most common syntax errors."""
    token = getattr(error.__context__, "token", None)
    lines = expression.split("\n")
    if token is None:
        line, column = error.line or 1, error.column or 1
        text = f"token recognition error at: '{lines[line - 1][column - 1 :]}'"
    elif token.type != "$END":
        line, column = error.line or 1, error.column or 1
        text = f"extraneous input '{token}' expecting {_EXPECTED}"
    else:
        line, column = len(lines), len(lines[-1]) + 1
        if expression.endswith("."):
            text = "no viable alternative at input '.'"
        elif _QUOTED.sub("", expression).count("(") > _QUOTED.sub("", expression).count(")"):
            text = "missing ')' at '<EOF>'"
        else:
            text = f"mismatched input '<EOF>' expecting {_EXPECTED}"
    issue = Issue(line, column, f"Syntax error: {text}")
    return f"compilation failed: {issue.format(expression)}"
