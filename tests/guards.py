"""What tests are guarded against: a blocked loop, changed memory, tasks without an owner."""

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
from webhook.api.meta import ObjectKey
from webhook.state.store import Entry, Store

_OURS = str(Path(webhook.__file__).parent)
_TESTS = str(Path(__file__).parent)
_ELSEWHERE = tuple(f"{_OURS}/{room}/" for room in ("planes", "cli"))
"""Starting processes and reading a user's files is done before or beside a loop, not on one."""

_SMALL = ("/kubernetes_asyncio/config/", "/prometheus_client/process_collector.py")
"""Read a token, a certificate or /proc now and then: files that are in memory."""

_MOST_WATCHED = 2_000


@pytest.fixture(scope="session", autouse=True)
def loop_is_never_blocked() -> Iterator[None]:
    """Fail whatever of ours reads a file, sleeps or waits for a lock on the loop."""
    buster = BlockBuster()
    for function in buster.functions.values():
        function.can_block_predicate = partial(_may_block, function.can_block_predicate)
    buster.activate()
    yield
    buster.deactivate()


def _may_block(allowed: Callable[..., bool], *args: Any, **kwargs: Any) -> bool:
    return allowed(*args, **kwargs) or not _is_ours(sys._getframe(2))


def _is_ours(frame: FrameType | None) -> bool:
    """Say whether the loop runs code of ours; a test may block its own loop with plain calls."""
    found = False
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith(_TESTS) or any(part in path for part in _SMALL):
            return False
        if path.endswith("/threading.py") and frame.f_code.co_name == "start":
            return False  # waits until the new thread runs, and no longer
        if path.startswith(_OURS) and not path.startswith(_ELSEWHERE):
            found = True
            if frame.f_code.co_flags & inspect.CO_COROUTINE:
                return True
        frame = frame.f_back
    return found


class Watchman:
    """Knows what objects of the cache looked like when they came in.

    Structs are frozen, but the maps inside them cannot be.
    """

    def __init__(self) -> None:
        self._held: list[tuple[Any, bytes]] = []

    def note(self, entry: Entry[Any] | None) -> None:
        if entry is not None and entry.object is not None and len(self._held) < _MOST_WATCHED:
            self._held.append((entry.object, msgspec.json.encode(entry.object)))

    @property
    def changed(self) -> list[str]:
        """Name the objects that are not what they were."""
        return [str(obj.key) for obj, before in self._held if msgspec.json.encode(obj) != before]


@pytest.fixture(autouse=True)
def memory_is_never_changed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test during which anybody changed an object that the cache holds."""
    watchman, keep = Watchman(), Store.set

    def set_and_note(store: Store[Any], key: ObjectKey, entry: Entry[Any] | None) -> Any:
        watchman.note(entry)
        return keep(store, key, entry)

    monkeypatch.setattr(Store, "set", set_and_note)
    yield
    assert watchman.changed == [], "objects of the cache are for reading only"


@pytest.fixture(autouse=True)
def tasks_have_owners(request: pytest.FixtureRequest) -> None:
    """Fail a test that leaves tasks behind which nobody waits for."""
    if inspect.iscoroutinefunction(getattr(request.node, "function", None)):
        request.getfixturevalue("no_task_is_left")


@pytest.fixture
async def no_task_is_left() -> AsyncIterator[None]:
    before = asyncio.all_tasks()
    yield
    assert await tasks_left(before, 15.0) == []


async def tasks_left(before: set[asyncio.Task[Any]], seconds: float) -> list[str]:
    """Name the tasks that neither were there before nor end within so many seconds."""
    left = asyncio.all_tasks() - before - {asyncio.current_task()}
    if left:
        _, left = await asyncio.wait(left, timeout=seconds)
    return [task.get_name() for task in left]
