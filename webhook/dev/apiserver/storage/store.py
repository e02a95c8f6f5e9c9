"""Stores objects in one SQLite file and in memory, with group commit and one resourceVersion."""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from webhook.dev.apiserver.storage.collection import ADDED, DELETED, MODIFIED, Change, Collection
from webhook.dev.apiserver.storage.entries import Entry, encode
from webhook.kube import jsontext
from webhook.kube.meta import Draft

logger = logging.getLogger(__name__)

HISTORY: Final = 10_000
"""Changes that are kept per resource for watches and continued lists."""
_SCHEMA: Final = (
    "CREATE TABLE IF NOT EXISTS objects (resource TEXT, key TEXT, rv INTEGER, value BLOB, "
    "PRIMARY KEY (resource, key)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS counters (name TEXT PRIMARY KEY, value INTEGER) WITHOUT ROWID",
)

FieldsOf: TypeAlias = Callable[[str, Draft], dict[str, str]]
"""Returns the selectable fields of an object of a collection."""


class StaleError(Exception):
    """The object has changed since the write was computed."""


class StorageError(Exception):
    """SQLite failed to write; nothing of the write is visible."""


class _Write(NamedTuple):
    collection: Collection
    change: Change
    done: "asyncio.Future[None]"


class Store:
    """The storage of all objects. A write returns, and becomes visible, once it is durable.

    Writes that arrive during a transaction share the next one. Until a write is durable it is
    pending: later writes of the same object build on it, but readers do not see it. So a crash
    cannot lose what a reader has seen.
    """

    def __init__(self, path: Path, fields_of: FieldsOf, *, history: int = HISTORY) -> None:
        self._path = path
        self._fields_of = fields_of
        self._history = history
        self._collections: dict[str, Collection] = {}
        self._waiting: list[_Write] = []
        self._flusher: asyncio.Task[None] | None = None
        self.listeners: set[Callable[[Collection, Change], None]] = set()
        """Called for every committed write of any resource."""
        self._disk = ThreadPoolExecutor(1, thread_name_prefix="storage")
        self.rv = 0
        """The newest durable resourceVersion."""
        self._allocated = 0

    async def open(self) -> None:
        """Open or create the file and load all objects.

        The history of changes is not kept: older watches and continue tokens get a 410, as from an
        API server with a new watch cache.
        """
        loop = asyncio.get_running_loop()
        rows = await loop.run_in_executor(self._disk, self._open)
        for resource, value in rows:
            obj = jsontext.loads(value)
            rv = int(obj["metadata"]["resourceVersion"])
            entry = Entry(obj, value, rv, self._fields_of(resource, obj))
            self.collection(resource).load(entry)
        for collection in self._collections.values():
            collection.finish_loading()

    def _open(self) -> list[tuple[str, bytes]]:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(
            self._path, isolation_level=None, check_same_thread=False, timeout=2
        )
        # Exclusive: a second server on the same folder must fail instead of reusing versions.
        for pragma in ("locking_mode=EXCLUSIVE", "journal_mode=WAL", "synchronous=FULL"):
            self._database.execute(f"PRAGMA {pragma}")
        for statement in _SCHEMA:
            self._database.execute(statement)
        found = self._database.execute("SELECT value FROM counters WHERE name = 'rv'").fetchone()
        self.rv = self._allocated = found[0] if found else 0
        return self._database.execute("SELECT resource, value FROM objects").fetchall()

    async def close(self) -> None:
        """Wait for accepted writes, then close the file."""
        if self._flusher is not None:
            await self._flusher
        await asyncio.get_running_loop().run_in_executor(self._disk, self._database.close)
        self._disk.shutdown(wait=False)

    def collection(self, resource: str) -> Collection:
        """Return the collection of a resource; created on first use."""
        found = self._collections.get(resource)
        if found is None:
            found = Collection(resource, self.rv, self._history)
            self._collections[resource] = found
        return found

    def collections(self) -> list[Collection]:
        """Return all collections that were used."""
        return list(self._collections.values())

    def compact(self) -> None:
        """Compact all collections, so that older versions get a 410."""
        for collection in self._collections.values():
            collection.compact(self.rv)

    async def put(self, collection: Collection, obj: Draft, expected: Entry | None) -> Entry:
        """Write an object over `expected` (None: create it) and return the stored state."""
        metadata = obj["metadata"]
        rv = self._allocated + 1
        metadata["resourceVersion"] = str(rv)
        entry = Entry(obj, encode(obj), rv, self._fields_of(collection.name, obj))
        if collection.head(entry.key) is not expected:
            raise StaleError(entry.key)
        self._allocated = rv
        kind = ADDED if expected is None else MODIFIED
        await self._enqueue(collection, Change(rv, kind, expected, entry))
        return entry

    async def remove(self, collection: Collection, expected: Entry) -> Entry:
        """Delete `expected`; return its last state with the deletion's version."""
        if collection.head(expected.key) is not expected:
            raise StaleError(expected.key)
        self._allocated += 1
        rv = self._allocated
        tombstone = expected.with_resource_version(rv)
        await self._enqueue(collection, Change(rv, DELETED, expected, tombstone))
        return tombstone

    async def _enqueue(self, collection: Collection, change: Change) -> None:
        loop = asyncio.get_running_loop()
        collection.pending[change.new.key] = change
        write = _Write(collection, change, loop.create_future())
        self._waiting.append(write)
        if self._flusher is None:
            self._flusher = loop.create_task(self._flush())
        # Shielded: a client that disconnects must not cancel a write that was accepted.
        await asyncio.shield(write.done)

    async def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                try:
                    await loop.run_in_executor(self._disk, self._commit, batch)
                except sqlite3.Error as error:
                    self._fail([*batch, *self._waiting], error)
                else:
                    self._publish(batch)
        finally:
            self._flusher = None

    def _commit(self, batch: list[_Write]) -> None:
        """Write a batch in one transaction; runs in the disk thread."""
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        try:
            for collection, change, _ in batch:
                new = change.new
                if change.type == DELETED:
                    database.execute(
                        "DELETE FROM objects WHERE resource = ? AND key = ?",
                        (collection.name, new.key),
                    )
                else:
                    database.execute(
                        "INSERT OR REPLACE INTO objects VALUES (?, ?, ?, ?)",
                        (collection.name, new.key, new.rv, new.data),
                    )
            database.execute(
                "INSERT OR REPLACE INTO counters VALUES ('rv', ?)", (batch[-1].change.rv,)
            )
            database.execute("COMMIT")
        except sqlite3.Error:
            if database.in_transaction:
                database.execute("ROLLBACK")
            raise

    def _publish(self, batch: list[_Write]) -> None:
        for collection, change, done in batch:
            self.rv = change.rv
            collection.commit(change)
            for listener in tuple(self.listeners):
                listener(collection, change)
            if not done.done():
                done.set_result(None)

    def _fail(self, batch: list[_Write], error: sqlite3.Error) -> None:
        """Fail a batch and all writes that build on it."""
        logger.error("storage failed to write", extra={"error": str(error)})
        self._waiting = []
        for collection, change, done in batch:
            collection.pending.pop(change.new.key, None)
            if not done.done():
                done.set_exception(StorageError(str(error)))
