"""The controller of CustomResourceDefinitions: serves their resources and deletes their objects."""

import asyncio
import logging
from typing import Any, Final

from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.registry import conversion, objectmeta, strategies
from webhook.dev.apiserver.registry.registry import stored_version
from webhook.dev.apiserver.storage.collection import DELETED, Change
from webhook.dev.apiserver.storage.entries import Entry, encode
from webhook.dev.apiserver.storage.fieldselectors import selectable_fields
from webhook.dev.apiserver.storage.store import StaleError
from webhook.kube.meta import Draft

logger = logging.getLogger(__name__)

STORAGE: Final = "customresourcedefinitions.apiextensions.k8s.io"


class DefinitionController:
    """Keeps the registry in sync with the stored definitions, and writes their status."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._collection = core.store.collection(STORAGE)
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Serve the stored definitions and listen to changes."""
        for entry in self._collection.current(""):
            self._serve(entry)
            self._refresh_objects(entry.decode())
        self._collection.listeners.add(self._on_change)

    async def stop(self) -> None:
        """Stop listening, and wait for running reconciliations."""
        self._collection.listeners.discard(self._on_change)
        await asyncio.gather(*self._tasks)

    def _on_change(self, change: Change) -> None:
        if change.type == DELETED:
            self._core.registry.drop_definition(change.new.name)
            # The name of a definition is that of its collection, whose watches have to end.
            self._core.store.collection(change.new.name).end_watches()
            return
        self._serve(change.new)
        if change.old is not None and _schema(change.old) != _schema(change.new):
            self._refresh_objects(change.new.decode())
            self._core.store.collection(change.new.name).end_watches()
        task = asyncio.get_running_loop().create_task(self._reconcile(change.new.key))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _serve(self, entry: Entry) -> None:
        crd = entry.decode()
        if _is_true(crd, "Established"):
            self._core.registry.put_definition(crd)

    def _refresh_objects(self, crd: Draft) -> None:
        """Prune and default the objects in memory by the current schema, without writing them.

        Objects of a definition of the first generation already conform to its schema.
        """
        if crd["metadata"].get("generation", 1) == 1:
            return
        stored = stored_version(crd)
        collection = self._core.store.collection(stored.storage)
        for entry in list(collection.current("")):
            obj = entry.decode()
            obj["apiVersion"] = stored.api_version
            conversion.prune_and_default(stored, obj)
            if (data := encode(obj)) != entry.data:
                fields = selectable_fields(self._core.registry, stored.storage, obj)
                collection.load(Entry(obj, data, entry.rv, fields))

    async def _reconcile(self, key: str) -> None:
        """Accept the names, establish or finalize the definition; retried on conflicts."""
        while (entry := self._collection.head(key)) is not None:
            crd = entry.decode()
            if crd["metadata"].get("deletionTimestamp"):
                await self._terminate(entry, crd)
                return
            if not _update_status(crd, self._core):
                return
            try:
                await self._core.store.put(self._collection, crd, entry)
            except StaleError:
                continue

    async def _terminate(self, entry: Entry, crd: Draft) -> None:
        finalizers = crd["metadata"].get("finalizers") or []
        if strategies.CLEANUP not in finalizers:
            return
        spec = crd["spec"]
        instances = self._core.store.collection(f"{spec['names']['plural']}.{spec['group']}")
        for instance in list(instances.current("")):
            try:
                await self._core.store.remove(instances, instance)
            except StaleError:
                logger.debug("object changed while it was deleted")
        if len(instances.entries) > 0:
            return
        crd["metadata"]["finalizers"] = [one for one in finalizers if one != strategies.CLEANUP]
        if crd["metadata"]["finalizers"]:
            await self._core.store.put(self._collection, crd, entry)
        else:
            await self._core.store.remove(self._collection, entry)


def _schema(definition: Entry) -> Any:
    return stored_version(definition.decode()).raw_schema


def _is_true(crd: Draft, kind: str) -> bool:
    conditions = (crd.get("status") or {}).get("conditions") or ()
    return any(one["type"] == kind and one["status"] == "True" for one in conditions)


def _update_status(crd: Draft, core: Core) -> bool:
    """Update the status in place; return whether it changed."""
    before = crd.get("status")
    now = objectmeta.timestamp(core.now())
    status: Draft = dict(crd.get("status") or {})
    conditions = [dict(one) for one in status.get("conditions") or ()]
    _add_condition(conditions, "NamesAccepted", "NoConflicts", "no conflicts found", now)
    _add_condition(
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


def _add_condition(conditions: list[Draft], kind: str, reason: str, message: str, now: str) -> None:
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
