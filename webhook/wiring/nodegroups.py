"""Put the node groups together: what answers autoscalers, and where that listens."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import is_dataclass
from typing import Final

from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.nodegroups.catchup import CatchUp
from webhook.nodegroups.metrics import GroupCollector, GroupMetrics
from webhook.nodegroups.provider import Provider
from webhook.nodegroups.record import Records
from webhook.nodegroups.resizing import Resizer
from webhook.nodegroups.service import Credentials, Listening, serving
from webhook.nodegroups.views import Views
from webhook.runtime.clock import Clock, SystemClock
from webhook.runtime.manager import background
from webhook.runtime.metrics import Metrics
from webhook.server.listeners import require_free
from webhook.settings import Settings, flag
from webhook.tls.bundle import BundleError
from webhook.wiring.certificates import Certificates, read_authority

logger = logging.getLogger(__name__)

LOOPBACK: Final = "127.0.0.1"

_RESTART_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 1.0


class NodeGroups:
    """What answers autoscalers, in one process."""

    def __init__(
        self, settings: Settings, client: Client, cache: Cache, records: Records, metrics: Metrics
    ) -> None:
        self._settings = settings
        self._clock: Clock = SystemClock()
        self._records = records
        self._views = Views(cache, self._clock)
        self._cache = cache
        self._client = client
        self._metrics = metrics

    @asynccontextmanager
    async def serving(self, certificates: Certificates) -> AsyncIterator[int]:
        """Serve while the block runs, in as many processes as the settings say; gives the port."""
        self._views.follow()
        calls = GroupMetrics(self._metrics.registry)
        self._metrics.registry.register(GroupCollector(self._cache, self._views))
        resizer = Resizer(self._client, self._cache, self._records, self._views, self._clock)
        catch_up = CatchUp(self._client, self._cache, self._clock)
        provider = Provider(self._views, resizer, catch_up, calls)
        async with AsyncExitStack() as stack:
            where = listening_of(self._settings, certificates)
            if not self._settings.nodegroups_beside:
                require_free(where.host, where.port)  # sharing would hide who has it already
            port = await stack.enter_async_context(serving(provider, calls, where))
            if parent := self._settings.nodegroups_beside:
                await stack.enter_async_context(background("parent", _end_with(parent)))
            for number in range(1, self._settings.nodegroups_processes):
                name = f"nodegroups-{number}"
                await stack.enter_async_context(
                    background(name, _keep_running(name, self._settings, port))
                )
            yield port


def listening_of(settings: Settings, certificates: Certificates) -> Listening:
    """Say where to listen and whom to let in; raises BundleError without an authority."""
    shared = settings.nodegroups_processes > 1 or settings.nodegroups_beside > 0
    if settings.nodegroups_insecure:
        return Listening(
            LOOPBACK, settings.nodegroups_port, None, settings.nodegroups_insecure, shared
        )
    given = settings.nodegroups_client_ca
    authorities = read_authority(given) if given is not None else b""
    if not authorities and not certificates.trusted:
        raise BundleError(
            "nobody vouches for autoscalers: add ca.crt to the certificate directory,"
            " or name a file by --nodegroups-client-ca"
        )

    def credentials() -> Credentials:
        pair = certificates.rotation.serving.pair
        return Credentials(pair, authorities or certificates.trusted)

    return Listening(settings.host, settings.nodegroups_port, credentials, is_shared=shared)


async def _keep_running(name: str, settings: Settings, port: int) -> None:
    """Run another process of the same kind on the same port; one that ends is replaced.

    The kernel gives each connection to one of them, and an autoscaler keeps its connection, so
    namespaces are spread. Two that serve the same namespace meet in its pools' records.
    """
    arguments = child_arguments(settings, name, port)
    while True:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "webhook", "serve", *arguments
        )
        try:
            code = await process.wait()
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()
        logger.error("process ended, it is started again", extra={"child": name, "code": code})
        await asyncio.sleep(_RESTART_SECONDS)


async def _end_with(parent: int) -> None:
    """Stop, in good order, once the process that started this one is gone."""
    while os.getppid() == parent:  # noqa: ASYNC110 - the kernel tells nobody but by this number
        await asyncio.sleep(_LOOK_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.Event().wait()


def child_arguments(settings: Settings, name: str, port: int) -> list[str]:
    """Spell the settings of another process: the same, but for what only one may have."""
    own = {
        "identity": f"{settings.identity}-{name}",
        "roles": "nodegroups",
        "port": "0",
        "http_port": "0",
        "nodegroups_port": str(port),
        "nodegroups_processes": "1",
        "nodegroups_beside": str(os.getpid()),
    }
    given = {
        field: _spelled(getattr(settings, field))
        for field, about in Settings.model_fields.items()
        if not is_dataclass(about.annotation)
        and getattr(settings, field) != about.default
        and getattr(settings, field) is not None
    }
    return [f"{flag(field)}={value}" for field, value in {**given, **own}.items()]


def _spelled(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
