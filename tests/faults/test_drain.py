"""A server that is stopped under load answers every request before it exits."""

import asyncio
import signal
import ssl
from uuid import uuid4

import aiohttp
import pytest

from tests.support.review_load import ReviewLoad
from tests.support.server_processes import Replica, running
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.controllers.installation.certificates import CertificateStore
from webhook.kube.clock import SystemClock
from webhook.kube.meta import ObjectKey
from webhook.tls.material import CertificateProfile

PROPAGATION = 1.0
"""How long a Service's endpoints lag behind readiness."""

pytestmark = pytest.mark.timeout(300)


class Endpoints:
    """The endpoints of a Service: servers that were ready a moment ago, in turn."""

    def __init__(self, *replicas: Replica) -> None:
        self._replicas = replicas
        self._ready = [*replicas]
        self._turn = 0

    def choose(self) -> str:
        self._turn += 1
        replica = self._ready[self._turn % len(self._ready)]
        return f"https://localhost:{replica.port}/validate?timeout=30s"

    async def follow(self) -> None:
        async with aiohttp.ClientSession() as session:
            while True:
                ready = [each for each in self._replicas if await each.is_ready(session)]
                await asyncio.sleep(PROPAGATION)
                self._ready = ready or self._ready


async def test_a_stop_under_load_with_connection_reuse_fails_nobody(embedded_server, tmp_path):
    namespace = f"drain-{uuid4().hex[:8]}"
    flags = (
        *("--namespace", namespace, "--roles", "admission", "--certificate-names", "localhost"),
        *("--drain-quiet", "5", "--drain-longest", "90"),
    )
    leaving, staying = (
        Replica(name, tmp_path, embedded_server.kubeconfig, *flags)
        for name in ("leaving", "staying")
    )
    async with (
        running(leaving, staying),
        Client(await config.load(str(embedded_server.kubeconfig))) as api,
    ):
        await asyncio.gather(leaving.until_ready(), staying.until_ready())
        key = ObjectKey(namespace, "espalier-tls")
        store = CertificateStore(api, key, CertificateProfile(("localhost",)), SystemClock())
        material, _ = await store.read()
        context = ssl.create_default_context(cadata=material.trusted.decode())
        endpoints = Endpoints(leaving, staying)
        callers = ReviewLoad(endpoints.choose, context)
        following = asyncio.create_task(endpoints.follow())
        calling = asyncio.create_task(callers.run(reusing=8, pause=0.01))
        await asyncio.sleep(2)
        leaving.send(signal.SIGTERM)
        async with asyncio.timeout(150):
            code = await leaving.process.wait()
        await callers.until(1_000)
        await asyncio.sleep(1)
        callers.stop()
        await calling
        following.cancel()
    assert code == 0
    assert callers.failures == []
    assert callers.answered >= 1_000
    assert callers.closed > 0, "who leaves asks its callers to close their connections"
    messages = [line["message"] for line in leaving.lines()]
    assert messages[-1] == "stopped"
