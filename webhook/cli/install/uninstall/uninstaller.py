"""Removes an installation: webhooks first, then what Espalier wrote, CRDs on request."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from webhook.api import names
from webhook.api.core import (
    ConfigMap,
    Deployment,
    MutatingWebhookConfiguration,
    Namespace,
    ValidatingWebhookConfiguration,
)
from webhook.api.kinds import kind_of_model
from webhook.api.shoots import Shoot
from webhook.cli.install.layout import NAME, Layout
from webhook.cli.install.uninstall import marks
from webhook.cli.install.uninstall.cleanup import Cleaner, is_served
from webhook.cli.install.uninstall.leases import wait_until_lease_expires
from webhook.cli.install.uninstall.removal import DELETE_SECONDS, Remover
from webhook.cli.install.uninstall.retries import Retrier
from webhook.cluster import discovery
from webhook.cluster.client import Client
from webhook.cluster.discovery import InstalledApis
from webhook.cluster.errors import AlreadyExistsError, ApiError, ForbiddenError, NotFoundError
from webhook.cluster.requests import Selection
from webhook.controllers.installation.uninstall_marker import POLL_SECONDS
from webhook.kube.meta import ObjectKey

_WEBHOOKS: Final = (MutatingWebhookConfiguration, ValidatingWebhookConfiguration)

MARKER_SECONDS: Final = 2.5 * POLL_SECONDS
"""How long the marker exists at least, so that all servers read it, not only the leader."""


class PendingShootsError(Exception):
    """Shoots wait for Espalier to place them; the message lists them and names the remedy."""


class Uninstaller:
    """Removes one installation."""

    def __init__(
        self,
        client: Client,
        layout: Layout,
        report: Callable[[str], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._namespace = layout.namespace
        self._report = report
        self._sleep = sleep
        self._remover = Remover(client, report, Retrier(sleep), sleep)

    async def run(self, *, with_definitions: bool, force: bool) -> list[str]:
        """Remove everything in order; return the problems."""
        found = await discovery.read_installed_apis(self._client)
        await self._check_pending_shoots(found, force=force)
        marker_until = asyncio.get_running_loop().time() + MARKER_SECONDS
        await self._stop_servers()
        problems = await self._collect(
            wait_until_lease_expires(
                self._client, self._own_key(NAME), self._report, DELETE_SECONDS
            )
        )
        cleaner = Cleaner(self._client, found, self._report, self._sleep)
        problems += await cleaner.restore()
        problems += await cleaner.clean()
        problems += await self._remover.delete_installation()
        if with_definitions:
            problems += await self._remover.delete_definitions(found)
        return problems + await self._collect(self._clean_namespace(marker_until))

    async def _check_pending_shoots(self, found: InstalledApis, *, force: bool) -> None:
        """Raise PendingShootsError if only Espalier would place some shoots; not with `force`."""
        if not is_served(found, kind_of_model(Shoot)):
            return
        shoots = await self._client.list(Selection(kind_of_model(Shoot)))
        pending = [*marks.pending_shoots(shoots)]
        if not pending:
            return
        message = (
            f"{len(pending)} shoots have schedulerName {names.SCHEDULER_NAME} and no seed, "
            "nobody would place them any more"
        )
        listed = "".join(f"\n  {name}" for name in pending)
        if not force:
            raise PendingShootsError(f"{message}; continue with --force:{listed}")
        self._report(f"{message}:{listed}")

    async def _stop_servers(self) -> None:
        """Create the marker at which servers stop writing; delete webhooks and Deployment."""
        key = self._own_key(names.UNINSTALL_MARKER)
        marker = {"metadata": {"name": key.name, "namespace": key.namespace}}
        try:
            await self._client.create(kind_of_model(ConfigMap), key, marker)
        except AlreadyExistsError:
            pass
        except (NotFoundError, ForbiddenError):
            # Objects cannot be created in a terminating namespace, and no server runs there.
            self._report(f"namespace {key.namespace} is gone or terminating")
        for model in _WEBHOOKS:
            await self._remover.delete_and_wait(model, ObjectKey("", NAME))
        await self._remover.delete_and_wait(Deployment, self._own_key(NAME))

    async def _clean_namespace(self, marker_until: float) -> list[str]:
        """Delete the namespace if it is ours, else only our objects in it, the marker last."""
        key = ObjectKey("", self._namespace)
        found = await self._remover.find(kind_of_model(Namespace), key)
        if found is None:
            return []
        if (found["metadata"].get("labels") or {}).get(names.MANAGED_BY) == NAME:
            try:
                await self._remover.delete_and_wait(Namespace, key)
            except TimeoutError:
                return [f"namespace {key} is still terminating, see its conditions"]
            return []
        problems = await self._remover.delete_state(key.name)
        await self._sleep(max(0.0, marker_until - asyncio.get_running_loop().time()))
        return problems + await self._remover.delete(
            ConfigMap, self._own_key(names.UNINSTALL_MARKER)
        )

    async def _collect(self, step: Awaitable[list[str]]) -> list[str]:
        """Run a step; an error becomes one more problem, so that earlier ones are reported, too."""
        try:
            return await step
        except ApiError as error:
            return [str(error)]

    def _own_key(self, name: str) -> ObjectKey:
        return ObjectKey(self._namespace, name)
