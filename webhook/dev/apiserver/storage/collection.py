"""The objects of one resource in memory, with a log of changes for watches."""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from webhook.dev.apiserver.storage.entries import Entry

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"


class Change(NamedTuple):
    """One committed write; for a deletion, `new` is the last state with the deletion's version."""

    rv: int
    type: str
    old: Entry | None
    new: Entry


Listener: TypeAlias = Callable[[Change], None]


class ExpiredError(Exception):
    """The requested resourceVersion was compacted."""

    def __init__(self, oldest: int) -> None:
        super().__init__(f"changes are kept from {oldest} on")
        self.oldest = oldest


class Collection:
    """The committed objects of one resource, and its pending writes."""

    def __init__(self, name: str, compacted_rv: int, history: int) -> None:
        self.name = name
        self.entries: dict[str, Entry] = {}
        self.keys: list[str] = []
        self.pending: dict[str, Change] = {}
        self.listeners: set[Listener] = set()
        self.watches: set[Callable[[], None]] = set()
        """Functions that end the open watches, for when the resource is no longer served."""
        self.compacted_rv = compacted_rv
        """The log holds the changes after this resourceVersion."""
        self._log: deque[Change] = deque()
        self._history = history

    def head(self, key: str) -> Entry | None:
        """Return the latest state of an object, committed or pending; writes are based on it."""
        change = self.pending.get(key)
        if change is None:
            return self.entries.get(key)
        return None if change.type == DELETED else change.new

    def load(self, entry: Entry) -> None:
        """Add an object from the disk; call `finish_loading` after the last one."""
        self.entries[entry.key] = entry

    def finish_loading(self) -> None:
        """Sort the keys after loading."""
        self.keys = sorted(self.entries)

    def commit(self, change: Change) -> None:
        """Make a durable write visible to readers and listeners."""
        key = change.new.key
        if self.pending.get(key) is change:
            del self.pending[key]
        if change.type == DELETED:
            del self.entries[key]
            del self.keys[bisect_left(self.keys, key)]
        else:
            if key not in self.entries:
                insort(self.keys, key)
            self.entries[key] = change.new
        self._log.append(change)
        if len(self._log) > self._history:
            self.compacted_rv = self._log.popleft().rv
        for listener in tuple(self.listeners):
            listener(change)

    def end_watches(self) -> None:
        """End all open watches."""
        for end in tuple(self.watches):
            end()

    def compact(self, rv: int) -> None:
        """Drop the changes up to a resourceVersion from the log."""
        while self._log and self._log[0].rv <= rv:
            self._log.popleft()
        self.compacted_rv = max(self.compacted_rv, rv)

    def changes_after(self, rv: int) -> Iterator[Change]:
        """Yield the changes after a resourceVersion; raise if it was compacted."""
        if rv < self.compacted_rv:
            raise ExpiredError(self.compacted_rv)
        newer = 0
        for change in reversed(self._log):
            if change.rv <= rv:
                break
            newer += 1
        for index in range(len(self._log) - newer, len(self._log)):
            yield self._log[index]

    def _key_range(self, namespace: str) -> tuple[int, int]:
        """Return the range of a namespace's keys; the whole range without a namespace."""
        if not namespace:
            return 0, len(self.keys)
        # "0" follows "/" in ASCII, so it ends the range of keys that begin with "namespace/".
        return bisect_left(self.keys, f"{namespace}/"), bisect_left(self.keys, f"{namespace}0")

    def current(self, namespace: str, after: str = "") -> Iterator[Entry]:
        """Yield the committed objects in the order of their keys, starting at `after`."""
        start, end = self._key_range(namespace)
        if after:
            start = max(start, bisect_left(self.keys, after))
        entries = self.entries
        for key in self.keys[start:end]:
            yield entries[key]

    def list_at(self, rv: int, namespace: str, after: str = "") -> Iterator[Entry]:
        """Yield the objects as of a resourceVersion, by reverting the changes after it."""
        reverted: dict[str, Entry | None] = {}
        for change in self.changes_after(rv):
            reverted.setdefault(change.new.key, change.old)
        if not reverted:
            yield from self.current(namespace, after)
            return
        prefix = f"{namespace}/" if namespace else ""
        start, end = self._key_range(namespace)
        keys = set(self.keys[start:end]) | {key for key in reverted if key.startswith(prefix)}
        for key in sorted(key for key in keys if key >= after):
            entry = reverted[key] if key in reverted else self.entries[key]
            if entry is not None:
                yield entry
