"""Take Espalier out of a cluster: webhooks first, then what it wrote, definitions if asked."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from webhook.api import names
from webhook.api.core import (
    ConfigMap,
    CustomResourceDefinition,
    Deployment,
    HorizontalPodAutoscaler,
    MutatingWebhookConfiguration,
    Namespace,
    ValidatingWebhookConfiguration,
)
from webhook.api.kinds import KINDS, Kind, kind_of_model
from webhook.api.machines import MachineDeployment, MachineSet
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Draft, Object, ObjectKey, Raw
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed, Zone
from webhook.api.shoots import Shoot
from webhook.cli.install import leaving, settling
from webhook.cli.install.layout import NAME, Layout, labels
from webhook.cli.install.leaders import wait_until_nobody_leads
from webhook.cluster import landscape
from webhook.cluster.client import Client
from webhook.cluster.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    ForbiddenError,
    NotFoundError,
    UnavailableError,
)
from webhook.cluster.landscape import Landscape
from webhook.cluster.requests import Selection

_HOOKS: Final = (MutatingWebhookConfiguration, ValidatingWebhookConfiguration)
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

_INSTALLED: Final[tuple[tuple[str, str, str, bool], ...]] = (
    ("apps", "v1", "deployments", True),
    ("", "v1", "services", True),
    ("policy", "v1", "poddisruptionbudgets", True),
    ("networking.k8s.io", "v1", "networkpolicies", True),
    ("", "v1", "configmaps", True),
    ("monitoring.coreos.com", "v1", "servicemonitors", True),
    ("monitoring.coreos.com", "v1", "prometheusrules", True),
    ("scheduling.k8s.io", "v1", "priorityclasses", False),
    ("rbac.authorization.k8s.io", "v1", "rolebindings", True),
    ("rbac.authorization.k8s.io", "v1", "roles", True),
    ("rbac.authorization.k8s.io", "v1", "clusterrolebindings", False),
    ("rbac.authorization.k8s.io", "v1", "clusterroles", False),
    ("", "v1", "serviceaccounts", True),
)
"""What the manifests consist of besides definitions, in the order in which it goes."""

_OURS: Final = ",".join(f"{key}={value}" for key, value in sorted(labels().items()))
_ATTEMPTS: Final = 5
_PATIENCE: Final = 120.0


class StillNeededError(Exception):
    """Raised when leaving would strand somebody; the message says whom and how to go on."""


@dataclass(frozen=True, slots=True)
class Uninstall:
    """One removal of one installation."""

    client: Client
    layout: Layout
    say: Callable[[str], None]

    async def run(self, *, with_definitions: bool, force: bool) -> list[str]:
        """Remove everything in order and return what could not be removed."""
        found = await landscape.ask(self.client)
        await self._ask_for_consent(found, force=force)
        await self._stop_servers()
        problems = await wait_until_nobody_leads(self.client, self._own(NAME), self.say, _PATIENCE)
        problems += await self._settle(found)
        problems += await self._sweep(found)
        problems += await self._delete_installation()
        if with_definitions:
            problems += await self._delete_definitions(found)
        return problems + await self._delete_namespace()

    async def _ask_for_consent(self, found: Landscape, *, force: bool) -> None:
        if not _is_served(found, kind_of_model(Shoot)):
            return
        shoots = await landscape.read_all(self.client, Selection(kind_of_model(Shoot)))
        waiting = list(leaving.waiting_for_us(shoots))
        if waiting and not force:
            listed = "".join(f"\n  {name}" for name in waiting)
            raise StillNeededError(
                f"{len(waiting)} shoots have schedulerName {names.SCHEDULER_NAME} and no seed, "
                f"nobody would place them any more; go on with --force:{listed}"
            )

    async def _stop_servers(self) -> None:
        """Tell servers, in the cluster or outside, to keep nothing any more; then take them off."""
        marker = {"metadata": {"name": names.LEAVING, "namespace": self.layout.namespace}}
        key = self._own(names.LEAVING)
        try:
            await self.client.create(kind_of_model(ConfigMap), key, marker)
        except AlreadyExistsError:
            pass
        except (NotFoundError, ForbiddenError):
            # Nothing can be made in a namespace that terminates, and no server lives there.
            self.say(f"namespace {self.layout.namespace} is gone or going")
        for model in _HOOKS:
            await self._delete_until_gone(model, ObjectKey("", NAME))
        await self._delete_until_gone(Deployment, self._own(NAME))

    async def _settle(self, found: Landscape) -> list[str]:
        """Give back what scheduled scaling raised, while the notes of it are still there."""
        problems: list[str] = []
        for model in settling.SETTLED:
            kind = kind_of_model(model)
            if not _is_served(found, kind):
                continue
            for raw in await landscape.read_all(self.client, Selection(kind)):
                problems += await self._give_back(kind, raw)
        return problems

    async def _give_back(self, kind: Kind, raw: Raw) -> list[str]:
        key = ObjectKey(raw["metadata"].get("namespace", ""), raw["metadata"]["name"])
        subject = f"{kind.singular}/{key}"
        for attempt in range(_ATTEMPTS):
            changes = [*settling.owed(kind.model, raw)]
            try:
                for change in changes:
                    await self.client.patch(kind, key, change.body, subresource=change.subresource)
            except NotFoundError:
                return []
            except (ConflictError, UnavailableError):
                await asyncio.sleep(2**attempt / 10)
                raw = await self.client.get(kind, key)
            except ApiError as error:
                return [f"{subject}: {error}"]
            else:
                if changes:
                    self.say(f"settled {subject}")
                return []
        return [f"{subject}: it changes all the time, try again"]

    async def _sweep(self, found: Landscape) -> list[str]:
        problems: list[str] = []
        for model in _TOUCHED:
            kind = kind_of_model(model)
            if not _is_served(found, kind):
                continue
            for raw in await landscape.read_all(self.client, Selection(kind)):
                problems += await self._clean(kind, raw)
        return problems

    async def _clean(self, kind: Kind, raw: Raw) -> list[str]:
        key = ObjectKey(raw["metadata"].get("namespace", ""), raw["metadata"]["name"])
        subject = f"{kind.singular}/{key}"
        found = leaving.traces(raw)
        if found.kept:
            self.say(f"{subject} keeps {', '.join(found.kept)}, which Espalier did not write")
        if not found:
            return []
        for attempt in range(_ATTEMPTS):
            try:
                await self.client.patch(kind, key, leaving.removal(raw, found))
            except NotFoundError:
                return []
            except (ConflictError, UnavailableError):
                await asyncio.sleep(2**attempt / 10)
                raw = await self.client.get(kind, key)
                found = leaving.traces(raw)
            except ApiError as error:
                return [f"{subject}: {error}"]
            else:
                self.say(f"cleaned {subject}")
                return []
        return [f"{subject}: it changes all the time, try again"]

    async def _delete_installation(self) -> list[str]:
        """Delete all that carries the labels of an installation, optional parts included."""
        problems: list[str] = []
        for group, version, plural, namespaced in _INSTALLED:
            kind = Kind(
                group=group,
                version=version,
                name=plural,
                plural=plural,
                model=Object,
                origin="kubernetes",
                namespaced=namespaced,
            )
            try:
                found = await landscape.read_all(self.client, Selection(kind, labels=_OURS))
            except NotFoundError:
                continue
            for item in found:
                key = ObjectKey(item["metadata"].get("namespace", ""), item["metadata"]["name"])
                if key.name != names.LEAVING:
                    problems += await self._try(self.client.delete(kind, key))
        return problems

    async def _delete_definitions(self, found: Landscape) -> list[str]:
        problems: list[str] = []
        for kind in KINDS:
            if found.is_ours(kind):
                self.say(f"deleting the definition of {kind.resource} and all its objects")
                key = ObjectKey("", kind.resource)
                problems += await self._try(self._delete(CustomResourceDefinition, key))
        return problems

    async def _delete_namespace(self) -> list[str]:
        """Delete our namespace if we made it, else only the sign in it."""
        key = ObjectKey("", self.layout.namespace)
        try:
            found = await self.client.get(kind_of_model(Namespace), key)
        except NotFoundError:
            return []
        if (found["metadata"].get("labels") or {}).get(names.MANAGED_BY) != NAME:
            return await self._try(self._delete(ConfigMap, self._own(names.LEAVING)))
        try:
            await self._delete_until_gone(Namespace, key)
        except TimeoutError:
            return [f"namespace {key} still terminates, look at its conditions"]
        return []

    async def _delete_until_gone(self, model: type[Object], key: ObjectKey) -> None:
        """Delete, wait until it is gone, and make sure that nobody makes it anew."""
        kind = kind_of_model(model)
        quiet, uid = 0, ""
        async with asyncio.timeout(_PATIENCE):
            while quiet < 3:
                try:
                    found = await self.client.get(kind, key)
                except NotFoundError:
                    quiet += 1
                else:
                    quiet = 0
                    if found["metadata"]["uid"] != uid:
                        uid = found["metadata"]["uid"]
                        self.say(f"deleting {kind.singular}/{key}")
                        with contextlib.suppress(NotFoundError):
                            await self.client.delete(kind, key, propagation="Foreground")
                await asyncio.sleep(0.3)

    async def _delete(self, model: type[Object], key: ObjectKey) -> Draft:
        return await self.client.delete(kind_of_model(model), key)

    async def _try(self, deletion: Awaitable[Draft]) -> list[str]:
        try:
            await deletion
        except NotFoundError:
            return []
        except ApiError as error:
            return [str(error)]
        return []

    def _own(self, name: str) -> ObjectKey:
        return ObjectKey(self.layout.namespace, name)


def _is_served(found: Landscape, kind: Kind) -> bool:
    if kind.origin == "kubernetes" or f"{kind.version}.{kind.group}" in found.aggregated:
        return True
    definition = found.definitions.get(kind.resource)
    return definition is not None and kind.version in landscape.served_versions(definition)
