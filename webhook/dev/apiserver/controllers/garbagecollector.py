"""The garbage collector: deletes objects without owners, and handles the deletion finalizers."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from webhook.dev.apiserver.controllers.client import ControllerClient
from webhook.dev.apiserver.controllers.workqueue import WorkQueue
from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.registry import objectmeta
from webhook.dev.apiserver.registry.resources import Resource
from webhook.dev.apiserver.storage.collection import DELETED, Change, Collection
from webhook.dev.apiserver.storage.entries import Entry, key_of
from webhook.kube import status
from webhook.kube.meta import Draft
from webhook.kube.status import StatusError

_OWNED: Final = b'"ownerReferences"'
_TERMINATING: Final = b'"deletionTimestamp"'
_UNKNOWN_KIND_DELAY: Final = 5.0


class ObjectLocation(NamedTuple):
    """The collection and key of an object."""

    storage: str
    key: str


class GarbageCollector:
    """Tracks owners and dependents of all kinds."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._client = ControllerClient(core, "generic-garbage-collector")
        self._dependents: dict[str, set[ObjectLocation]] = {}
        """The dependents of each owner, by its uid."""
        self._owners: dict[ObjectLocation, tuple[str, ...]] = {}
        self._waiting: dict[str, ObjectLocation] = {}
        """Owners that wait for the deletion of their dependents, by uid."""
        self._queue: WorkQueue[ObjectLocation] = WorkQueue("garbage collector", self._handle)

    async def run(self) -> None:
        """Process all objects, then those that change, until cancelled."""
        self._core.store.listeners.add(self._on_change)
        try:
            for collection in self._core.store.collections():
                for entry in collection.current(""):
                    self._record(collection, entry)
            await self._queue.run()
        finally:
            self._core.store.listeners.discard(self._on_change)

    def _on_change(self, collection: Collection, change: Change) -> None:
        if change.type == DELETED:
            self._forget(ObjectLocation(collection.name, change.new.key), change.new.uid)
        else:
            self._record(collection, change.new)

    def _record(self, collection: Collection, entry: Entry) -> None:
        """Record the owners of an object; enqueue it if it has owners or is being deleted."""
        location = ObjectLocation(collection.name, entry.key)
        # Most objects have no owner, and searching bytes is cheaper than decoding them.
        owners: tuple[str, ...] = ()
        if _OWNED in entry.data:
            references = entry.decode()["metadata"].get("ownerReferences") or ()
            owners = tuple(reference["uid"] for reference in references)
        before = self._owners.get(location, ())
        if owners != before:
            for uid in set(before) - set(owners):
                self._release(uid, location)
            for uid in owners:
                self._dependents.setdefault(uid, set()).add(location)
            if owners:
                self._owners[location] = owners
            else:
                self._owners.pop(location, None)
        if owners or _TERMINATING in entry.data:
            self._queue.add(location)

    def _forget(self, location: ObjectLocation, uid: str) -> None:
        """Drop a deleted object; enqueue its dependents and the owners that wait for it."""
        self._waiting.pop(uid, None)
        for owner in self._owners.pop(location, ()):
            self._release(owner, location)
        for dependent in self._dependents.get(uid, ()):
            self._queue.add(dependent)

    def _release(self, uid: str, location: ObjectLocation) -> None:
        dependents = self._dependents.get(uid)
        if dependents is None:
            return
        dependents.discard(location)
        if not dependents:
            del self._dependents[uid]
        if uid in self._waiting:
            self._queue.add(self._waiting[uid])

    async def _handle(self, location: ObjectLocation) -> None:
        collection = self._core.store.collection(location.storage)
        entry = collection.head(location.key)
        resource = self._core.registry.of_storage(location.storage)
        if entry is None or resource is None:
            return
        metadata = entry.decode()["metadata"]
        try:
            if metadata.get("deletionTimestamp"):
                await self._process_deletion(resource, entry, metadata)
            elif metadata.get("ownerReferences"):
                await self._process_references(resource, entry, metadata["ownerReferences"])
        except StatusError as error:
            if error.reason not in (status.NOT_FOUND, status.CONFLICT):
                raise

    async def _process_deletion(self, resource: Resource, entry: Entry, metadata: Draft) -> None:
        """Handle the finalizers `orphan` and `foregroundDeletion` of an object."""
        finalizers = metadata.get("finalizers") or ()
        if objectmeta.ORPHAN in finalizers:
            await self._orphan(entry.uid)
            await self._drop_finalizer(resource, entry, objectmeta.ORPHAN)
        elif objectmeta.FOREGROUND in finalizers:
            self._waiting[entry.uid] = ObjectLocation(resource.storage, entry.key)
            blocking = False
            for location, reference in self._references(entry.uid):
                blocking = blocking or bool(reference.get("blockOwnerDeletion"))
                self._queue.add(location)
            if not blocking:
                self._waiting.pop(entry.uid, None)
                await self._drop_finalizer(resource, entry, objectmeta.FOREGROUND)

    def _references(self, uid: str) -> Iterator[tuple[ObjectLocation, Draft]]:
        """Yield the dependents of an owner with their reference to it."""
        for location in tuple(self._dependents.get(uid, ())):
            entry = self._core.store.collection(location.storage).head(location.key)
            if entry is None:
                continue
            for reference in entry.decode()["metadata"].get("ownerReferences") or ():
                if reference["uid"] == uid:
                    yield location, reference

    async def _orphan(self, uid: str) -> None:
        for location, _ in list(self._references(uid)):
            await self._drop_references(location, {uid})

    async def _drop_references(self, location: ObjectLocation, uids: set[str]) -> None:
        entry = self._core.store.collection(location.storage).head(location.key)
        resource = self._core.registry.of_storage(location.storage)
        if entry is None or resource is None:
            return

        def edit(obj: Draft) -> None:
            kept = [
                reference
                for reference in obj["metadata"].get("ownerReferences") or ()
                if reference["uid"] not in uids
            ]
            obj["metadata"].pop("ownerReferences", None)
            if kept:
                obj["metadata"]["ownerReferences"] = kept

        await self._client.update(resource, entry, edit)

    async def _drop_finalizer(self, resource: Resource, entry: Entry, finalizer: str) -> None:
        def edit(obj: Draft) -> None:
            found = obj["metadata"].get("finalizers") or ()
            kept = [one for one in found if one != finalizer]
            obj["metadata"].pop("finalizers", None)
            if kept:
                obj["metadata"]["finalizers"] = kept

        await self._client.update(resource, entry, edit)

    async def _process_references(
        self, resource: Resource, entry: Entry, references: list[Draft]
    ) -> None:
        """Delete an object without solid owners; else drop its references to the other owners."""
        solid, dangling, waiting = [], set(), set()
        for reference in references:
            state = self._owner_state(reference, entry.namespace)
            if state == _UNKNOWN:
                # The kind may be served again; until then the owner's state is unknown.
                self._queue.add_after(
                    ObjectLocation(resource.storage, entry.key), _UNKNOWN_KIND_DELAY
                )
                return
            if state == _DANGLING:
                dangling.add(reference["uid"])
            elif state == _WAITING:
                waiting.add(reference["uid"])
            else:
                solid.append(reference)
        if solid:
            if dangling or waiting:
                await self._drop_references(
                    ObjectLocation(resource.storage, entry.key), dangling | waiting
                )
            return
        has_dependents = bool(self._dependents.get(entry.uid))
        policy = "Foreground" if waiting and has_dependents else "Background"
        finalizers = entry.decode()["metadata"].get("finalizers") or ()
        if policy == "Background" and objectmeta.ORPHAN in finalizers:
            policy = "Orphan"
        elif policy == "Background" and objectmeta.FOREGROUND in finalizers:
            policy = "Foreground"
        await self._client.delete(resource, entry, policy)

    def _owner_state(self, reference: Draft, namespace: str) -> str:
        """Return the state of an owner, in the terms of Kubernetes' garbage collector."""
        group, _, version = str(reference.get("apiVersion", "")).rpartition("/")
        kind = str(reference.get("kind", ""))
        registry = self._core.registry
        resource = registry.of_kind(group, kind, version) or registry.of_kind(group, kind)
        if resource is None:
            return _UNKNOWN
        if resource.namespaced and not namespace:
            # A cluster-scoped object cannot have a namespaced owner.
            return _UNKNOWN
        home = namespace if resource.namespaced else ""
        collection = self._core.store.collection(resource.storage)
        entry = collection.head(key_of(home, str(reference.get("name", ""))))
        if entry is None or entry.uid != reference["uid"]:
            return _DANGLING
        if _TERMINATING in entry.data:
            finalizers = entry.decode()["metadata"].get("finalizers") or ()
            if objectmeta.FOREGROUND in finalizers:
                return _WAITING
        return _SOLID


_UNKNOWN: Final = "unknown"
_DANGLING: Final = "dangling"
_WAITING: Final = "waiting"
_SOLID: Final = "solid"
