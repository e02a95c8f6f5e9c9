"""Messages of evaluation errors, as Kubernetes' CEL words them."""

import re
from typing import Final

from celpy.evaluation import CELEvalError

_MISSING: Final = re.compile(r"no such member in mapping: '(.*)'")


def error_message(error: CELEvalError) -> str:
    """Return Kubernetes' message for an evaluation error."""
    text, cause, details = (*error.args, None, None, ())[:3]
    if missing := _MISSING.search(str(text)):
        return f"no such key: {missing[1]}"
    if cause is KeyError and details:
        return f"no such key: {details[0]}"
    if cause is ZeroDivisionError:
        return "division by zero"
    if cause is TypeError and details and str(details[0]).startswith("no such overload"):
        return "no such overload"
    return str(text)
