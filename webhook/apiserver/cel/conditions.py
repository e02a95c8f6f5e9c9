"""matchConditions: compiled when a webhook is configured, evaluated for each request."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from celpy import Environment
from celpy.adapter import json_to_cel
from celpy.celparser import CELParseError
from celpy.evaluation import CELEvalError

from webhook.apiserver.cel import authorizers, functions
from webhook.apiserver.cel.authorizers import Authorizer, Question
from webhook.apiserver.cel.checking import Checker, Issue
from webhook.apiserver.cel.failures import told
from webhook.apiserver.cel.types import BOOL, VARIABLES

#: Kubernetes' bounds; an expression that is longer or nested deeper costs more than a request may.
MAX_LENGTH: Final = 10 * 1024
_OPTIONAL: Final = re.compile(r"\.\s*\?|\[\s*\?|\{\s*\?|,\s*\?")
_QUOTED: Final = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*\"""")
_EXPECTED: Final = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, "
    "BYTES, IDENTIFIER}"
)
_FUNCTIONS: Final = {**functions.FUNCTIONS, **authorizers.FUNCTIONS}


class BadExpressionError(ValueError):
    """An expression that cannot be a condition."""


class Verdict(NamedTuple):
    """Whether a webhook is called; an error that its failurePolicy decides about."""

    matches: bool
    error: str = ""


class Inputs(NamedTuple):
    """What expressions see."""

    object: Any
    old_object: Any
    request: Mapping[str, Any]
    namespace: Any
    authorizer: Authorizer
    about: Question


@lru_cache(maxsize=1024)
def compiled(expression: str) -> Any:
    """Compile a condition, or say why it is none; the text is what Kubernetes answers."""
    return program(expression, VARIABLES, (BOOL,), _FUNCTIONS)


def program(
    expression: str,
    variables: Mapping[str, str],
    kinds: tuple[str, ...],
    known: Mapping[str, functions.Function],
) -> Any:
    """Compile an expression of one of some types."""
    if len(expression) > MAX_LENGTH:
        raise BadExpressionError(f"expression is longer than {MAX_LENGTH} characters")
    _refuse_optional(expression)
    environment = Environment()
    try:
        tree = environment.compile(expression)
    except CELParseError as error:
        raise BadExpressionError(_syntax_error(expression, error)) from error
    checker = Checker(expression, variables)
    kind = checker.check(tree)
    if checker.issues:
        shown = "\n".join(issue.shown(expression) for issue in sorted(checker.issues))
        raise BadExpressionError(f"compilation failed: {shown}")
    if kind not in kinds:
        raise BadExpressionError(f"must evaluate to {kinds[0]} but got {kind}")
    return environment.program(tree, functions={**known})


def _refuse_optional(expression: str) -> None:
    bare = _QUOTED.sub(lambda match: "_" * len(match[0]), expression)
    found = _OPTIONAL.search(bare)
    if found is not None:
        before = expression[: found.end() - 1]
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        text = "optional syntax is not supported by this API server"
        issue = Issue(line, column, text)
        raise BadExpressionError(f"compilation failed: {issue.shown(expression)}")


def _syntax_error(expression: str, error: CELParseError) -> str:
    """Word it as CEL's own compiler does for the mistakes that people make."""
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
    return f"compilation failed: {issue.shown(expression)}"


def verdict(conditions: Sequence[Mapping[str, Any]], inputs: Inputs) -> Verdict:
    """Evaluate all conditions: one that is false decides, else one that fails is an error."""
    activation = {
        "object": json_to_cel(inputs.object),
        "oldObject": json_to_cel(inputs.old_object),
        "request": json_to_cel(dict(inputs.request)),
        "namespaceObject": json_to_cel(inputs.namespace),
        "authorizer": authorizers.value(inputs.authorizer, inputs.about),
    }
    errors = []
    for condition in conditions:
        expression = condition["expression"]
        try:
            result = compiled(expression).evaluate(activation)
        except CELEvalError as error:
            errors.append(_failed(condition, error))
            continue
        except BadExpressionError as error:
            errors.append(f"compilation error: {error}")
            continue
        if not result:
            return Verdict(False)
    if errors:
        return Verdict(True, errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return Verdict(True)


def _failed(condition: Mapping[str, Any], error: CELEvalError) -> str:
    return f"expression '{condition['expression']}' resulted in error: {told(error)}"
