"""matchConditions of webhooks: compiled at configuration, evaluated for each request."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from celpy.adapter import json_to_cel
from celpy.evaluation import CELEvalError

from webhook.dev.apiserver.cel import authorizers, functions
from webhook.dev.apiserver.cel.authorizers import AccessQuery, Authorizer
from webhook.dev.apiserver.cel.compiler import BadExpressionError, compile_expression
from webhook.dev.apiserver.cel.declarations import BOOL, VARIABLES
from webhook.dev.apiserver.cel.errormessages import error_message
from webhook.kube.meta import Raw

_FUNCTIONS: Final = {**functions.FUNCTIONS, **authorizers.FUNCTIONS}


class MatchResult(NamedTuple):
    """Whether all conditions match; with an error, the webhook's failurePolicy applies."""

    matches: bool
    error: str = ""


class Inputs(NamedTuple):
    """The variables of an expression."""

    object: Any
    old_object: Any
    request: Raw
    namespace: Any
    authorizer: Authorizer
    request_query: AccessQuery


@lru_cache(maxsize=1024)
def compile_condition(expression: str) -> Any:
    """Compile a condition; raise BadExpressionError with the message of Kubernetes."""
    return compile_expression(expression, VARIABLES, (BOOL,), _FUNCTIONS)


def evaluate(conditions: Sequence[Raw], inputs: Inputs) -> MatchResult:
    """Evaluate all conditions; a false one decides, otherwise errors are reported."""
    activation = {
        "object": json_to_cel(inputs.object),
        "oldObject": json_to_cel(inputs.old_object),
        "request": json_to_cel(dict(inputs.request)),
        "namespaceObject": json_to_cel(inputs.namespace),
        "authorizer": authorizers.authorizer_value(inputs.authorizer, inputs.request_query),
    }
    errors = []
    for condition in conditions:
        expression = condition["expression"]
        try:
            result = compile_condition(expression).evaluate(activation)
        except CELEvalError as error:
            errors.append(_evaluation_error(condition, error))
            continue
        except BadExpressionError as error:
            errors.append(f"compilation error: {error}")
            continue
        if not result:
            return MatchResult(False)
    if errors:
        return MatchResult(True, errors[0] if len(errors) == 1 else f"[{', '.join(errors)}]")
    return MatchResult(True)


def _evaluation_error(condition: Raw, error: CELEvalError) -> str:
    return f"expression '{condition['expression']}' resulted in error: {error_message(error)}"
