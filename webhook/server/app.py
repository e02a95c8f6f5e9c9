"""Put the routes together: what is served with TLS, and what beside it without."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, TypeAlias

from aiohttp import web

from webhook.admission.engine import Table
from webhook.runtime.health import Checks
from webhook.runtime.metrics import Metrics
from webhook.server.admission import Admission, Granter, Memory
from webhook.server.authentication import certified
from webhook.server.errors import StrangerError
from webhook.server.extender import Extender
from webhook.server.keys import ADMISSION_AUTHORITIES, LIVE, METRICS, READY, TRAFFIC
from webhook.server.lane import LANES
from webhook.server.middleware import MAX_BODY, Door, Handler
from webhook.server.probes import add_probes
from webhook.server.traffic import Traffic

Role: TypeAlias = Literal["admission", "extender", "controllers", "nodegroups"]


@dataclass(frozen=True, slots=True)
class Services:
    """What the routes need."""

    memory: Memory
    table: Table
    metrics: Metrics
    traffic: Traffic
    extender: Extender | None = None
    admission_authorities: bytes = b""
    granter: Granter | None = None
    """Who takes permits of pools; without one no machine set changes its size."""


def build_app(services: Services, roles: Collection[Role]) -> web.Application:
    """Build what is served with TLS."""
    app = web.Application(client_max_size=MAX_BODY)
    app[METRICS], app[TRAFFIC] = services.metrics, services.traffic
    app[ADMISSION_AUTHORITIES] = services.admission_authorities
    door = Door(app[TRAFFIC], app[METRICS])
    if "admission" in roles:
        admission = Admission(services.memory, services.metrics, services.granter)
        lanes = {}
        for path, decide in (
            ("/mutate", services.table.mutate),
            ("/validate", services.table.validate),
        ):
            handler, quick = admission.handlers(path, decide)
            if app[ADMISSION_AUTHORITIES]:
                handler = _for_clients(handler)
            else:
                lanes[path] = door.shorten(path, quick)
            app.router.add_post(path, door.guard(path, handler))
        app[LANES] = lanes
    if "extender" in roles and services.extender is not None:
        _add_extender(app, door, services.extender)
    return app


def build_plain_app(live: Checks, ready: Checks, metrics: Metrics) -> web.Application:
    """Build what is served without TLS."""
    app = web.Application()
    app[LIVE], app[READY], app[METRICS] = live, ready, metrics
    add_probes(app)
    return app


def _add_extender(app: web.Application, door: Door, extender: Extender) -> None:
    for verb in ("filter", "prioritize", "preempt", "bind"):
        path = f"/scheduler/{verb}"
        app.router.add_post(path, door.guard(path, getattr(extender, verb)))
    explain = door.guard("/scheduler/explain", extender.explain)
    app.router.add_get("/scheduler/explain/{namespace}/{shoot}", explain)


def _for_clients(handler: Handler) -> Handler:
    async def handle(request: web.Request, deadline: float) -> web.Response:
        if certified(request, request.app[ADMISSION_AUTHORITIES]) is None:
            raise StrangerError("reviews are taken only with a client certificate")
        return await handler(request, deadline)

    return handle
