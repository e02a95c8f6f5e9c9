"""Ways into other clusters: one client for each kubeconfig, kept for a while."""

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
from webhook.cluster.errors import UnreachableError
from webhook.runtime.metrics import Metrics
from webhook.runtime.writer import Writer

MOST = 64
"""Clients that are kept; whoever was not used for longest goes first."""


_FILE: Final = "kubeconfig"
_USER: Final = frozenset(
    {"token", "client-certificate-data", "client-key-data", "username", "password"}
)
_CLUSTER: Final = frozenset(
    {"server", "certificate-authority-data", "insecure-skip-tls-verify", "tls-server-name"}
)


class Remotes(Protocol):
    """Whoever knows the way into the cluster behind a kubeconfig."""

    async def writer(self, kubeconfig: str) -> Writer: ...


class Pool:
    """Opens clients when they are needed; an async context manager that closes them all."""

    def __init__(
        self, metrics: Metrics, may_write: Callable[[], bool] = lambda: True, most: int = MOST
    ) -> None:
        self._metrics = metrics
        self._may_write = may_write
        self._most = most
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
        """Give a writer for the cluster that a kubeconfig, given as text, leads to."""
        return (await self._get(kubeconfig))[2]

    async def client(self, kubeconfig: str) -> Client:
        """Give a client for the cluster that a kubeconfig, given as text, leads to."""
        return (await self._get(kubeconfig))[1]

    async def _get(self, kubeconfig: str) -> tuple[AsyncExitStack, Client, Writer]:
        async with self._lock:
            if kubeconfig not in self._open:
                self._open[kubeconfig] = await self._connect(kubeconfig)
            self._open.move_to_end(kubeconfig)
            while len(self._open) > self._most:
                _, (stack, *_) = self._open.popitem(last=False)
                await stack.aclose()
            return self._open[kubeconfig]

    async def _connect(self, kubeconfig: str) -> tuple[AsyncExitStack, Client, Writer]:
        require_plain(kubeconfig)
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


def require_plain(kubeconfig: str) -> None:
    """Refuse a kubeconfig that would run programs or read files of this machine.

    It comes out of a Secret that others may write; only what it holds itself may be used.
    """
    try:
        document = yaml.safe_load(kubeconfig)
    except yaml.YAMLError as error:
        raise UnreachableError("the kubeconfig of the shoot is no YAML") from error
    if not isinstance(document, dict):
        raise UnreachableError("the kubeconfig of the shoot is no kubeconfig")
    for group, inner, plain in (("users", "user", _USER), ("clusters", "cluster", _CLUSTER)):
        for entry in document.get(group) or ():
            given = entry.get(inner) if isinstance(entry, dict) else None
            if foreign := sorted({*(given or {})} - plain):
                raise UnreachableError(
                    f"the kubeconfig of the shoot uses {foreign[0]}: give its data inline"
                )


def _write_private(kubeconfig: str) -> tempfile.TemporaryDirectory[str]:
    """Keep a kubeconfig where nobody else can read it, for as long as its client lives."""
    folder = tempfile.TemporaryDirectory(prefix="espalier-")
    path = Path(folder.name) / _FILE
    path.touch(mode=0o600)
    path.write_text(kubeconfig)
    return folder
