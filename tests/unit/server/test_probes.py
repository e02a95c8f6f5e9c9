from pytest_aiohttp import AiohttpClient

from webhook.runtime.health import PASSED, CheckResult, Checks
from webhook.runtime.metrics import Metrics
from webhook.server.app import build_plain_app


async def test_probes_and_metrics_are_served_without_tls(aiohttp_client: AiohttpClient) -> None:
    live, ready = Checks(), Checks()
    verdicts = [PASSED]
    ready.add("cache", lambda: verdicts[0])
    client = await aiohttp_client(build_plain_app(live, ready, Metrics()))
    response = await client.get("/healthz")
    assert (response.status, await response.text()) == (200, "ok")

    response = await client.get("/readyz")
    assert (response.status, await response.text()) == (200, "ok")
    response = await client.get("/readyz?verbose")
    assert await response.text() == "[+]cache ok\nreadyz check passed\n"

    verdicts[0] = CheckResult(True, "stale: shoots.core.gardener.cloud")
    response = await client.get("/readyz")
    assert response.status == 200
    assert "shoots.core.gardener.cloud" in await response.text()

    verdicts[0] = CheckResult(False, "every watch is lost")
    response = await client.get("/readyz")
    assert response.status == 503
    assert "every watch is lost" in await response.text()

    response = await client.get("/metrics")
    assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    assert "espalier_requests_in_flight" in await response.text()
