"""Guards of every test: no blocked event loop, no changed cache, no task without an owner."""

import asyncio
import inspect
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import msgspec
import pytest
from blockbuster import BlockBuster

import webhook
from webhook.kube.meta import ObjectKey
from webhook.state.store import Store, StoreEntry

_OURS = str(Path(webhook.__file__).parent)
_TESTS = str(Path(__file__).parents[1])
_DEV = ("command.py", "server.py", "landscapes/", "localprovider/", "planes/")
_ELSEWHERE = (f"{_OURS}/cli/", *(f"{_OURS}/dev/{part}" for part in _DEV))
"""Code that starts processes and reads a user's files does so outside of an event loop."""

_SMALL = ("/kubernetes_asyncio/config/", "/prometheus_client/process_collector.py")
"""Short reads of a token, a certificate or /proc: files that are in memory."""

_MOST_WATCHED = 2_000


@pytest.fixture(scope="session", autouse=True)
def loop_is_never_blocked() -> Iterator[None]:
    """Fail code of ours that reads a file, sleeps or waits for a lock on the event loop."""
    buster = BlockBuster()
    for function in buster.functions.values():
        function.can_block_predicate = partial(_may_block, function.can_block_predicate)
    buster.activate()
    yield
    buster.deactivate()


def _may_block(allowed: Callable[..., bool], *args: Any, **kwargs: Any) -> bool:
    return allowed(*args, **kwargs) or not _is_ours(sys._getframe(2))


def _is_ours(frame: FrameType | None) -> bool:
    """Return whether the event loop runs our code; a test may block its own loop."""
    found = False
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith(_TESTS) or any(part in path for part in _SMALL):
            return False
        if path.endswith("/threading.py") and frame.f_code.co_name == "start":
            return False  # waits only until the new thread runs
        if path.startswith(_OURS) and not path.startswith(_ELSEWHERE):
            found = True
            if frame.f_code.co_flags & inspect.CO_COROUTINE:
                return True
        frame = frame.f_back
    return found


class CacheMutationDetector:
    """Keeps what objects of the cache looked like when they were stored.

    Structs are frozen, but the maps inside them are not.
    """

    def __init__(self) -> None:
        self._held: list[tuple[Any, bytes]] = []

    def note(self, entry: StoreEntry[Any] | None) -> None:
        if entry is not None and entry.object is not None and len(self._held) < _MOST_WATCHED:
            self._held.append((entry.object, msgspec.json.encode(entry.object)))

    @property
    def changed(self) -> list[str]:
        """Return the keys of the objects that have changed since."""
        return [str(obj.key) for obj, before in self._held if msgspec.json.encode(obj) != before]


@pytest.fixture(autouse=True)
def memory_is_never_changed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test during which an object of the cache was changed."""
    watchman, keep = CacheMutationDetector(), Store.set

    def set_and_note(store: Store[Any], key: ObjectKey, entry: StoreEntry[Any] | None) -> Any:
        watchman.note(entry)
        return keep(store, key, entry)

    monkeypatch.setattr(Store, "set", set_and_note)
    yield
    assert watchman.changed == [], "objects of the cache are for reading only"


@pytest.fixture(autouse=True)
def tasks_have_owners(request: pytest.FixtureRequest) -> None:
    """Fail a test that leaves tasks behind."""
    if inspect.iscoroutinefunction(getattr(request.node, "function", None)):
        request.getfixturevalue("no_task_is_left")


@pytest.fixture
async def no_task_is_left() -> AsyncIterator[None]:
    before = asyncio.all_tasks()
    yield
    assert await tasks_left(before, 15.0) == []


async def tasks_left(before: set[asyncio.Task[Any]], seconds: float) -> list[str]:
    """Return the names of new tasks that do not end within some seconds."""
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    if left:
        _, left = await asyncio.wait(left, timeout=seconds)
    return [task.get_name() for task in left]
