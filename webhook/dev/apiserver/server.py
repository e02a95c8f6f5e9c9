"""Assembles the server: opens the store, starts controllers and listens."""

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

from webhook.dev.apiserver import bootstrap
from webhook.dev.apiserver.admission import plugins
from webhook.dev.apiserver.admission.chain import Chain
from webhook.dev.apiserver.app import App
from webhook.dev.apiserver.auth import certificates
from webhook.dev.apiserver.auth.accessreviews import ReviewHandler
from webhook.dev.apiserver.auth.authentication import Authenticator
from webhook.dev.apiserver.auth.certificates import Keyring
from webhook.dev.apiserver.auth.filters import AuthFilter
from webhook.dev.apiserver.auth.rbac import MASTERS, Rbac
from webhook.dev.apiserver.auth.tokens import Signer
from webhook.dev.apiserver.controllers.definitions import DefinitionController
from webhook.dev.apiserver.controllers.disruption import DisruptionController
from webhook.dev.apiserver.controllers.garbagecollector import GarbageCollector
from webhook.dev.apiserver.controllers.namespaces import NamespaceController
from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.registry.registry import Registry
from webhook.dev.apiserver.storage.fieldselectors import selectable_fields
from webhook.dev.apiserver.storage.lookup import StoreReader
from webhook.dev.apiserver.storage.store import HISTORY, Store
from webhook.dev.apiserver.verbs.virtual import VirtualResources
from webhook.dev.apiserver.webhooks.client import WebhookClient
from webhook.dev.apiserver.webhooks.credentials import WebhookCredentials
from webhook.dev.apiserver.webhooks.serviceresolver import ServiceResolver


@dataclass(frozen=True, slots=True)
class Options:
    """The options of the command line."""

    directory: Path
    host: str = "127.0.0.1"
    port: int = 0
    history: int = HISTORY
    addresses: tuple[str, ...] = field(default=())
    services: Mapping[str, str] = field(default_factory=dict)
    """Addresses of Services: NAMESPACE/NAME to HOST:PORT."""
    admission_config: Path | None = None
    """An AdmissionConfiguration, with the client certificates for webhooks."""


@dataclass(frozen=True, slots=True)
class Running:
    """A running server."""

    url: str
    kubeconfig: Path
    core: Core


@contextlib.asynccontextmanager
async def serving(options: Options) -> AsyncIterator[Running]:
    """Run a server within the context."""
    credentials = None
    if options.admission_config is not None:
        credentials = await asyncio.to_thread(WebhookCredentials.load, options.admission_config)
    registry = Registry()
    store = Store(
        options.directory / "store.db",
        partial(selectable_fields, registry),
        history=options.history,
    )
    await store.open()
    core = Core(store, registry, Chain(), lambda: datetime.now(UTC))
    client = WebhookClient(ServiceResolver(core, options.services).resolve, credentials)
    rbac = Rbac(core)
    core.admission = plugins.chain(core, rbac, client)
    definitions = DefinitionController(core)
    definitions.start()
    try:
        await bootstrap.ensure(core)
        store.compact()
        keyring = Keyring(options.directory / "pki")
        context = await asyncio.to_thread(_context, keyring, options)
        signer = await asyncio.to_thread(Signer.at, keyring.folder / "service-accounts.key")
        app = _app(core, rbac, signer)
        authority = await asyncio.to_thread(keyring.authority.certificate.read_text)
        async with _running_controllers(core, authority), _listening(app, options, context) as port:
            url = f"https://{_connect_host(options.host)}:{port}"
            kubeconfig = options.directory / "kubeconfig"
            await asyncio.to_thread(_write_kubeconfig, keyring, kubeconfig, url)
            yield Running(url, kubeconfig, core)
    finally:
        await client.close()
        await definitions.stop()
        await store.close()


def _app(core: Core, rbac: Rbac, signer: Signer) -> App:
    authenticator = Authenticator(signer, StoreReader(core), lambda: core.now().timestamp())
    virtual = VirtualResources(core, ReviewHandler(core, rbac, signer), signer)
    return App(core, AuthFilter(authenticator, rbac).authorize, virtual)


@contextlib.asynccontextmanager
async def _running_controllers(core: Core, authority: str) -> AsyncIterator[None]:
    """Run the controllers within the context."""
    controllers = (
        GarbageCollector(core),
        NamespaceController(core, authority),
        DisruptionController(core),
    )
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(controller.run()) for controller in controllers]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


def _context(keyring: Keyring, options: Options) -> ssl.SSLContext:
    authority = keyring.authority
    return certificates.server_context(
        keyring.server((options.host, *options.addresses)), authority
    )


def _write_kubeconfig(keyring: Keyring, path: Path, url: str) -> None:
    client = keyring.client("admin", (MASTERS,))
    certificates.write_kubeconfig(path, url, keyring.authority, client)


def _connect_host(host: str) -> str:
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
