"""A pool of clients for other clusters, one for each kubeconfig."""

import asyncio
import tempfile
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self

import yaml

from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.config import ConfigError
from webhook.cluster.errors import ApiError, UnreachableError
from webhook.cluster.live_reader import read_remote
from webhook.runtime.metrics import Metrics
from webhook.runtime.writer import Writer
from webhook.state.live_reads import LiveResult, RemoteGet, Unreachable

MAX_CLIENTS: Final = 64
"""The size of the pool; the least recently used client is closed first."""

_FILE: Final = "kubeconfig"
_INLINE_FIELDS: Final = (
    (
        "users",
        "user",
        {"token", "client-certificate-data", "client-key-data", "username", "password"},
    ),
    (
        "clusters",
        "cluster",
        {"server", "certificate-authority-data", "insecure-skip-tls-verify", "tls-server-name"},
    ),
)
"""The fields of users and clusters that hold their data inline."""


class RemoteClusters(Protocol):
    """Reads from other clusters, and gives writers for them."""

    async def writer(self, kubeconfig: str) -> Writer: ...
    async def read(self, read: RemoteGet, seconds: float) -> LiveResult: ...


class ClientPool:
    """Opens clients on demand; an async context manager that closes them all."""

    def __init__(
        self,
        metrics: Metrics,
        may_write: Callable[[], bool] = lambda: True,
        max_clients: int = MAX_CLIENTS,
    ) -> None:
        self._metrics = metrics
        self._may_write = may_write
        self._max_clients = max_clients
        self._lock = asyncio.Lock()
        self._open: OrderedDict[str, tuple[AsyncExitStack, Client, Writer]] = OrderedDict()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while self._open:
            _, (stack, *_) = self._open.popitem()
            await stack.aclose()

    async def writer(self, kubeconfig: str) -> Writer:
        """Return a writer for the cluster of a kubeconfig, given as text."""
        return (await self._get(kubeconfig))[2]

    async def read(self, read: RemoteGet, seconds: float) -> LiveResult:
        """Get an object of the cluster of a kubeconfig; `Unreachable` after any failure."""
        try:
            client = await self.client(read.kubeconfig)
        except ApiError as error:
            return Unreachable(str(error))
        return await read_remote(client, read, seconds)

    async def client(self, kubeconfig: str) -> Client:
        """Return a client for the cluster of a kubeconfig, given as text."""
        return (await self._get(kubeconfig))[1]

    async def _get(self, kubeconfig: str) -> tuple[AsyncExitStack, Client, Writer]:
        async with self._lock:
            if kubeconfig not in self._open:
                self._open[kubeconfig] = await self._connect(kubeconfig)
            self._open.move_to_end(kubeconfig)
            while len(self._open) > self._max_clients:
                _, (stack, *_) = self._open.popitem(last=False)
                await stack.aclose()
            return self._open[kubeconfig]

    async def _connect(self, kubeconfig: str) -> tuple[AsyncExitStack, Client, Writer]:
        require_inline(kubeconfig)
        async with AsyncExitStack() as stack:
            folder = await asyncio.to_thread(_write_private, kubeconfig)
            stack.push_async_callback(asyncio.to_thread, folder.cleanup)
            path = Path(folder.name) / _FILE
            try:
                access = await config.load(str(path))
            except ConfigError as error:
                raise UnreachableError(f"the kubeconfig of the shoot: {error}") from error
            client = await stack.enter_async_context(Client(access))
            writer = Writer(client, self._metrics, self._may_write)
            return stack.pop_all(), client, writer


def require_inline(kubeconfig: str) -> None:
    """Refuse a kubeconfig that would run programs or read files of this machine.

    It comes from a Secret that others may write, so only inline data may be used.
    """
    try:
        document = yaml.safe_load(kubeconfig)
    except yaml.YAMLError as error:
        raise UnreachableError("the kubeconfig of the shoot is not YAML") from error
    if not isinstance(document, dict):
        raise UnreachableError("the kubeconfig of the shoot is not a mapping")
    for group, inner, allowed in _INLINE_FIELDS:
        for entry in document.get(group) or ():
            given = entry.get(inner) if isinstance(entry, dict) else None
            if forbidden := sorted({*(given or {})} - allowed):
                raise UnreachableError(
                    f"the kubeconfig of the shoot uses {forbidden[0]}: give its data inline"
                )


def _write_private(kubeconfig: str) -> tempfile.TemporaryDirectory[str]:
    """Write a kubeconfig to a private temporary folder, for the lifetime of its client."""
    folder = tempfile.TemporaryDirectory(prefix="espalier-")
    path = Path(folder.name) / _FILE
    path.touch(mode=0o600)
    path.write_text(kubeconfig)
    return folder
