"""The variable `authorizer` of expressions, which checks the access of the requesting user."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from celpy import celtypes

from webhook.dev.apiserver.cel.functions import Function


@dataclass(frozen=True, slots=True)
class AccessQuery:
    """The access that an expression checks: a verb on a resource, or on a non-resource path."""

    verb: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""
    service_account: str = ""


Authorizer: TypeAlias = Callable[[AccessQuery], tuple[bool, str]]
"""Returns whether access is allowed, and the reason."""


class _Check(celtypes.MapType):
    """A check whose attributes the methods of an expression set one by one."""

    def __init__(self, authorize: Authorizer, query: AccessQuery) -> None:
        super().__init__({})
        self.authorize = authorize
        self.query = query

    def with_(self, **attributes: str) -> "_Check":
        return _Check(self.authorize, replace(self.query, **attributes))


class _Decision(celtypes.MapType):
    """The result of a check."""

    def __init__(self, allowed: bool, reason: str) -> None:
        super().__init__({})
        self.allowed = allowed
        self.reason = reason


def authorizer_value(authorize: Authorizer, request_query: AccessQuery) -> celtypes.MapType:
    """Return the value of `authorizer`; `request_query` describes the request itself."""
    root = _Check(authorize, AccessQuery())
    root[celtypes.StringType("requestResource")] = _Check(authorize, request_query)
    return root


def _attribute(name: str) -> Function:
    """Make the method that sets an attribute of a check."""

    def method(check: Any, argument: Any) -> Any:
        if not isinstance(check, _Check):
            raise TypeError("no such overload")
        return check.with_(**{name: str(argument)})

    method.__name__ = name
    return method


def _service_account(check: Any, namespace: Any, name: Any) -> Any:
    return check.with_(service_account=f"{namespace}/{name}")


def _check(check: Any, verb: Any) -> Any:
    return _Decision(*check.authorize(replace(check.query, verb=str(verb))))


def _allowed(decision: Any) -> Any:
    return celtypes.BoolType(decision.allowed)


def _reason(decision: Any) -> Any:
    return celtypes.StringType(decision.reason)


FUNCTIONS: Final[dict[str, Function]] = {
    **{
        name: _attribute(name)
        for name in ("group", "resource", "subresource", "namespace", "name", "path")
    },
    "serviceAccount": _service_account,
    "check": _check,
    "allowed": _allowed,
    "reason": _reason,
    "errored": lambda decision: celtypes.BoolType(False),
    "error": lambda decision: celtypes.StringType(""),
}
"""The methods of `authorizer`, of its checks and of their decisions."""
