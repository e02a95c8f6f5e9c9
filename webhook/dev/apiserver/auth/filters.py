"""The filters that every request passes: authentication, impersonation, authorization."""

from aiohttp import web

from webhook.dev.apiserver.auth import authorization, impersonation
from webhook.dev.apiserver.auth.authentication import Authenticator
from webhook.dev.apiserver.auth.rbac import AccessAttributes, Rbac
from webhook.dev.apiserver.endpoints.calls import User
from webhook.dev.apiserver.endpoints.requestinfo import parse_path, verb_of


class AuthFilter:
    """Authenticates and authorizes requests."""

    def __init__(self, authenticator: Authenticator, rbac: Rbac) -> None:
        self._authenticator = authenticator
        self._rbac = rbac

    async def authorize(self, request: web.BaseRequest) -> User:
        """Return the user, or the impersonated one, of an allowed request; raise a 401 or 403."""
        user = await self._authenticator.authenticate(request)
        attributes = attributes_of(request)
        requested = impersonation.requested_user(request.headers)
        if requested is not None:
            user = impersonation.impersonate(self._rbac, user, requested, attributes)
        authorization.authorize(self._rbac, user, attributes)
        return user


def attributes_of(request: web.BaseRequest) -> AccessAttributes:
    """Return the access that a request needs."""
    info = parse_path([part for part in request.path.split("/") if part])
    if info is None:
        return authorization.attributes_of_path(request.method, request.path)
    verb = verb_of(request.method, info, request.query)
    return authorization.attributes_of_resource(info, verb)
