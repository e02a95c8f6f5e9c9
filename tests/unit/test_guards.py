"""The guards of tests fail on each kind of error that they exist for."""

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest
from blockbuster import BlockingError

import webhook
from tests.support.guards import CacheMutationDetector, tasks_left
from webhook.api.seeds import Seed
from webhook.kube.meta import Metadata
from webhook.state.store import StoreEntry


def written_in(path: str) -> Any:
    """Give functions that pause, as if they stood in a file."""
    source = "async def nap(): pause(0)\ndef doze(): pause(0)\n"
    names: dict[str, Any] = {"pause": time.sleep}
    exec(compile(source, path, "exec"), names)
    return names


ROOM = f"{Path(webhook.__file__).parent}/server/nap.py"


async def test_our_code_may_not_block_a_loop() -> None:
    with pytest.raises(BlockingError, match=r"time\.sleep"):
        await asyncio.create_task(written_in(ROOM)["nap"]())


async def test_nor_may_our_callbacks() -> None:
    loop = asyncio.get_running_loop()
    reported: list[Any] = []
    loop.set_exception_handler(lambda _loop, about: reported.append(about["exception"]))
    loop.call_soon(written_in(ROOM)["doze"])
    await asyncio.sleep(0.01)
    assert [type(error) for error in reported] == [BlockingError]


async def test_a_test_and_a_thread_may() -> None:
    written_in(ROOM)["doze"]()
    await asyncio.to_thread(written_in(ROOM)["doze"])
    await asyncio.create_task(written_in("/elsewhere/nap.py")["nap"]())


def test_a_changed_object_is_named() -> None:
    watchman, labels = CacheMutationDetector(), {"a": "b"}
    watchman.note(StoreEntry(Seed(metadata=Metadata(name="oak"))))
    watchman.note(StoreEntry(Seed(metadata=Metadata(name="elm", labels=labels))))
    watchman.note(None)
    assert watchman.changed == []
    labels["a"] = "c"
    assert watchman.changed == ["elm"]


async def test_a_task_that_stays_is_named() -> None:
    before = asyncio.all_tasks()
    quick = asyncio.create_task(asyncio.sleep(0.01), name="quick")
    slow = asyncio.create_task(asyncio.sleep(60), name="slow")
    assert await tasks_left(before, 0.1) == ["slow"]
    slow.cancel()
    assert quick.done()
