"""All objects of one resource in memory: sorted keys, a log of changes, and who listens to them."""

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, TypeAlias

from webhook.apiserver.entries import Entry

ADDED: Final = "ADDED"
MODIFIED: Final = "MODIFIED"
DELETED: Final = "DELETED"


class Change(NamedTuple):
    """One committed write; `new` of a deletion is the last state at the deletion's version."""

    rv: int
    type: str
    old: Entry | None
    new: Entry


Listener: TypeAlias = Callable[[Change], None]


class ExpiredError(Exception):
    """The history that was asked for is no longer kept."""

    def __init__(self, oldest: int) -> None:
        super().__init__(f"history begins at {oldest}")
        self.oldest = oldest


class Collection:
    """The committed objects of one resource, and the writes on their way to the disk."""

    def __init__(self, name: str, since: int, history: int) -> None:
        self.name = name
        self.entries: dict[str, Entry] = {}
        self.keys: list[str] = []
        self.pending: dict[str, Change] = {}
        self.listeners: set[Listener] = set()
        self.watches: set[Callable[[], None]] = set()
        """What ends each open watch, for when the resource itself goes."""
        self.since = since
        """Changes after this resourceVersion are in the log."""
        self._log: deque[Change] = deque()
        self._history = history

    def head(self, key: str) -> Entry | None:
        """Return what the next write has to be based on, committed or not."""
        change = self.pending.get(key)
        if change is None:
            return self.entries.get(key)
        return None if change.type == DELETED else change.new

    def load(self, entry: Entry) -> None:
        """Take over an object from the disk; `seal` makes it visible in order."""
        self.entries[entry.key] = entry

    def seal(self) -> None:
        """Sort the keys after loading."""
        self.keys = sorted(self.entries)

    def commit(self, change: Change) -> None:
        """Make a durable write visible."""
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
            self.since = self._log.popleft().rv
        for listener in tuple(self.listeners):
            listener(change)

    def end_watches(self) -> None:
        """Send everybody away who follows what is no longer served."""
        for end in tuple(self.watches):
            end()

    def compact(self, rv: int) -> None:
        """Forget changes up to a resourceVersion."""
        while self._log and self._log[0].rv <= rv:
            self._log.popleft()
        self.since = max(self.since, rv)

    def changes_after(self, rv: int) -> Iterator[Change]:
        """Yield what happened after a resourceVersion, or say that this is forgotten."""
        if rv < self.since:
            raise ExpiredError(self.since)
        newer = 0
        for change in reversed(self._log):
            if change.rv <= rv:
                break
            newer += 1
        for index in range(len(self._log) - newer, len(self._log)):
            yield self._log[index]

    def span(self, namespace: str) -> tuple[int, int]:
        """Return where a namespace's keys begin and end; all of them for no namespace."""
        if not namespace:
            return 0, len(self.keys)
        # "0" follows "/" in ASCII, so it ends the range of keys that begin with "namespace/".
        return bisect_left(self.keys, f"{namespace}/"), bisect_left(self.keys, f"{namespace}0")

    def current(self, namespace: str, after: str = "") -> Iterator[Entry]:
        """Yield the committed objects in key order, from `after` on."""
        start, end = self.span(namespace)
        if after:
            start = max(start, bisect_left(self.keys, after))
        entries = self.entries
        for key in self.keys[start:end]:
            yield entries[key]

    def at(self, rv: int, namespace: str, after: str = "") -> Iterator[Entry]:
        """Yield the objects as they were at a resourceVersion, by undoing what came later."""
        undone: dict[str, Entry | None] = {}
        for change in self.changes_after(rv):
            undone.setdefault(change.new.key, change.old)
        if not undone:
            yield from self.current(namespace, after)
            return
        prefix = f"{namespace}/" if namespace else ""
        start, end = self.span(namespace)
        keys = set(self.keys[start:end]) | {key for key in undone if key.startswith(prefix)}
        for key in sorted(key for key in keys if key >= after):
            entry = undone[key] if key in undone else self.entries[key]
            if entry is not None:
                yield entry
