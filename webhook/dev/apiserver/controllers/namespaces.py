"""The controller of namespaces: creates their default objects and empties deleted ones."""

from collections.abc import Iterator
from typing import Final

from webhook.dev.apiserver.builtin.preparation import NAMESPACE_FINALIZER
from webhook.dev.apiserver.controllers.client import ControllerClient
from webhook.dev.apiserver.controllers.workqueue import WorkQueue
from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.registry import objectmeta
from webhook.dev.apiserver.registry.resources import Resource
from webhook.dev.apiserver.storage.collection import DELETED, Change, Collection
from webhook.dev.apiserver.storage.entries import Entry
from webhook.dev.apiserver.storage.store import StaleError
from webhook.kube import status
from webhook.kube.meta import Draft
from webhook.kube.status import StatusError

DEFAULT_ACCOUNT: Final = "default"
ROOT_CA: Final = "kube-root-ca.crt"
_ROOT_CA_DESCRIPTION: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters."
)
_REQUEUE_SECONDS: Final = 1.0
_REMAINING: Final = "NamespaceContentRemaining"
_FINALIZERS: Final = "NamespaceFinalizersRemaining"
_NO_FAILURES: Final = (
    (
        "NamespaceDeletionDiscoveryFailure",
        False,
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        False,
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        False,
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
)
"""Conditions of a deletion; these failures cannot occur here."""


class NamespaceController:
    """Creates the default ServiceAccount and CA bundle, and deletes the content of deleted ones."""

    def __init__(self, core: Core, authority: str) -> None:
        self._core = core
        self._root_ca = authority
        self._accounts_client = ControllerClient(core, "service-account-controller")
        self._root_ca_client = ControllerClient(core, "root-ca-cert-publisher")
        self._deletion_client = ControllerClient(core, "namespace-controller")
        self._queue: WorkQueue[str] = WorkQueue("namespaces", self._handle)

    async def run(self) -> None:
        """Reconcile all namespaces, then those affected by changes, until cancelled."""
        self._core.store.listeners.add(self._on_change)
        try:
            for entry in self._core.store.collection("namespaces").current(""):
                self._queue.add(entry.name)
            await self._queue.run()
        finally:
            self._core.store.listeners.discard(self._on_change)

    def _on_change(self, collection: Collection, change: Change) -> None:
        if collection.name == "namespaces":
            self._queue.add(change.new.name)
        elif change.type == DELETED and change.new.namespace:
            # The namespace may have lost a default object, or be empty now.
            entry = self._core.store.collection("namespaces").head(change.new.namespace)
            needed = collection.name in ("serviceaccounts", "configmaps")
            if entry is not None and (needed or b'"Terminating"' in entry.data):
                self._queue.add(change.new.namespace)

    async def _handle(self, name: str) -> None:
        entry = self._core.store.collection("namespaces").head(name)
        if entry is None:
            return
        namespace = entry.decode()
        if not namespace["metadata"].get("deletionTimestamp"):
            await self._create_defaults(name)
        elif (namespace.get("spec") or {}).get("finalizers"):
            await self._delete_content(entry, namespace)

    async def _create_defaults(self, name: str) -> None:
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": DEFAULT_ACCOUNT, "namespace": name},
        }
        await self._ensure(self._accounts_client, account)
        bundle = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": ROOT_CA,
                "namespace": name,
                "annotations": {"kubernetes.io/description": _ROOT_CA_DESCRIPTION},
            },
            "data": {"ca.crt": self._root_ca},
        }
        await self._ensure(self._root_ca_client, bundle)

    async def _ensure(self, client: ControllerClient, obj: Draft) -> None:
        resource = self._core.registry.of_kind("", obj["kind"])
        metadata = obj["metadata"]
        if resource is None:
            return
        collection = self._core.collection(resource)
        if collection.head(f"{metadata['namespace']}/{metadata['name']}") is not None:
            return
        try:
            await client.create(resource, obj)
        except StatusError as error:
            # It exists already, or the namespace is terminating.
            if error.reason not in (status.ALREADY_EXISTS, status.FORBIDDEN, status.NOT_FOUND):
                raise

    async def _delete_content(self, entry: Entry, namespace: Draft) -> None:
        """Delete all content; once there is none, remove the finalizer of the namespace."""
        for resource, content in list(self._content(entry.name)):
            if b'"deletionTimestamp"' in content.data:
                continue
            try:
                await self._deletion_client.delete(resource, content, "Background")
            except StatusError as error:
                if error.reason not in (status.NOT_FOUND, status.CONFLICT):
                    raise
        remaining_objects = list(self._content(entry.name))
        if remaining_objects:
            await self._report(namespace, remaining_objects)
            self._queue.add_after(entry.name, _REQUEUE_SECONDS)
            return
        await self._finalize(entry.name)

    def _content(self, namespace: str) -> Iterator[tuple[Resource, Entry]]:
        for resource in self._core.registry.storages().values():
            if resource.namespaced:
                for entry in self._core.collection(resource).current(namespace):
                    yield resource, entry

    async def _finalize(self, name: str) -> None:
        collection = self._core.store.collection("namespaces")
        entry = collection.head(name)
        if entry is None:
            return
        namespace = entry.decode()
        found = (namespace.get("spec") or {}).get("finalizers") or ()
        kept = [one for one in found if one != NAMESPACE_FINALIZER]
        namespace["spec"] = {"finalizers": kept} if kept else {}
        if kept or namespace["metadata"].get("finalizers"):
            await self._core.store.put(collection, namespace, entry)
        else:
            await self._core.store.remove(collection, entry)

    async def _report(
        self, namespace: Draft, remaining_objects: list[tuple[Resource, Entry]]
    ) -> None:
        """Write into the status what the deletion is waiting for."""
        name = namespace["metadata"]["name"]
        collection = self._core.store.collection("namespaces")
        entry = collection.head(name)
        if entry is None:
            return
        current = entry.decode()
        now = objectmeta.timestamp(self._core.now())
        before = (current.get("status") or {}).get("conditions") or []
        conditions = _conditions(remaining_objects, before, now)
        if conditions != before:
            current["status"] = {**(current.get("status") or {}), "conditions": conditions}
            try:
                await self._core.store.put(collection, current, entry)
            except StaleError:
                self._queue.add(name)


def _conditions(
    remaining_objects: list[tuple[Resource, Entry]], before: list[Draft], now: str
) -> list[Draft]:
    counts: dict[str, int] = {}
    finalizers: dict[str, int] = {}
    for resource, entry in remaining_objects:
        shown = f"{resource.plural}.{resource.group}" if resource.group else f"{resource.plural}."
        counts[shown] = counts.get(shown, 0) + 1
        for finalizer in entry.decode()["metadata"].get("finalizers") or ():
            finalizers[finalizer] = finalizers.get(finalizer, 0) + 1
    remaining = _format_counts(counts, "has")
    waiting = _format_counts(finalizers, "in")
    rows = [
        *_NO_FAILURES,
        (_REMAINING, True, "SomeResourcesRemain", f"Some resources are remaining: {remaining}"),
    ]
    if waiting:
        message = f"Some content in the namespace has finalizers remaining: {waiting}"
        rows.append((_FINALIZERS, True, "SomeFinalizersRemain", message))
    else:
        message = "All content-preserving finalizers finished"
        rows.append((_FINALIZERS, False, "ContentHasNoFinalizers", message))
    known = {condition["type"]: condition for condition in before}
    return [_condition(row, known.get(row[0]), now) for row in rows]


def _format_counts(counts: dict[str, int], joined: str) -> str:
    return ", ".join(
        f"{name} {joined} {counts[name]} resource instances" for name in sorted(counts)
    )


def _condition(row: tuple[str, bool, str, str], before: Draft | None, now: str) -> Draft:
    kind, holds, reason, message = row
    state = "True" if holds else "False"
    since = before["lastTransitionTime"] if before and before["status"] == state else now
    return {
        "type": kind,
        "status": state,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }
