"""Act as someone else: the Impersonate headers, and who may use them."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import unquote

from multidict import CIMultiDictProxy

from webhook.api import gotext, status
from webhook.api.status import StatusError
from webhook.apiserver import authorization
from webhook.apiserver.calls import User
from webhook.apiserver.rbac import ACCOUNT_PREFIX, Access, Rbac

AUTHENTICATED: Final = "system:authenticated"
UNAUTHENTICATED: Final = "system:unauthenticated"
ANONYMOUS: Final = "system:anonymous"
ACCOUNTS: Final = "system:serviceaccounts"
_NODE_PREFIX: Final = "system:node:"
_AUTHENTICATION: Final = "authentication.k8s.io"
_EXTRA: Final = "impersonate-extra-"


@dataclass(slots=True)
class Wanted:
    """Whom the headers name."""

    name: str = ""
    uid: str = ""
    groups: list[str] = field(default_factory=list)
    extra: dict[str, list[str]] = field(default_factory=dict)


def wanted(headers: CIMultiDictProxy[str]) -> Wanted | None:
    """Read the headers; None if nobody is to be impersonated."""
    found = Wanted(headers.get("Impersonate-User", ""), headers.get("Impersonate-Uid", ""))
    found.groups = headers.getall("Impersonate-Group", [])
    for name, value in headers.items():
        lower = name.lower()
        if lower.startswith(_EXTRA):
            found.extra.setdefault(unquote(lower.removeprefix(_EXTRA)), []).append(value)
    if found.name:
        return found
    if found.uid or found.groups or found.extra:
        raise status.bad_request(f"requested {_go(found)} without impersonating a user name")
    return None


def _go(found: Wanted) -> str:
    """Show whom the headers name as Go does."""
    groups = "[]string(nil)"
    if found.groups:
        groups = _go_strings(found.groups)
    extra = "map[string][]string(nil)"
    if found.extra:
        pairs = (
            f"{gotext.quote(key)}:{_go_strings(found.extra[key])}" for key in sorted(found.extra)
        )
        extra = f"map[string][]string{{{', '.join(pairs)}}}"
    name, uid = gotext.quote(found.name), gotext.quote(found.uid)
    return f"&user.DefaultInfo{{Name:{name}, UID:{uid}, Groups:{groups}, Extra:{extra}}}"


def _go_strings(values: Iterable[str]) -> str:
    return "[]string{" + ", ".join(map(gotext.quote, values)) + "}"


def impersonated(rbac: Rbac, requestor: User, found: Wanted, access: Access) -> User:
    """Return whom the request is made as, or raise the 403.

    Kubernetes tries the constrained modes first, in which one may impersonate for some requests
    only, and the old all-embracing verb last; it tells of the first refusal.
    """
    first: StatusError | None = None
    for mode in _modes(found):
        try:
            return _by_mode(rbac, requestor, found, access, mode)
        except StatusError as error:
            first = first or error
    raise first or status.internal_error("no impersonation mode applies")


def _modes(found: Wanted) -> Iterable[str]:
    alone = not (found.uid or found.groups or found.extra)
    is_node, is_account = found.name.startswith(_NODE_PREFIX), _account(found.name) is not None
    if is_node and alone:
        yield "arbitrary-node"
    if is_account and alone:
        yield "serviceaccount"
    if not is_node and not is_account:
        yield "user-info"
    yield ""


def _by_mode(rbac: Rbac, requestor: User, found: Wanted, access: Access, mode: str) -> User:
    verb = "impersonate"
    if mode:
        on = access._replace(verb=f"impersonate-on:{mode}:{access.verb}")
        authorization.check(rbac, requestor, on)
        verb = f"impersonate:{mode}"
    for question in _questions(found, verb, constrained=bool(mode)):
        authorization.check(rbac, requestor, question)
    user = User(found.name, tuple(found.groups), found.uid, _frozen(found.extra))
    account = _account(found.name)
    if account is not None and not found.groups:
        user = replace(user, groups=(ACCOUNTS, f"{ACCOUNTS}:{account[0]}"))
    if mode == "arbitrary-node":
        user = replace(user, groups=("system:nodes",))
    if found.name == ANONYMOUS:
        return _with_group(user, UNAUTHENTICATED)
    return user if UNAUTHENTICATED in user.groups else _with_group(user, AUTHENTICATED)


def _questions(found: Wanted, verb: str, *, constrained: bool) -> Iterable[Access]:
    group = _AUTHENTICATION if constrained else ""
    account = _account(found.name)
    if account is not None:
        yield Access(verb, group, "serviceaccounts", "", account[0], account[1])
    elif constrained and found.name.startswith(_NODE_PREFIX):
        yield Access(verb, group, "nodes", name=found.name.removeprefix(_NODE_PREFIX))
    else:
        yield Access(verb, group, "users", name=found.name)
    if found.uid:
        yield Access(verb, _AUTHENTICATION, "uids", name=found.uid)
    for name in found.groups:
        yield Access(verb, group, "groups", name=name)
    for key, values in found.extra.items():
        for value in values:
            yield Access(verb, _AUTHENTICATION, "userextras", key, name=value)


def _account(name: str) -> tuple[str, str] | None:
    if not name.startswith(ACCOUNT_PREFIX):
        return None
    namespace, _, account = name.removeprefix(ACCOUNT_PREFIX).partition(":")
    return (namespace, account) if namespace and account else None


def _frozen(extra: dict[str, list[str]]) -> dict[str, tuple[str, ...]]:
    return {key: tuple(values) for key, values in extra.items()}


def _with_group(user: User, group: str) -> User:
    return user if group in user.groups else replace(user, groups=(*user.groups, group))
