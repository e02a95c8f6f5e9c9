"""Who may do what: the question behind each request, and the 403 that answers it."""

from typing import Final

from webhook.api import gotext, status
from webhook.api.status import Qualified, StatusError
from webhook.apiserver.calls import User
from webhook.apiserver.rbac import Access, Rbac
from webhook.apiserver.requests import Target

#: What anyone may ask who asks whether the server is alive.
_METHODS: Final = {"POST": "post", "PUT": "put", "DELETE": "delete", "PATCH": "patch"}


def of_target(target: Target, verb: str) -> Access:
    """Describe a request for a resource."""
    return Access(
        verb, target.group, target.resource, target.subresource, target.namespace, target.name
    )


def of_path(method: str, path: str) -> Access:
    """Describe a request for anything else."""
    return Access(_METHODS.get(method, "get"), path=path)


def check(rbac: Rbac, user: User, access: Access) -> None:
    """Let pass, or raise the 403."""
    decision = rbac.decide(user, access)
    if not decision.allowed:
        raise denied(user, access, decision.reason)


def denied(user: User, access: Access, reason: str = "") -> StatusError:
    """Word a refusal as Kubernetes does."""
    who = f"User {gotext.quote(user.name)} cannot"
    tail = f": {reason}" if reason else ""
    if access.path:
        why = f"{who} {access.verb} path {gotext.quote(access.path)}{tail}"
        return status.forbidden(Qualified("", ""), "", why)
    where = (
        f"in the namespace {gotext.quote(access.namespace)}"
        if access.namespace
        else "at the cluster scope"
    )
    why = (
        f"{who} {access.verb} resource {gotext.quote(access.full_resource)} in API group "
        f"{gotext.quote(access.group)} {where}{tail}"
    )
    return status.forbidden(Qualified(access.group, access.resource), access.name, why)
