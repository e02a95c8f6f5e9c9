"""Impersonation: the Impersonate headers, and the permissions that they require."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import unquote

from multidict import CIMultiDictProxy

from webhook.dev.apiserver.auth import authorization
from webhook.dev.apiserver.auth.rbac import ACCOUNT_PREFIX, AccessAttributes, Rbac
from webhook.dev.apiserver.endpoints.calls import User
from webhook.kube import gotext, status
from webhook.kube.status import StatusError

AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
ANONYMOUS: Final = "system:anonymous"
ACCOUNTS: Final = "system:serviceaccounts"
_NODE_PREFIX: Final = "system:node:"
_AUTHENTICATION: Final = "authentication.k8s.io"
_EXTRA: Final = "impersonate-extra-"


@dataclass(slots=True)
class ImpersonatedUser:
    """The user that the headers name."""

    name: str = ""
    uid: str = ""
    groups: list[str] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)


def requested_user(headers: CIMultiDictProxy[str]) -> ImpersonatedUser | None:
    """Parse the headers; None if they name no user."""
    requested = ImpersonatedUser(
        headers.get("Impersonate-User", ""), headers.get("Impersonate-Uid", "")
    )
    requested.groups = headers.getall("Impersonate-Group", [])
    for name, value in headers.items():
        lower = name.lower()
        if lower.startswith(_EXTRA):
            requested.extra.setdefault(unquote(lower.removeprefix(_EXTRA)), []).append(value)
    if requested.name:
        return requested
    if requested.uid or requested.groups or requested.extra:
        raise status.bad_request(
            f"requested {_go_syntax(requested)} without impersonating a user name"
        )
    return None


def _go_syntax(requested: ImpersonatedUser) -> str:
    """Format the requested user in Go syntax, as Kubernetes' message does."""
    groups = "[]string(nil)"
    if requested.groups:
        groups = _go_strings(requested.groups)
    extra = "map[string][]string(nil)"
    if requested.extra:
        pairs = (
            f"{gotext.quote(key)}:{_go_strings(requested.extra[key])}"
            for key in sorted(requested.extra)
        )
        extra = f"map[string][]string{{{', '.join(pairs)}}}"
    name, uid = gotext.quote(requested.name), gotext.quote(requested.uid)
    return f"&user.DefaultInfo{{Name:{name}, UID:{uid}, Groups:{groups}, Extra:{extra}}}"


def _go_strings(values: Iterable[str]) -> str:
    return "[]string{" + ", ".join(map(gotext.quote, values)) + "}"


def impersonate(
    rbac: Rbac, requestor: User, requested: ImpersonatedUser, access: AccessAttributes
) -> User:
    """Return the impersonated user, or raise a 403.

    Kubernetes tries the constrained modes first, which allow impersonation for some requests only,
    and the unconstrained verb `impersonate` last. The error is that of the first mode.

    Of the constrained modes only that of a ServiceAccount which impersonates its own node is
    missing.
    """
    first: StatusError | None = None
    for mode in _modes(requested):
        try:
            return _by_mode(rbac, requestor, requested, access, mode)
        except StatusError as error:
            first = first or error
    raise first or status.internal_error("no impersonation mode applies")


def _modes(requested: ImpersonatedUser) -> Iterable[str]:
    name_only = not (requested.uid or requested.groups or requested.extra)
    is_node, is_account = (
        requested.name.startswith(_NODE_PREFIX),
        _account(requested.name) is not None,
    )
    if is_node and name_only:
        yield "arbitrary-node"
    if is_account and name_only:
        yield "serviceaccount"
    if not is_node and not is_account:
        yield "user-info"
    yield ""


def _by_mode(
    rbac: Rbac, requestor: User, requested: ImpersonatedUser, access: AccessAttributes, mode: str
) -> User:
    verb = "impersonate"
    if mode:
        on = access._replace(verb=f"impersonate-on:{mode}:{access.verb}")
        authorization.authorize(rbac, requestor, on)
        verb = f"impersonate:{mode}"
    for required in _required_access(requested, verb, constrained=bool(mode)):
        authorization.authorize(rbac, requestor, required)
    user = User(requested.name, tuple(requested.groups), requested.uid, _freeze(requested.extra))
    account = _account(requested.name)
    if account is not None and not requested.groups:
        user = replace(user, groups=(ACCOUNTS, f"{ACCOUNTS}:{account[0]}"))
    if mode == "arbitrary-node":
        user = replace(user, groups=("system:nodes",))
    if requested.name == ANONYMOUS:
        return _with_group(user, UNAUTHENTICATED)
    return user if UNAUTHENTICATED in user.groups else _with_group(user, AUTHENTICATED)


def _required_access(
    requested: ImpersonatedUser, verb: str, *, constrained: bool
) -> Iterable[AccessAttributes]:
    group = _AUTHENTICATION if constrained else ""
    account = _account(requested.name)
    if account is not None:
        yield AccessAttributes(verb, group, "serviceaccounts", "", account[0], account[1])
    elif constrained and requested.name.startswith(_NODE_PREFIX):
        yield AccessAttributes(verb, group, "nodes", name=requested.name.removeprefix(_NODE_PREFIX))
    else:
        yield AccessAttributes(verb, group, "users", name=requested.name)
    if requested.uid:
        yield AccessAttributes(verb, _AUTHENTICATION, "uids", name=requested.uid)
    for name in requested.groups:
        yield AccessAttributes(verb, group, "groups", name=name)
    for key, values in requested.extra.items():
        for value in values:
            yield AccessAttributes(verb, _AUTHENTICATION, "userextras", key, name=value)


def _account(name: str) -> tuple[str, str] | None:
    if not name.startswith(ACCOUNT_PREFIX):
        return None
    namespace, _, account = name.removeprefix(ACCOUNT_PREFIX).partition(":")
    return (namespace, account) if namespace and account else None


def _freeze(extra: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {key: tuple(values) for key, values in extra.items()}


def _with_group(user: User, group: str) -> User:
    return user if group in user.groups else replace(user, groups=(*user.groups, group))
