"""The garbage collector: what is left without an owner goes, and deletions wait for dependents."""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from webhook.api import status
from webhook.api.status import StatusError
from webhook.apiserver import meta
from webhook.apiserver.acting import Actor
from webhook.apiserver.background import Worker
from webhook.apiserver.collection import DELETED, Change, Collection
from webhook.apiserver.core import Core
from webhook.apiserver.entries import Entry, key_of
from webhook.apiserver.resources import Resource

Object = dict[str, Any]

_OWNED: Final = b'"ownerReferences"'
_DYING: Final = b'"deletionTimestamp"'
_UNKNOWN_KIND_DELAY: Final = 5.0


class Place(NamedTuple):
    """Where an object is stored."""

    storage: str
    key: str


class Collector:
    """Watches owners and dependents of every kind."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._actor = Actor(core, "generic-garbage-collector")
        self._dependents: dict[str, set[Place]] = {}
        """By the uid of the owner."""
        self._owners: dict[Place, tuple[str, ...]] = {}
        self._waiting: dict[str, Place] = {}
        """Owners that end once their dependents have, by uid."""
        self._worker: Worker[Place] = Worker("garbage collector", self._handle)

    async def run(self) -> None:
        """Look at everything once, then at what changes, until cancelled."""
        self._core.store.listeners.add(self._hear)
        try:
            for collection in self._core.store.collections():
                for entry in collection.current(""):
                    self._note(collection, entry)
            await self._worker.run()
        finally:
            self._core.store.listeners.discard(self._hear)

    def _hear(self, collection: Collection, change: Change) -> None:
        if change.type == DELETED:
            self._forget(Place(collection.name, change.new.key), change.new.uid)
        else:
            self._note(collection, change.new)

    def _note(self, collection: Collection, entry: Entry) -> None:
        """Remember whose dependent an object is; look at it if anything about it can matter."""
        place = Place(collection.name, entry.key)
        # Most objects have no owner: searching bytes is far cheaper than decoding them.
        owners: tuple[str, ...] = ()
        if _OWNED in entry.data:
            references = entry.decode()["metadata"].get("ownerReferences") or ()
            owners = tuple(reference["uid"] for reference in references)
        before = self._owners.get(place, ())
        if owners != before:
            for uid in set(before) - set(owners):
                self._release(uid, place)
            for uid in owners:
                self._dependents.setdefault(uid, set()).add(place)
            if owners:
                self._owners[place] = owners
            else:
                self._owners.pop(place, None)
        if owners or _DYING in entry.data:
            self._worker.add(place)

    def _forget(self, place: Place, uid: str) -> None:
        """An object is gone: its dependents may have to follow, its owners may go on."""
        self._waiting.pop(uid, None)
        for owner in self._owners.pop(place, ()):
            self._release(owner, place)
        for dependent in self._dependents.get(uid, ()):
            self._worker.add(dependent)

    def _release(self, uid: str, place: Place) -> None:
        dependents = self._dependents.get(uid)
        if dependents is None:
            return
        dependents.discard(place)
        if not dependents:
            del self._dependents[uid]
        if uid in self._waiting:
            self._worker.add(self._waiting[uid])

    async def _handle(self, place: Place) -> None:
        collection = self._core.store.collection(place.storage)
        entry = collection.head(place.key)
        resource = self._core.registry.of_storage(place.storage)
        if entry is None or resource is None:
            return
        metadata = entry.decode()["metadata"]
        try:
            if metadata.get("deletionTimestamp"):
                await self._end(resource, entry, metadata)
            elif metadata.get("ownerReferences"):
                await self._collect(resource, entry, metadata["ownerReferences"])
        except StatusError as error:
            if error.reason not in (status.NOT_FOUND, status.CONFLICT):
                raise

    async def _end(self, resource: Resource, entry: Entry, metadata: Object) -> None:
        """Do for a dying object what its finalizers ask the garbage collector for."""
        finalizers = metadata.get("finalizers") or ()
        if meta.ORPHAN in finalizers:
            await self._orphan(entry.uid)
            await self._drop_finalizer(resource, entry, meta.ORPHAN)
        elif meta.FOREGROUND in finalizers:
            self._waiting[entry.uid] = Place(resource.storage, entry.key)
            blocking = False
            for place, reference in self._references(entry.uid):
                blocking = blocking or bool(reference.get("blockOwnerDeletion"))
                self._worker.add(place)
            if not blocking:
                self._waiting.pop(entry.uid, None)
                await self._drop_finalizer(resource, entry, meta.FOREGROUND)

    def _references(self, uid: str) -> Iterator[tuple[Place, Object]]:
        """List the dependents of an owner with their reference to it."""
        for place in tuple(self._dependents.get(uid, ())):
            entry = self._core.store.collection(place.storage).head(place.key)
            if entry is None:
                continue
            for reference in entry.decode()["metadata"].get("ownerReferences") or ():
                if reference["uid"] == uid:
                    yield place, reference

    async def _orphan(self, uid: str) -> None:
        for place, _ in list(self._references(uid)):
            await self._drop_references(place, {uid})

    async def _drop_references(self, place: Place, uids: set[str]) -> None:
        entry = self._core.store.collection(place.storage).head(place.key)
        resource = self._core.registry.of_storage(place.storage)
        if entry is None or resource is None:
            return

        def edit(obj: Object) -> None:
            kept = [
                reference
                for reference in obj["metadata"].get("ownerReferences") or ()
                if reference["uid"] not in uids
            ]
            obj["metadata"].pop("ownerReferences", None)
            if kept:
                obj["metadata"]["ownerReferences"] = kept

        await self._actor.change(resource, entry, edit)

    async def _drop_finalizer(self, resource: Resource, entry: Entry, finalizer: str) -> None:
        def edit(obj: Object) -> None:
            found = obj["metadata"].get("finalizers") or ()
            kept = [one for one in found if one != finalizer]
            obj["metadata"].pop("finalizers", None)
            if kept:
                obj["metadata"]["finalizers"] = kept

        await self._actor.change(resource, entry, edit)

    async def _collect(self, resource: Resource, entry: Entry, references: list[Object]) -> None:
        """Delete an object whose owners are all gone or going; else forget only those."""
        solid, gone, waiting = [], set(), set()
        for reference in references:
            owner = self._owner(reference, entry.namespace)
            if owner == _UNKNOWN:
                # Whatever serves that kind may come back; until then nothing is certain.
                self._worker.add_later(Place(resource.storage, entry.key), _UNKNOWN_KIND_DELAY)
                return
            if owner == _GONE:
                gone.add(reference["uid"])
            elif owner == _WAITING:
                waiting.add(reference["uid"])
            else:
                solid.append(reference)
        if solid:
            if gone or waiting:
                await self._drop_references(Place(resource.storage, entry.key), gone | waiting)
            return
        has_dependents = bool(self._dependents.get(entry.uid))
        policy = "Foreground" if waiting and has_dependents else "Background"
        finalizers = entry.decode()["metadata"].get("finalizers") or ()
        if policy == "Background" and meta.ORPHAN in finalizers:
            policy = "Orphan"
        elif policy == "Background" and meta.FOREGROUND in finalizers:
            policy = "Foreground"
        await self._actor.delete(resource, entry, policy)

    def _owner(self, reference: Object, namespace: str) -> str:
        """Say how an owner is doing."""
        group, _, version = str(reference.get("apiVersion", "")).rpartition("/")
        kind = str(reference.get("kind", ""))
        registry = self._core.registry
        resource = registry.of_kind(group, kind, version) or registry.of_kind(group, kind)
        if resource is None:
            return _UNKNOWN
        if resource.namespaced and not namespace:
            # A cluster-wide object cannot belong to one in a namespace: nobody knows which.
            return _UNKNOWN
        home = namespace if resource.namespaced else ""
        collection = self._core.store.collection(resource.storage)
        entry = collection.head(key_of(home, str(reference.get("name", ""))))
        if entry is None or entry.uid != reference["uid"]:
            return _GONE
        if _DYING in entry.data:
            finalizers = entry.decode()["metadata"].get("finalizers") or ()
            if meta.FOREGROUND in finalizers:
                return _WAITING
        return _SOLID


_UNKNOWN: Final = "unknown"
_GONE: Final = "gone"
_WAITING: Final = "waiting"
_SOLID: Final = "solid"
