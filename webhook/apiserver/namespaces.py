"""The life of namespaces: what each gets, what may be done in it, and how it ends."""

from collections.abc import Iterator
from typing import Any, Final

from webhook.api import status
from webhook.api.status import Qualified, StatusError
from webhook.apiserver import meta
from webhook.apiserver.acting import Actor
from webhook.apiserver.admission import CREATE, DELETE, UPDATE, Attributes
from webhook.apiserver.background import Worker
from webhook.apiserver.builtin.preparing import NAMESPACE_FINALIZER
from webhook.apiserver.collection import DELETED, Change, Collection
from webhook.apiserver.core import Core
from webhook.apiserver.entries import Entry
from webhook.apiserver.resources import Resource
from webhook.apiserver.storage import StaleError

Object = dict[str, Any]

IMMORTAL: Final = ("default", "kube-public", "kube-system")
ACCOUNT: Final = "default"
AUTHORITY: Final = "kube-root-ca.crt"
_NAMESPACES: Final = Qualified("", "namespaces")
_AUTHORITY_NOTE: Final = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters."
)
_AGAIN_SECONDS: Final = 1.0
_REMAINING: Final = "NamespaceContentRemaining"
_FINALIZERS: Final = "NamespaceFinalizersRemaining"
#: Conditions of a deletion that here never fails.
_FINE: Final = (
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


class NamespaceLifecycle:
    """The admission plugin: nothing new in a namespace that is not there or is ending."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def mutate(self, attributes: Attributes) -> None:
        """Refuse before anything else looks at the request."""
        resource, operation = attributes.call.resource, attributes.operation
        if operation == DELETE and resource.storage == "namespaces":
            if attributes.name in IMMORTAL and not attributes.call.target.subresource:
                why = "this namespace may not be deleted"
                raise status.forbidden(_NAMESPACES, attributes.name, why)
            return
        name = attributes.call.namespace
        if not name or operation not in (CREATE, UPDATE) or resource.is_virtual:
            return
        entry = self._core.store.collection("namespaces").head(name)
        if entry is None:
            raise status.not_found(_NAMESPACES, name)
        if (
            operation == CREATE
            and (entry.decode().get("status") or {}).get("phase") == "Terminating"
        ):
            raise _terminating(attributes, name)

    async def validate(self, attributes: Attributes) -> None:
        """Nothing is left to refuse."""


def _terminating(attributes: Attributes, name: str) -> StatusError:
    why = f"unable to create new content in namespace {name} because it is being terminated"
    error = status.forbidden(attributes.call.resource.qualified, attributes.name, why)
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {name} is being terminated",
        "field": "metadata.namespace",
    }
    error.status["details"]["causes"] = [cause]
    return error


class Namespaces:
    """Gives each namespace its ServiceAccount and CA bundle, and empties those that end."""

    def __init__(self, core: Core, authority: str) -> None:
        self._core = core
        self._authority = authority
        self._keeper = Actor(core, "service-account-controller")
        self._publisher = Actor(core, "root-ca-cert-publisher")
        self._undertaker = Actor(core, "namespace-controller")
        self._worker: Worker[str] = Worker("namespaces", self._handle)

    async def run(self) -> None:
        """Look at every namespace once, then at what changes, until cancelled."""
        self._core.store.listeners.add(self._hear)
        try:
            for entry in self._core.store.collection("namespaces").current(""):
                self._worker.add(entry.name)
            await self._worker.run()
        finally:
            self._core.store.listeners.discard(self._hear)

    def _hear(self, collection: Collection, change: Change) -> None:
        if collection.name == "namespaces":
            self._worker.add(change.new.name)
        elif change.type == DELETED and change.new.namespace:
            # Whatever it was: the namespace may have lost what it must have, or be empty now.
            entry = self._core.store.collection("namespaces").head(change.new.namespace)
            needed = collection.name in ("serviceaccounts", "configmaps")
            if entry is not None and (needed or b'"Terminating"' in entry.data):
                self._worker.add(change.new.namespace)

    async def _handle(self, name: str) -> None:
        entry = self._core.store.collection("namespaces").head(name)
        if entry is None:
            return
        namespace = entry.decode()
        if not namespace["metadata"].get("deletionTimestamp"):
            await self._equip(name)
        elif (namespace.get("spec") or {}).get("finalizers"):
            await self._empty(entry, namespace)

    async def _equip(self, name: str) -> None:
        account = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": ACCOUNT, "namespace": name},
        }
        await self._ensure(self._keeper, account)
        bundle = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": AUTHORITY,
                "namespace": name,
                "annotations": {"kubernetes.io/description": _AUTHORITY_NOTE},
            },
            "data": {"ca.crt": self._authority},
        }
        await self._ensure(self._publisher, bundle)

    async def _ensure(self, actor: Actor, obj: Object) -> None:
        resource = self._core.registry.of_kind("", obj["kind"])
        metadata = obj["metadata"]
        if resource is None:
            return
        collection = self._core.collection(resource)
        if collection.head(f"{metadata['namespace']}/{metadata['name']}") is not None:
            return
        try:
            await actor.create(resource, obj)
        except StatusError as error:
            # Someone was faster, or the namespace has begun to end.
            if error.reason not in (status.ALREADY_EXISTS, status.FORBIDDEN, status.NOT_FOUND):
                raise

    async def _empty(self, entry: Entry, namespace: Object) -> None:
        """Delete all content; once there is none, let the namespace go."""
        for resource, content in list(self._content(entry.name)):
            if b'"deletionTimestamp"' in content.data:
                continue
            try:
                await self._undertaker.delete(resource, content, "Background")
            except StatusError as error:
                if error.reason not in (status.NOT_FOUND, status.CONFLICT):
                    raise
        left = list(self._content(entry.name))
        if left:
            await self._report(namespace, left)
            self._worker.add_later(entry.name, _AGAIN_SECONDS)
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

    async def _report(self, namespace: Object, left: list[tuple[Resource, Entry]]) -> None:
        """Say in the status what the end is waiting for."""
        name = namespace["metadata"]["name"]
        collection = self._core.store.collection("namespaces")
        entry = collection.head(name)
        if entry is None:
            return
        current = entry.decode()
        now = meta.timestamp(self._core.now())
        before = (current.get("status") or {}).get("conditions") or []
        conditions = _conditions(left, before, now)
        if conditions != before:
            current["status"] = {**(current.get("status") or {}), "conditions": conditions}
            try:
                await self._core.store.put(collection, current, entry)
            except StaleError:
                self._worker.add(name)


def _conditions(left: list[tuple[Resource, Entry]], before: list[Object], now: str) -> list[Object]:
    counts: dict[str, int] = {}
    finalizers: dict[str, int] = {}
    for resource, entry in left:
        shown = f"{resource.plural}.{resource.group}" if resource.group else f"{resource.plural}."
        counts[shown] = counts.get(shown, 0) + 1
        for finalizer in entry.decode()["metadata"].get("finalizers") or ():
            finalizers[finalizer] = finalizers.get(finalizer, 0) + 1
    remaining = _listed(counts, "has")
    waiting = _listed(finalizers, "in")
    rows = [
        *_FINE,
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


def _listed(counts: dict[str, int], joined: str) -> str:
    return ", ".join(
        f"{name} {joined} {counts[name]} resource instances" for name in sorted(counts)
    )


def _condition(row: tuple[str, bool, str, str], before: Object | None, now: str) -> Object:
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
