"""A cache without a cluster: the whole contract of `webhook.state.views`, to be overridden."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from webhook.api.kinds import Kind
from webhook.kube.meta import Object, ObjectKey
from webhook.state.live_reads import LiveRead, LiveResults
from webhook.state.snapshot import Snapshot
from webhook.state.views import Listener

T = TypeVar("T", bound=Object)


class FakeCache:
    """Shows the snapshots of a function; calls no listener and accepts no assumed write."""

    def __init__(
        self, take_snapshot: Callable[[], Snapshot] = Snapshot.of, *, synced: bool = True
    ) -> None:
        self._take_snapshot = take_snapshot
        self._is_synced = synced

    @property
    def synced(self) -> bool:
        return self._is_synced

    def snapshot(self, live_results: LiveResults | None = None) -> Snapshot:
        return self._take_snapshot()

    def peek(self, model: type[T], key: ObjectKey) -> T | None:
        return self.snapshot().get(model, key)

    def watches(self, model: type[Object]) -> bool:
        return True

    def covers(self, model: type[Object], key: ObjectKey) -> bool:
        return True

    async def wait_seen(self, model: type[Object], version: str) -> None:
        return

    async def read_live(self, live_reads: Iterable[LiveRead], seconds: float) -> LiveResults:
        raise NotImplementedError

    def add_listener(self, model: type[T], listener: Listener[T], *, replay: bool = True) -> None:
        return

    def remove_listener(self, model: type[T], listener: Listener[T]) -> None:
        return

    def assume(self, obj: Object, raw: bytes | None = None) -> None:
        raise NotImplementedError

    def assume_written(self, kind: Kind, document: bytes) -> None:
        raise NotImplementedError

    def confirm(self, model: type[Object], key: ObjectKey, version: str) -> None:
        raise NotImplementedError

    def forget(self, model: type[Object], key: ObjectKey) -> None:
        raise NotImplementedError
