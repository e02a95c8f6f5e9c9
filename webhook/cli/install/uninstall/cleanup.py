"""Removes from all objects of a cluster what Espalier wrote on them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from webhook.api import names
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.machines import MachineDeployment, MachineSet
from webhook.api.marks import marked_models
from webhook.cli.install.uninstall import marks, restoration
from webhook.cli.install.uninstall.retries import Retrier
from webhook.cluster import discovery
from webhook.cluster.client import Client
from webhook.cluster.discovery import InstalledApis
from webhook.cluster.errors import ApiError, NotFoundError
from webhook.cluster.requests import Selection
from webhook.domain.pools.pool_definition import FIELDS
from webhook.kube.meta import Object, ObjectKey, Raw

_POOL_ANNOTATIONS: Final = frozenset({names.TOUCHED, *FIELDS.values()})
_ALWAYS_OURS: Final[Mapping[type[Object], frozenset[str]]] = {
    MachineDeployment: _POOL_ANNOTATIONS,
    MachineSet: _POOL_ANNOTATIONS,
}
"""Annotations that are ours regardless of managedFields: admission adds them to the writes of
others, and machine-controller-manager copies those of a MachineDeployment to its MachineSets."""

PatchObject = Callable[[Kind, ObjectKey, Raw], Awaitable[bool]]
"""Patches one object; returns whether there was anything to patch."""


@dataclass(frozen=True, slots=True)
class Cleaner:
    """Cleans the objects of one cluster."""

    client: Client
    apis: InstalledApis
    report: Callable[[str], None]
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def restore(self) -> list[str]:
        """Restore values that scheduled scaling raised, and seeds that were drained or hidden."""
        return await self._patch_all(restoration.RESTORED, self._restore_one, "restored")

    async def clean(self) -> list[str]:
        """Remove our labels, annotations and finalizers."""
        return await self._patch_all(marked_models(), self._clean_one, "cleaned")

    async def _patch_all(
        self, models: tuple[type[Object], ...], patch_object: PatchObject, done: str
    ) -> list[str]:
        problems: list[str] = []
        for kind in map(kind_of_model, models):
            if is_served(self.apis, kind):
                problems += await self._patch_kind(kind, patch_object, done)
        return problems

    async def _patch_kind(self, kind: Kind, patch_object: PatchObject, done: str) -> list[str]:
        retrier = Retrier(self.sleep)

        async def read(_attempt: int) -> list[Raw]:
            return [*await self.client.list(Selection(kind))]

        try:
            found = await retrier.call(read)
        except NotFoundError:
            return []
        except ApiError as error:
            return [f"{kind.resource}: {error}"]
        problems: list[str] = []
        for raw in found:
            problems += await self._patch_one(kind, raw, patch_object, done, retrier)
        return problems

    async def _patch_one(
        self, kind: Kind, raw: Raw, patch_object: PatchObject, done: str, retrier: Retrier
    ) -> list[str]:
        key = ObjectKey(raw["metadata"].get("namespace", ""), raw["metadata"]["name"])
        subject = f"{kind.singular}/{key}"

        async def write(attempt: int) -> bool:
            # The object may have changed since it was listed.
            return await patch_object(
                kind, key, await self.client.get(kind, key) if attempt else raw
            )

        try:
            if await retrier.call(write):
                self.report(f"{done} {subject}")
        except NotFoundError:
            return []
        except ApiError as error:
            return [f"{subject}: {error}"]
        return []

    async def _restore_one(self, kind: Kind, key: ObjectKey, raw: Raw) -> bool:
        changes = [*restoration.restore_patches(kind.model, raw)]
        for change in changes:
            await self.client.patch(kind, key, change.body, subresource=change.subresource)
        return bool(changes)

    async def _clean_one(self, kind: Kind, key: ObjectKey, raw: Raw) -> bool:
        found = marks.find_marks(raw, _ALWAYS_OURS.get(kind.model, frozenset()))
        if found:
            await self.client.patch(kind, key, marks.removal_patch(raw, found))
        if found.kept:
            kept = ", ".join(found.kept)
            self.report(f"{kind.singular}/{key} keeps {kept}, which Espalier did not write")
        return bool(found)


def is_served(found: InstalledApis, kind: Kind) -> bool:
    """Return whether the API server serves a kind."""
    if kind.origin == "kubernetes" or f"{kind.version}.{kind.group}" in found.aggregated:
        return True
    definition = found.definitions.get(kind.resource)
    return definition is not None and kind.version in discovery.served_versions(definition)
