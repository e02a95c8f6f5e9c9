"""The gate that every request passes: who asks, as whom, and whether they may."""

from aiohttp import web

from webhook.apiserver import authorization, impersonation
from webhook.apiserver.authentication import Authenticator
from webhook.apiserver.calls import User
from webhook.apiserver.rbac import Access, Rbac
from webhook.apiserver.requests import parse_path, verb_of


class Gate:
    """Lets in who may come in."""

    def __init__(self, authenticator: Authenticator, rbac: Rbac) -> None:
        self._authenticator = authenticator
        self._rbac = rbac

    async def enter(self, request: web.BaseRequest) -> User:
        """Return in whose name a request is carried out, or raise a 401 or 403."""
        user = await self._authenticator.authenticate(request)
        access = access_of(request)
        wanted = impersonation.wanted(request.headers)
        if wanted is not None:
            user = impersonation.impersonated(self._rbac, user, wanted, access)
        authorization.check(self._rbac, user, access)
        return user


def access_of(request: web.BaseRequest) -> Access:
    """Describe what a request wants to do."""
    target = parse_path([part for part in request.path.split("/") if part])
    if target is None:
        return authorization.of_path(request.method, request.path)
    return authorization.of_target(target, verb_of(request.method, target, request.query))
