"""The server as a whole: open the store, listen, and close in reverse order."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from aiohttp import web

from webhook.apiserver import bootstrap, credentials, plugins
from webhook.apiserver.admission import Chain
from webhook.apiserver.app import App
from webhook.apiserver.authentication import Authenticator
from webhook.apiserver.core import Core
from webhook.apiserver.credentials import MASTERS, Keyring
from webhook.apiserver.definitions import Definitions
from webhook.apiserver.disruption import Budgets
from webhook.apiserver.fields import fields_of
from webhook.apiserver.gate import Gate
from webhook.apiserver.gc import Collector
from webhook.apiserver.lookup import Lookup
from webhook.apiserver.namespaces import Namespaces
from webhook.apiserver.rbac import Rbac
from webhook.apiserver.registry import Registry
from webhook.apiserver.reviewing import Reviews
from webhook.apiserver.services import Services
from webhook.apiserver.storage import HISTORY, Store
from webhook.apiserver.tokens import Signer
from webhook.apiserver.virtual import Virtual
from webhook.apiserver.webhooks.client import Client


@dataclass(frozen=True, slots=True)
class Options:
    """How the server runs."""

    directory: Path
    host: str = "127.0.0.1"
    port: int = 0
    history: int = HISTORY
    addresses: tuple[str, ...] = field(default=())
    services: Mapping[str, str] = field(default_factory=dict)
    """Where webhooks behind Services listen: NAMESPACE/NAME to HOST:PORT."""


@dataclass(frozen=True, slots=True)
class Running:
    """A server that listens."""

    url: str
    kubeconfig: Path
    core: Core


@contextlib.asynccontextmanager
async def serving(options: Options) -> AsyncIterator[Running]:
    """Run a server as long as the context lasts."""
    registry = Registry()
    store = Store(
        options.directory / "store.db", partial(fields_of, registry), history=options.history
    )
    await store.open()
    core = Core(store, registry, Chain(), lambda: datetime.now(UTC))
    client = Client(Services(core, options.services).resolve)
    rbac = Rbac(core)
    core.admission = plugins.chain(core, rbac, client)
    definitions = Definitions(core)
    definitions.start()
    try:
        await bootstrap.ensure(core)
        store.compact()
        keyring = Keyring(options.directory / "pki")
        context = await asyncio.to_thread(_context, keyring, options)
        signer = await asyncio.to_thread(Signer.at, keyring.folder / "service-accounts.key")
        app = _app(core, rbac, signer)
        authority = await asyncio.to_thread(keyring.authority.certificate.read_text)
        async with _working(core, authority), _listening(app, options, context) as port:
            url = f"https://{_shown(options.host)}:{port}"
            kubeconfig = options.directory / "kubeconfig"
            await asyncio.to_thread(_write_kubeconfig, keyring, kubeconfig, url)
            yield Running(url, kubeconfig, core)
    finally:
        await client.close()
        await definitions.stop()
        await store.close()


def _app(core: Core, rbac: Rbac, signer: Signer) -> App:
    authenticator = Authenticator(signer, Lookup(core), lambda: core.now().timestamp())
    virtual = Virtual(core, Reviews(core, rbac, signer), signer)
    return App(core, Gate(authenticator, rbac).enter, virtual)


@contextlib.asynccontextmanager
async def _working(core: Core, authority: str) -> AsyncIterator[None]:
    """Run the controllers that every cluster has."""
    controllers = (Collector(core), Namespaces(core, authority), Budgets(core))
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(controller.run()) for controller in controllers]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


def _context(keyring: Keyring, options: Options) -> ssl.SSLContext:
    authority = keyring.authority
    return credentials.server_context(keyring.server((options.host, *options.addresses)), authority)


def _write_kubeconfig(keyring: Keyring, path: Path, url: str) -> None:
    client = keyring.client("admin", (MASTERS,))
    credentials.write_kubeconfig(path, url, keyring.authority, client)


def _shown(host: str) -> str:
    if host in ("0.0.0.0", "::"):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


@contextlib.asynccontextmanager
async def _listening(app: App, options: Options, context: ssl.SSLContext) -> AsyncIterator[int]:
    server = web.Server(app.handle, access_log=None)
    runner = web.ServerRunner(server, shutdown_timeout=1.0)
    await runner.setup()
    site = web.TCPSite(runner, options.host, options.port, ssl_context=context)
    await site.start()
    try:
        yield _port(site)
    finally:
        await runner.cleanup()


def _port(site: web.TCPSite) -> int:
    listener: Any = site._server
    return int(listener.sockets[0].getsockname()[1])
