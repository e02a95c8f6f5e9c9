"""The `authorizer` of expressions: ask whether whoever sent the request may do something."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from celpy import celtypes

from webhook.apiserver.cel.functions import Function


@dataclass(frozen=True, slots=True)
class Question:
    """What an expression asks about; a path stands for itself."""

    verb: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    service_account: str = ""


#: Answers a question; the second value says why.
Authorizer = Callable[[Question], tuple[bool, str]]


class _Check(celtypes.MapType):
    """A question that is still being put together."""

    def __init__(self, ask: Authorizer, question: Question) -> None:
        super().__init__({})
        self.ask = ask
        self.question = question

    def with_(self, **parts: str) -> "_Check":
        return _Check(self.ask, replace(self.question, **parts))


class _Decision(celtypes.MapType):
    """An answer."""

    def __init__(self, allowed: bool, reason: str) -> None:
        super().__init__({})
        self.allowed = allowed
        self.reason = reason


def value(ask: Authorizer, about: Question) -> celtypes.MapType:
    """Make the value of `authorizer`; `about` is what the request itself asks for."""
    root = _Check(ask, Question())
    root[celtypes.StringType("requestResource")] = _Check(ask, about)
    return root


def _part(name: str) -> Function:
    def method(check: Any, argument: Any) -> Any:
        if not isinstance(check, _Check):
            raise TypeError("no such overload")
        return check.with_(**{name: str(argument)})

    method.__name__ = name
    return method


def _service_account(check: Any, namespace: Any, name: Any) -> Any:
    return check.with_(service_account=f"{namespace}/{name}")


def _check(check: Any, verb: Any) -> Any:
    return _Decision(*check.ask(replace(check.question, verb=str(verb))))


def _allowed(decision: Any) -> Any:
    return celtypes.BoolType(decision.allowed)


def _reason(decision: Any) -> Any:
    return celtypes.StringType(decision.reason)


FUNCTIONS: Final[dict[str, Function]] = {
    **{
        name: _part(name)
        for name in ("group", "resource", "subresource", "namespace", "name", "path")
    },
    "serviceAccount": _service_account,
    "check": _check,
    "allowed": _allowed,
    "reason": _reason,
    "errored": lambda decision: celtypes.BoolType(False),
    "error": lambda decision: celtypes.StringType(""),
}
