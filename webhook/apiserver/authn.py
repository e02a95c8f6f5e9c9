"""Who asks: the subject of the client certificate."""

from aiohttp import web

from webhook.api import status
from webhook.apiserver.calls import User


async def authenticate(request: web.BaseRequest) -> User:
    """Name the user, or refuse a stranger."""
    transport = request.transport
    certificate = transport.get_extra_info("peercert") if transport is not None else None
    if not certificate:
        raise status.unauthorized()
    subject = [pair for parts in certificate["subject"] for pair in parts]
    names = [value for key, value in subject if key == "commonName"]
    groups = tuple(value for key, value in subject if key == "organizationName")
    return User(names[0], (*groups, "system:authenticated"))
