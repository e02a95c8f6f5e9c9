"""Delete what an installation consists of, and what servers keep in a namespace of others."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from webhook.api import names
from webhook.api.core import ConfigMap, CustomResourceDefinition, Lease, Secret
from webhook.api.kinds import KINDS, Kind, kind_of_model
from webhook.api.meta import Object, ObjectKey, Raw
from webhook.cli.install.insisting import Insistence
from webhook.cli.install.layout import NAME, labels
from webhook.cluster import landscape
from webhook.cluster.client import Client
from webhook.cluster.errors import ApiError, NotFoundError
from webhook.cluster.landscape import Landscape
from webhook.cluster.requests import Propagation, Selection
from webhook.controllers import certificates
from webhook.tls.bundle import BundleError

PATIENCE: Final = 120.0
"""How long something may take until it is gone."""

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
_KEPT: Final = (names.LEDGER_LABEL, names.POOL_LABEL)
"""Labels of the ConfigMaps in which servers remember seeds and pools."""


@dataclass(frozen=True, slots=True)
class Remover:
    """Deletes, asking again where that may help; gives what could not be deleted."""

    client: Client
    say: Callable[[str], None]
    insistence: Insistence
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def installation(self) -> list[str]:
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
            problems += await self._all(Selection(kind, labels=_OURS))
        return problems

    async def definitions(self, found: Landscape) -> list[str]:
        """Delete the definitions that are ours, and all their objects with them."""
        problems: list[str] = []
        for kind in KINDS:
            if found.is_ours(kind):
                self.say(f"deleting the definition of {kind.resource} and all its objects")
                problems += await self.one(CustomResourceDefinition, ObjectKey("", kind.resource))
        return problems

    async def memory(self, namespace: str) -> list[str]:
        """Delete what servers keep in a namespace: ledgers, pool records, lease, certificate."""
        problems: list[str] = []
        for label in _KEPT:
            wanted = f"{label},{names.MANAGED_BY}={NAME}"
            kind = kind_of_model(ConfigMap)
            problems += await self._all(Selection(kind, namespace, labels=wanted))
        problems += await self.one(Lease, ObjectKey(namespace, NAME))
        secrets = Selection(kind_of_model(Secret), namespace)
        return problems + await self._all(secrets, _is_our_certificate)

    async def one(self, model: type[Object], key: ObjectKey) -> list[str]:
        """Delete one object."""
        return await self._delete(kind_of_model(model), key)

    async def until_gone(self, model: type[Object], key: ObjectKey) -> None:
        """Delete, wait until it is gone, and make sure that nobody makes it anew."""
        kind = kind_of_model(model)
        quiet, uid = 0, ""
        async with asyncio.timeout(PATIENCE):
            while quiet < 3:
                found = await self.look(kind, key)
                quiet = quiet + 1 if found is None else 0
                if found is not None and found["metadata"]["uid"] != uid:
                    uid = found["metadata"]["uid"]
                    self.say(f"deleting {kind.singular}/{key}")
                    await self._send(kind, key, "Foreground")
                await self.sleep(0.3)

    async def look(self, kind: Kind, key: ObjectKey) -> Raw | None:
        """Read an object; None if it is not there."""

        async def read(_attempt: int) -> Raw:
            return await self.client.get(kind, key)

        try:
            return await self.insistence.on(read)
        except NotFoundError:
            return None

    async def _all(
        self, selection: Selection, is_wanted: Callable[[Raw], bool] = lambda _raw: True
    ) -> list[str]:
        async def read(_attempt: int) -> list[Raw]:
            return [*await landscape.read_all(self.client, selection)]

        try:
            found = await self.insistence.on(read)
        except NotFoundError:
            return []
        except ApiError as error:
            return [f"{selection.kind.resource}: {error}"]
        problems: list[str] = []
        for metadata in (raw["metadata"] for raw in found if is_wanted(raw)):
            key = ObjectKey(metadata.get("namespace", ""), metadata["name"])
            problems += await self._delete(selection.kind, key)
        return problems

    async def _delete(self, kind: Kind, key: ObjectKey) -> list[str]:
        try:
            await self._send(kind, key, "Background")
        except ApiError as error:
            return [f"{kind.plural}/{key}: {error}"]
        return []

    async def _send(self, kind: Kind, key: ObjectKey, propagation: Propagation) -> None:
        async def delete(_attempt: int) -> Raw:
            return await self.client.delete(kind, key, propagation=propagation)

        with contextlib.suppress(NotFoundError):
            await self.insistence.on(delete)


def _is_our_certificate(secret: Raw) -> bool:
    """Tell a Secret that servers made, whatever its name, by the authority's key in it."""
    try:
        certificates.decode(secret)
    except BundleError:
        return False
    return True
