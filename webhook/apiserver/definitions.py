"""CustomResourceDefinitions at work: what they define is served, and cleared away with them."""

import asyncio
import logging
from typing import Any, Final

from webhook.apiserver import conversion, meta, strategies
from webhook.apiserver.collection import DELETED, Change
from webhook.apiserver.core import Core
from webhook.apiserver.entries import Entry, encode
from webhook.apiserver.fields import fields_of
from webhook.apiserver.registry import stored_version
from webhook.apiserver.storage import StaleError

logger = logging.getLogger(__name__)

Object = dict[str, Any]
STORAGE: Final = "customresourcedefinitions.apiextensions.k8s.io"


class Definitions:
    """Keep the registry equal to the stored definitions, and write their status."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._collection = core.store.collection(STORAGE)
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Serve what is stored, and listen for what changes."""
        for entry in self._collection.current(""):
            self._serve(entry)
            self._settle_objects(entry.decode())
        self._collection.listeners.add(self._hear)

    async def stop(self) -> None:
        """Listen no longer, and finish what was begun."""
        self._collection.listeners.discard(self._hear)
        await asyncio.gather(*self._tasks)

    def _hear(self, change: Change) -> None:
        if change.type == DELETED:
            self._core.registry.drop_definition(change.new.name)
            # Objects are stored under their definition's name; who follows them must learn of it.
            self._core.store.collection(change.new.name).end_watches()
            return
        self._serve(change.new)
        if change.old is not None and _schema(change.old) != _schema(change.new):
            self._settle_objects(change.new.decode())
            self._core.store.collection(change.new.name).end_watches()
        task = asyncio.get_running_loop().create_task(self._reconcile(change.new.key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _serve(self, entry: Entry) -> None:
        crd = entry.decode()
        if _is_true(crd, "Established"):
            self._core.registry.put_definition(crd)

    def _settle_objects(self, crd: Object) -> None:
        """Show stored objects as the schema of today has them, without writing them anew.

        What a definition of the first generation stored is as its schema wants it.
        """
        if crd["metadata"].get("generation", 1) == 1:
            return
        stored = stored_version(crd)
        collection = self._core.store.collection(stored.storage)
        for entry in list(collection.current("")):
            obj = entry.decode()
            obj["apiVersion"] = stored.api_version
            conversion.settle(stored, obj)
            if (data := encode(obj)) != entry.data:
                fields = fields_of(self._core.registry, stored.storage, obj)
                collection.load(Entry(obj, data, entry.rv, fields))

    async def _reconcile(self, key: str) -> None:
        """Accept the names, establish, and clear away; one write at a time, until it holds."""
        while (entry := self._collection.head(key)) is not None:
            crd = entry.decode()
            if crd["metadata"].get("deletionTimestamp"):
                await self._terminate(entry, crd)
                return
            if not _settle(crd, self._core):
                return
            try:
                await self._core.store.put(self._collection, crd, entry)
            except StaleError:
                continue

    async def _terminate(self, entry: Entry, crd: Object) -> None:
        finalizers = crd["metadata"].get("finalizers") or []
        if strategies.CLEANUP not in finalizers:
            return
        spec = crd["spec"]
        instances = self._core.store.collection(f"{spec['names']['plural']}.{spec['group']}")
        for instance in list(instances.current("")):
            try:
                await self._core.store.remove(instances, instance)
            except StaleError:
                logger.debug("object changed while it was cleared away")
        if len(instances.entries) > 0:
            return
        crd["metadata"]["finalizers"] = [one for one in finalizers if one != strategies.CLEANUP]
        if crd["metadata"]["finalizers"]:
            await self._core.store.put(self._collection, crd, entry)
        else:
            await self._core.store.remove(self._collection, entry)


def _schema(definition: Entry) -> Any:
    return stored_version(definition.decode()).raw_schema


def _is_true(crd: Object, kind: str) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)


def _settle(crd: Object, core: Core) -> bool:
    """Bring the status up to date; False if it is."""
    before = crd.get("status")
    now = meta.timestamp(core.now())
    status: Object = dict(crd.get("status") or {})
    conditions = [dict(one) for one in status.get("conditions") or ()]
    _set(conditions, "NamesAccepted", "NoConflicts", "no conflicts found", now)
    _set(
        conditions,
        "Established",
        "InitialNamesAccepted",
        "the initial names have been accepted",
        now,
    )
    stored = next(one["name"] for one in crd["spec"]["versions"] if one.get("storage"))
    versions = list(status.get("storedVersions") or ())
    if stored not in versions:
        versions.append(stored)
    crd["status"] = {
        **status,
        "conditions": conditions,
        "acceptedNames": crd["spec"]["names"],
        "storedVersions": versions,
    }
    return bool(before != crd["status"])


def _set(conditions: list[Object], kind: str, reason: str, message: str, now: str) -> None:
    for condition in conditions:
        if condition["type"] == kind:
            return
    conditions.append(
        {
            "type": kind,
            "status": "True",
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        }
    )
