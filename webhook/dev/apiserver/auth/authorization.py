"""Authorization of requests by RBAC, with Kubernetes' message for a 403."""

from typing import Final

from webhook.dev.apiserver.auth.rbac import AccessAttributes, Rbac
from webhook.dev.apiserver.endpoints.calls import User
from webhook.dev.apiserver.endpoints.requestinfo import RequestInfo
from webhook.kube import gotext, status
from webhook.kube.status import Qualified, StatusError

_METHODS: Final = {"POST": "post", "PUT": "put", "DELETE": "delete", "PATCH": "patch"}
"""Verbs of non-resource requests by HTTP method; all others are `get`."""


def attributes_of_resource(target: RequestInfo, verb: str) -> AccessAttributes:
    """Return the attributes of a request for a resource."""
    return AccessAttributes(
        verb, target.group, target.resource, target.subresource, target.namespace, target.name
    )


def attributes_of_path(method: str, path: str) -> AccessAttributes:
    """Return the attributes of a request for a non-resource path."""
    return AccessAttributes(_METHODS.get(method, "get"), path=path)


def authorize(rbac: Rbac, user: User, access: AccessAttributes) -> None:
    """Raise a 403 unless RBAC allows the access."""
    decision = rbac.decide(user, access)
    if not decision.allowed:
        raise forbidden(user, access, decision.reason)


def forbidden(user: User, access: AccessAttributes, reason: str = "") -> StatusError:
    """Return a 403 with Kubernetes' message."""
    who = f"User {gotext.quote(user.name)} cannot"
    tail = f": {reason}" if reason else ""
    if access.path:
        why = f"{who} {access.verb} path {gotext.quote(access.path)}{tail}"
        return status.forbidden(Qualified("", ""), "", why)
    scope = (
        f"in the namespace {gotext.quote(access.namespace)}"
        if access.namespace
        else "at the cluster scope"
    )
    why = (
        f"{who} {access.verb} resource {gotext.quote(access.full_resource)} in API group "
        f"{gotext.quote(access.group)} {scope}{tail}"
    )
    return status.forbidden(Qualified(access.group, access.resource), access.name, why)
