"""GET /healthz, /readyz and /metrics, on a port without TLS."""

from aiohttp import web

from webhook.runtime.health import Checks
from webhook.runtime.metrics import CONTENT_TYPE, Metrics


def add_probes(app: web.Application, live: Checks, ready: Checks, metrics: Metrics) -> None:
    """Add the routes that kubelets and Prometheus ask."""

    def probe(name: str, checks: Checks) -> None:
        async def answer(request: web.Request) -> web.Response:
            report = checks.report()
            verbose = "verbose" in request.query
            return web.Response(
                status=200 if report.passed else 503, text=report.text(name, verbose=verbose)
            )

        app.router.add_get(f"/{name}", answer)

    async def expose(_request: web.Request) -> web.Response:
        return web.Response(body=metrics.expose(), headers={"Content-Type": CONTENT_TYPE})

    probe("healthz", live)
    probe("readyz", ready)
    app.router.add_get("/metrics", expose)
