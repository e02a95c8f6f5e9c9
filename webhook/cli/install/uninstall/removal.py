"""Deletes the objects of an installation, and the state that servers keep in a namespace."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from webhook.api import names
from webhook.api.core import ConfigMap, CustomResourceDefinition, Lease, Node, Pod, Secret
from webhook.api.kinds import KINDS, Kind, kind_of_model
from webhook.cli.install.layout import NAME, labels
from webhook.cli.install.uninstall.retries import Retrier
from webhook.cluster.client import Client
from webhook.cluster.discovery import InstalledApis
from webhook.cluster.errors import ApiError, NotFoundError
from webhook.cluster.requests import Propagation, Selection
from webhook.controllers.installation import certificates
from webhook.kube.meta import Object, ObjectKey, Raw
from webhook.tls.bundle import BundleError

DELETE_SECONDS: Final = 120.0
"""How long a deletion may take."""

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
"""The resources of the manifests besides CRDs, in the order of their deletion."""

_OURS: Final = ",".join(f"{key}={value}" for key, value in sorted(labels().items()))
_STATE_LABELS: Final = (names.LEDGER_LABEL, names.POOL_LABEL)
"""Labels of the ConfigMaps that hold ledgers and pool records."""


@dataclass(frozen=True, slots=True)
class Remover:
    """Deletes objects and retries failures; returns the problems."""

    client: Client
    report: Callable[[str], None]
    retrier: Retrier
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep

    async def delete_installation(self) -> list[str]:
        """Delete all objects with the labels of an installation."""
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
            problems += await self._delete_all(Selection(kind, labels=_OURS))
        # The Nodes that stand for seeds where a kube-scheduler places shoots.
        return problems + await self._delete_all(
            Selection(kind_of_model(Node), labels=names.VIRTUAL)
        )

    async def delete_definitions(self, found: InstalledApis) -> list[str]:
        """Delete the CRDs that are ours, and thereby all their objects."""
        problems: list[str] = []
        for kind in KINDS:
            if found.is_ours(kind):
                self.report(f"deleting the definition of {kind.resource} and all its objects")
                problems += await self.delete(
                    CustomResourceDefinition, ObjectKey("", kind.resource)
                )
        return problems

    async def delete_state(self, namespace: str) -> list[str]:
        """Delete the state of servers in a namespace: ledgers, pool records, lease, certificate."""
        problems: list[str] = []
        for label in _STATE_LABELS:
            wanted = f"{label},{names.MANAGED_BY}={NAME}"
            kind = kind_of_model(ConfigMap)
            problems += await self._delete_all(Selection(kind, namespace, labels=wanted))
        shadows = Selection(kind_of_model(Pod), namespace, labels=names.VIRTUAL)
        problems += await self._delete_all(shadows)
        problems += await self.delete(Lease, ObjectKey(namespace, NAME))
        secrets = Selection(kind_of_model(Secret), namespace)
        return problems + await self._delete_all(secrets, _is_our_certificate)

    async def delete(self, model: type[Object], key: ObjectKey) -> list[str]:
        """Delete one object."""
        return await self._delete(kind_of_model(model), key)

    async def delete_and_wait(self, model: type[Object], key: ObjectKey) -> None:
        """Delete an object until it stays deleted; raises TimeoutError if it is created again."""
        kind = kind_of_model(model)
        absent, uid = 0, ""
        async with asyncio.timeout(DELETE_SECONDS):
            while absent < 3:
                found = await self.find(kind, key)
                absent = absent + 1 if found is None else 0
                if found is not None and found["metadata"]["uid"] != uid:
                    uid = found["metadata"]["uid"]
                    self.report(f"deleting {kind.singular}/{key}")
                    await self._send(kind, key, "Foreground")
                await self.sleep(0.3)

    async def find(self, kind: Kind, key: ObjectKey) -> Raw | None:
        """Read an object; None if it does not exist."""

        async def read(_attempt: int) -> Raw:
            return await self.client.get(kind, key)

        try:
            return await self.retrier.call(read)
        except NotFoundError:
            return None

    async def _delete_all(
        self, selection: Selection, is_wanted: Callable[[Raw], bool] = lambda _raw: True
    ) -> list[str]:
        async def read(_attempt: int) -> list[Raw]:
            return [*await self.client.list(selection)]

        try:
            found = await self.retrier.call(read)
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
            await self.retrier.call(delete)


def _is_our_certificate(secret: Raw) -> bool:
    """Return whether servers created a Secret, whatever its name: it holds the CA's key."""
    try:
        certificates.decode(secret)
    except BundleError:
        return False
    return True
