"""Go over all objects of a kind and take off what Espalier wrote; who refuses is named."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from webhook.api import names
from webhook.api.core import HorizontalPodAutoscaler, Namespace
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.machines import MachineDeployment, MachineSet
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Object, ObjectKey, Raw
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed, Zone
from webhook.api.shoots import Shoot
from webhook.cli.install import leaving, settling
from webhook.cli.install.insisting import Insistence
from webhook.cluster import landscape
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, NotFoundError
from webhook.cluster.landscape import Landscape
from webhook.cluster.requests import Selection
from webhook.domain.definitions import FIELDS

_TOUCHED: Final[tuple[type[Object], ...]] = (
    ScheduledScaling,
    Tortoise,
    HorizontalPodAutoscaler,
    SeedAutoscaler,
    ManagedSeedSet,
    ManagedSeed,
    Seed,
    Zone,
    Shoot,
    MachineDeployment,
    MachineSet,
    Namespace,
)
"""Kinds that Espalier writes labels, annotations or finalizers on."""

_NOTES: Final = frozenset({names.TOUCHED, *FIELDS.values()})
_BY_NAME: Final[Mapping[type[Object], frozenset[str]]] = {
    MachineDeployment: _NOTES,
    MachineSet: _NOTES,
}
"""Annotations that are ours whoever is recorded: admission adds them to the writes of others, and
machine-controller-manager copies a MachineDeployment's to its MachineSets."""

Work = Callable[[Kind, ObjectKey, Raw], Awaitable[bool]]
"""Writes what one object needs; says whether that was anything."""


@dataclass(frozen=True, slots=True)
class Sweeper:
    """Goes over one landscape."""

    client: Client
    landscape: Landscape
    say: Callable[[str], None]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def settle(self) -> list[str]:
        """Give back what scheduled scaling raised, while the notes of it are still there."""
        return await self._go_over(settling.SETTLED, self._give_back, "settled")

    async def clean(self) -> list[str]:
        """Take off labels, annotations and finalizers of ours."""
        return await self._go_over(_TOUCHED, self._take_off, "cleaned")

    async def _go_over(self, models: tuple[type[Object], ...], work: Work, done: str) -> list[str]:
        problems: list[str] = []
        for kind in map(kind_of_model, models):
            if is_served(self.landscape, kind):
                problems += await self._each(kind, work, done)
        return problems

    async def _each(self, kind: Kind, work: Work, done: str) -> list[str]:
        insistence = Insistence(self.sleep)

        async def read(_attempt: int) -> list[Raw]:
            return [*await landscape.read_all(self.client, Selection(kind))]

        try:
            found = await insistence.on(read)
        except NotFoundError:
            return []
        except ApiError as error:
            return [f"{kind.resource}: {error}"]
        problems: list[str] = []
        for raw in found:
            problems += await self._one(kind, raw, work, done, insistence)
        return problems

    async def _one(
        self, kind: Kind, raw: Raw, work: Work, done: str, insistence: Insistence
    ) -> list[str]:
        key = ObjectKey(raw["metadata"].get("namespace", ""), raw["metadata"]["name"])
        subject = f"{kind.singular}/{key}"

        async def write(attempt: int) -> bool:
            # Whatever failed, the object may have changed meanwhile.
            return await work(kind, key, await self.client.get(kind, key) if attempt else raw)

        try:
            if await insistence.on(write):
                self.say(f"{done} {subject}")
        except NotFoundError:
            return []
        except ApiError as error:
            return [f"{subject}: {error}"]
        return []

    async def _give_back(self, kind: Kind, key: ObjectKey, raw: Raw) -> bool:
        changes = [*settling.owed(kind.model, raw)]
        for change in changes:
            await self.client.patch(kind, key, change.body, subresource=change.subresource)
        return bool(changes)

    async def _take_off(self, kind: Kind, key: ObjectKey, raw: Raw) -> bool:
        found = leaving.traces(raw, _BY_NAME.get(kind.model, frozenset()))
        if found:
            await self.client.patch(kind, key, leaving.removal(raw, found))
        if found.kept:
            kept = ", ".join(found.kept)
            self.say(f"{kind.singular}/{key} keeps {kept}, which Espalier did not write")
        return bool(found)


def is_served(found: Landscape, kind: Kind) -> bool:
    """Tell whether a landscape has objects of a kind."""
    if kind.origin == "kubernetes" or f"{kind.version}.{kind.group}" in found.aggregated:
        return True
    definition = found.definitions.get(kind.resource)
    return definition is not None and kind.version in landscape.served_versions(definition)
