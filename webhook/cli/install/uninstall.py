"""Take Espalier out of a cluster: webhooks first, then what it wrote, definitions if asked."""

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
from webhook.api.meta import ObjectKey
from webhook.api.shoots import Shoot
from webhook.cli.install import leaving
from webhook.cli.install.insisting import Insistence
from webhook.cli.install.layout import NAME, Layout
from webhook.cli.install.leaders import wait_until_nobody_leads
from webhook.cli.install.removing import PATIENCE, Remover
from webhook.cli.install.sweeping import Sweeper, is_served
from webhook.cluster import landscape
from webhook.cluster.client import Client
from webhook.cluster.errors import AlreadyExistsError, ApiError, ForbiddenError, NotFoundError
from webhook.cluster.landscape import Landscape
from webhook.cluster.requests import Selection
from webhook.controllers.leaving import LOOK_SECONDS

_HOOKS: Final = (MutatingWebhookConfiguration, ValidatingWebhookConfiguration)

SIGN_SECONDS: Final = 2.5 * LOOK_SECONDS
"""How long the sign stays up at least, so that servers that do not lead have seen it, too."""


class StillNeededError(Exception):
    """Raised when leaving would strand somebody; the message says whom and how to go on."""


class Uninstall:
    """One removal of one installation."""

    def __init__(
        self,
        client: Client,
        layout: Layout,
        say: Callable[[str], None],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._client = client
        self._namespace = layout.namespace
        self._say = say
        self._sleep = sleep
        self._remover = Remover(client, say, Insistence(sleep), sleep)

    async def run(self, *, with_definitions: bool, force: bool) -> list[str]:
        """Remove everything in order and return what could not be removed."""
        found = await landscape.ask(self._client)
        await self._ask_for_consent(found, force=force)
        sign_until = asyncio.get_running_loop().time() + SIGN_SECONDS
        await self._stop_servers()
        problems = await self._try(
            wait_until_nobody_leads(self._client, self._own(NAME), self._say, PATIENCE)
        )
        sweeper = Sweeper(self._client, found, self._say, self._sleep)
        problems += await sweeper.settle()
        problems += await sweeper.clean()
        problems += await self._remover.installation()
        if with_definitions:
            problems += await self._remover.definitions(found)
        return problems + await self._try(self._leave_namespace(sign_until))

    async def _ask_for_consent(self, found: Landscape, *, force: bool) -> None:
        if not is_served(found, kind_of_model(Shoot)):
            return
        shoots = await landscape.read_all(self._client, Selection(kind_of_model(Shoot)))
        waiting = [*leaving.waiting_for_us(shoots)]
        if not waiting:
            return
        told = (
            f"{len(waiting)} shoots have schedulerName {names.SCHEDULER_NAME} and no seed, "
            "nobody would place them any more"
        )
        listed = "".join(f"\n  {name}" for name in waiting)
        if not force:
            raise StillNeededError(f"{told}; go on with --force:{listed}")
        self._say(f"{told}:{listed}")

    async def _stop_servers(self) -> None:
        """Tell servers, in the cluster or outside, to keep nothing any more; then take them off."""
        key = self._own(names.LEAVING)
        marker = {"metadata": {"name": key.name, "namespace": key.namespace}}
        try:
            await self._client.create(kind_of_model(ConfigMap), key, marker)
        except AlreadyExistsError:
            pass
        except (NotFoundError, ForbiddenError):
            # Nothing can be made in a namespace that terminates, and no server lives there.
            self._say(f"namespace {key.namespace} is gone or going")
        for model in _HOOKS:
            await self._remover.until_gone(model, ObjectKey("", NAME))
        await self._remover.until_gone(Deployment, self._own(NAME))

    async def _leave_namespace(self, sign_until: float) -> list[str]:
        """Delete our namespace if we made it, else only what is ours in it, the sign last."""
        key = ObjectKey("", self._namespace)
        found = await self._remover.look(kind_of_model(Namespace), key)
        if found is None:
            return []
        if (found["metadata"].get("labels") or {}).get(names.MANAGED_BY) == NAME:
            try:
                await self._remover.until_gone(Namespace, key)
            except TimeoutError:
                return [f"namespace {key} still terminates, look at its conditions"]
            return []
        problems = await self._remover.memory(key.name)
        await self._sleep(max(0.0, sign_until - asyncio.get_running_loop().time()))
        return problems + await self._remover.one(ConfigMap, self._own(names.LEAVING))

    async def _try(self, part: Awaitable[list[str]]) -> list[str]:
        """Take a failure for one more problem, so that what was found before is told, too."""
        try:
            return await part
        except ApiError as error:
            return [str(error)]

    def _own(self, name: str) -> ObjectKey:
        return ObjectKey(self._namespace, name)
