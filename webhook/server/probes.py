"""GET /healthz, /readyz and /metrics, on a port without TLS."""

from aiohttp import web

from webhook.runtime.health import Checks
from webhook.runtime.metrics import CONTENT_TYPE
from webhook.server.keys import LIVE, METRICS, READY


def add_probes(app: web.Application) -> None:
    """Add the routes for kubelets and Prometheus."""
    app.router.add_get("/healthz", _live)
    app.router.add_get("/readyz", _ready)
    app.router.add_get("/metrics", _expose)


async def _live(request: web.Request) -> web.Response:
    return _probe(request, "healthz", request.app[LIVE])


async def _ready(request: web.Request) -> web.Response:
    return _probe(request, "readyz", request.app[READY])


async def _expose(request: web.Request) -> web.Response:
    body = request.app[METRICS].expose()
    return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})


def _probe(request: web.Request, name: str, checks: Checks) -> web.Response:
    report = checks.report()
    text = report.text(name, verbose="verbose" in request.query)
    return web.Response(status=200 if report.passed else 503, text=text)
