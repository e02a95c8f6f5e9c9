"""Calls webhooks all the time and records the certificates that are served."""

import asyncio
import base64
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.faults.webhook_registration import BAD
from webhook.api.core import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from webhook.api.kinds import kind_of_model
from webhook.api.shoots import Shoot
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, InvalidError
from webhook.kube.meta import ObjectKey
from webhook.tls.bundle import parse_certificates

CONFIGURATIONS = [
    kind_of_model(MutatingWebhookConfiguration),
    kind_of_model(ValidatingWebhookConfiguration),
]


@dataclass
class CertificateWatcher:
    """Calls webhooks through the API server all the time, and records what is served."""

    api: Client
    port: int
    refused: int = 0
    failures: list[str] = field(default_factory=list)
    published: list[tuple[float, int]] = field(default_factory=list)
    """The earliest time at which all caBundles had a number of CAs."""
    served: list[tuple[float, bytes]] = field(default_factory=list)
    """When each certificate was first presented to a new connection."""

    async def call(self) -> None:
        kind = kind_of_model(Shoot)
        while True:
            try:
                await self.api.create(kind, ObjectKey("default", ""), BAD, query={"dryRun": "All"})
                self.failures.append("nobody refused it")
            except InvalidError as error:
                self.refused += "spec.provider.workers[0].maximum" in error.message
            except ApiError as error:
                self.failures.append(error.message)
            await asyncio.sleep(0.02)

    async def look(self) -> None:
        begun = time.monotonic()
        while True:
            before, begun = begun, time.monotonic()
            try:
                bundles = await self._bundles()
            except ApiError:
                continue  # an API server that is short of time proves nothing about webhooks
            sizes = {len(parse_certificates(bundle)) for bundle in bundles}
            if len(sizes) == 1 and (size := sizes.pop()) != self._size:
                self.published.append((before, size))
            try:
                found = await presented(self.port, bundles)
            except (ssl.SSLError, OSError) as error:
                self.failures.append(f"not trusted by what is published: {error}")
            else:
                if not self.served or self.served[-1][1] != found:
                    self.served.append((time.monotonic(), found))
            await asyncio.sleep(0.02)

    @property
    def _size(self) -> int:
        return self.published[-1][1] if self.published else 0

    async def _bundles(self) -> list[bytes]:
        found = set()
        for kind in CONFIGURATIONS:
            raw = await self.api.get(kind, ObjectKey("", "espalier"))
            found |= {each["clientConfig"]["caBundle"] for each in raw["webhooks"]}
        return [base64.b64decode(each) for each in found]


async def presented(port: int, bundles: list[bytes]) -> bytes:
    """Return the certificate of a new connection, if each of the bundles verifies it."""
    der = b""
    for bundle in bundles:
        context = ssl.create_default_context(cadata=bundle.decode())
        _, writer = await asyncio.open_connection(
            "127.0.0.1", port, ssl=context, server_hostname="127.0.0.1"
        )
        der = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        writer.close()
    return der


@asynccontextmanager
async def watching_certificates(api: Client, port: int) -> AsyncIterator[CertificateWatcher]:
    watcher = CertificateWatcher(api, port)
    tasks = [asyncio.create_task(watcher.call()), asyncio.create_task(watcher.look())]
    try:
        yield watcher
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()
