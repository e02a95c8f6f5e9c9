"""The server for cluster-autoscalers: its parts, its listener and its processes."""

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
from webhook.kube.clock import Clock, SystemClock
from webhook.nodegroups.catchup import CacheCatchUp
from webhook.nodegroups.metrics import GroupCollector, GroupMetrics
from webhook.nodegroups.provider import Provider
from webhook.nodegroups.records import PoolRecords
from webhook.nodegroups.resizer import Resizer
from webhook.nodegroups.service import ListenOptions, ServingCredentials, serving
from webhook.nodegroups.views import Views
from webhook.runtime.metrics import Metrics
from webhook.runtime.tasks import background
from webhook.server.listeners import require_free
from webhook.settings import Settings
from webhook.settingsfile import flag_name
from webhook.tls.bundle import BundleError
from webhook.wiring.certificates import Certificates, read_ca_file
from webhook.wiring.shutdown import CALL_STOP_SECONDS, CHILD_STOP_SECONDS

logger = logging.getLogger(__name__)

LOOPBACK: Final = "127.0.0.1"

_RESTART_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 1.0


class NodeGroups:
    """Serves autoscalers in one process."""

    def __init__(
        self,
        settings: Settings,
        client: Client,
        cache: Cache,
        records: PoolRecords,
        metrics: Metrics,
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
        """Serve for the duration of the block, in as many processes as set; yields the port."""
        self._views.listen()
        calls = GroupMetrics(self._metrics.registry)
        self._metrics.registry.register(GroupCollector(self._cache, self._views))
        resizer = Resizer(self._client, self._cache, self._records, self._views, self._clock)
        catch_up = CacheCatchUp(self._client, self._cache, self._clock)
        provider = Provider(self._views, resizer, catch_up, calls)
        async with AsyncExitStack() as stack:
            options = listen_options(self._settings, certificates)
            if not self._settings.nodegroups_beside:
                require_free(options.host, options.port)  # a shared port would hide a conflict
            port = await stack.enter_async_context(serving(provider, calls, options))
            if parent := self._settings.nodegroups_beside:
                await stack.enter_async_context(background("parent", _exit_with(parent)))
            if self._settings.nodegroups_processes > 1:
                processes = _keep_all_running(self._settings, port)
                await stack.enter_async_context(background("processes", processes))
            yield port


def listen_options(settings: Settings, certificates: Certificates) -> ListenOptions:
    """Return the address and the credentials of the listener; raises BundleError without a CA."""
    shared = settings.nodegroups_processes > 1 or settings.nodegroups_beside > 0
    if settings.nodegroups_insecure:
        return ListenOptions(
            LOOPBACK,
            settings.nodegroups_port,
            None,
            settings.nodegroups_insecure,
            shared,
            CALL_STOP_SECONDS,
        )
    given = settings.nodegroups_client_ca
    authorities = read_ca_file(given) if given is not None else b""
    if not authorities and not certificates.trusted:
        raise BundleError(
            "there is no CA for autoscalers: add ca.crt to the certificate directory,"
            " or set --nodegroups-client-ca"
        )

    def credentials() -> ServingCredentials:
        pair = certificates.rotation.serving.pair
        return ServingCredentials(pair, authorities or certificates.trusted)

    return ListenOptions(
        settings.host,
        settings.nodegroups_port,
        credentials,
        is_shared=shared,
        stop_seconds=CALL_STOP_SECONDS,
    )


async def _keep_all_running(settings: Settings, port: int) -> None:
    """Run all further processes; they start and stop at the same time."""
    async with asyncio.TaskGroup() as tasks:
        for number in range(1, settings.nodegroups_processes):
            tasks.create_task(_keep_running(f"nodegroups-{number}", settings, port))


async def _keep_running(name: str, settings: Settings, port: int) -> None:
    """Run a further process on the same port; one that exits is restarted.

    The kernel assigns each connection to one process, and an autoscaler keeps its connection, so
    namespaces are spread. Processes that serve the same namespace synchronize by its pool records.
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
                await _stop(process)
        logger.error("process exited, restarting it", extra={"child": name, "code": code})
        await asyncio.sleep(_RESTART_SECONDS)


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Stop a process, by force if it takes too long."""
    process.terminate()
    try:
        async with asyncio.timeout(CHILD_STOP_SECONDS):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()


async def _exit_with(parent: int) -> None:
    """Stop this process gracefully once its parent is gone."""
    while os.getppid() == parent:  # noqa: ASYNC110 - there is no event for it
        await asyncio.sleep(_POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.Event().wait()


def child_arguments(settings: Settings, name: str, port: int) -> list[str]:
    """Return the arguments of a further process: the same settings but for unique ones."""
    own = {
        "identity": f"{settings.identity}-{name}",
        "roles": "nodegroups",
        "port": "0",
        "http_port": "0",
        "nodegroups_port": str(port),
        "nodegroups_processes": "1",
        "nodegroups_beside": str(os.getpid()),
        # No endpoints lead to its ports, so there is nothing to drain.
        "drain_quiet": "0",
        "drain_longest": "0",
    }
    given = {
        field: _format(getattr(settings, field))
        for field, about in Settings.model_fields.items()
        if not is_dataclass(about.annotation)
        and getattr(settings, field) != about.default
        and getattr(settings, field) is not None
    }
    return [f"{flag_name(field)}={value}" for field, value in {**given, **own}.items()]


def _format(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, tuple) else str(value)
