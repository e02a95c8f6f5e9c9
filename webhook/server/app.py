"""The routes of the server: one application behind TLS, and one for probes and metrics."""

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from aiohttp import web

from webhook.admission.engine import PolicyTable
from webhook.runtime.health import Checks
from webhook.runtime.metrics import Metrics
from webhook.server.admission import GrantExecutor, ReviewHandler
from webhook.server.authentication import certificate_identity
from webhook.server.errors import UnauthenticatedError
from webhook.server.extender import Extender
from webhook.server.fastpath import FAST_PATHS, FastHandler, FastPaths
from webhook.server.keys import LIVE, METRICS, READY, TRAFFIC
from webhook.server.middleware import GuardedHandler, Handler, RequestGuard, read_body
from webhook.server.probes import add_probes
from webhook.server.traffic import Traffic
from webhook.state.views import CacheReader

Role: TypeAlias = Literal["admission", "extender", "controllers", "nodegroups"]

_JSON: Final = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Services:
    """The dependencies of the routes."""

    cache: CacheReader
    table: PolicyTable
    metrics: Metrics
    traffic: Traffic
    extender: Extender | None = None
    admission_authorities: bytes = b""
    """CA bundle; if it is not empty, reviews require a client certificate of it."""
    granter: GrantExecutor | None = None
    """Takes permits of pools; without it no machine set changes its size."""
    fast_path: bool = True
    """Whether small reviews bypass aiohttp's request handling."""
    admission_names: frozenset[str] = frozenset()
    """The common names of API servers in their certificates; any name if it is empty."""


def build_app(services: Services, roles: Collection[Role]) -> web.Application:
    """Build the application behind TLS."""
    app = web.Application()
    app[TRAFFIC], app[METRICS] = services.traffic, services.metrics
    if "admission" in roles:
        _add_admission(app, services)
    if "extender" in roles and services.extender is not None:
        _add_extender(app, services, services.extender)
    return app


def build_plain_app(live: Checks, ready: Checks, metrics: Metrics) -> web.Application:
    """Build the application without TLS."""
    app = web.Application()
    app[LIVE], app[READY], app[METRICS] = live, ready, metrics
    add_probes(app)
    return app


def _add_admission(app: web.Application, services: Services) -> None:
    def admits(transport: asyncio.BaseTransport | None) -> bool:
        authorities, names = services.admission_authorities, services.admission_names
        if not authorities:
            return True
        identity = certificate_identity(transport, authorities)
        return identity is not None and (not names or identity.username in names)

    fast_handlers: dict[str, FastHandler] = {}
    decisions = (("/mutate", services.table.mutate), ("/validate", services.table.validate))
    for path, decide in decisions:
        guard = RequestGuard(path, services.traffic, services.metrics)
        reviews = ReviewHandler(
            path,
            decide,
            services.cache,
            services.metrics,
            services.granter,
            services.traffic.pacing,
        )
        app.router.add_post(path, guard.wrap(_review_handler(reviews, admits)))
        fast_handlers[path] = guard.wrap_fast(reviews.handle_now)
    if services.fast_path:
        app[FAST_PATHS] = FastPaths(fast_handlers, admits, services.traffic.bodies)


def _review_handler(
    reviews: ReviewHandler, admits: Callable[[asyncio.BaseTransport | None], bool]
) -> Handler:
    async def handle(request: web.Request, deadline: float) -> web.Response:
        if not admits(request.transport):
            raise UnauthenticatedError("reviews require a client certificate")
        body = await reviews.handle(await read_body(request, deadline), deadline)
        return web.Response(body=body, headers=_JSON)

    return handle


def _add_extender(app: web.Application, services: Services, extender: Extender) -> None:
    def wrap(path: str, handler: Handler) -> GuardedHandler:
        return RequestGuard(path, services.traffic, services.metrics).wrap(handler)

    for verb in ("filter", "prioritize", "preempt", "bind"):
        path = f"/scheduler/{verb}"
        app.router.add_post(path, wrap(path, getattr(extender, verb)))
    explain = wrap("/scheduler/explain", extender.explain)
    app.router.add_get("/scheduler/explain/{namespace}/{shoot}", explain)
