import asyncio

import pytest

from webhook.runtime.tasks import background, root_cause


async def test_the_task_that_started_last_stops_first() -> None:
    log: list[str] = []

    async def task(name: str) -> None:
        log.append(f"{name} started")
        try:
            await asyncio.Event().wait()
        finally:
            log.append(f"{name} stopped")

    async with background("a", task("a")):
        await asyncio.sleep(0)
        async with background("b", task("b")):
            await asyncio.sleep(0)
            log.append("working")
    assert log == ["a started", "b started", "working", "b stopped", "a stopped"]


async def test_a_task_that_fails_ends_everything_in_order() -> None:
    log: list[str] = []

    async def fail() -> None:
        await asyncio.sleep(0)
        raise ValueError("broken")

    async def wait() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            log.append("inner stopped")

    with pytest.raises(ExceptionGroup) as caught:
        async with background("outer", fail()), background("inner", wait()):
            await asyncio.Event().wait()
    assert str(root_cause(caught.value)) == "broken"
    assert log == ["inner stopped"]


async def test_a_task_that_ends_by_itself_is_a_failure() -> None:
    async def end() -> None:
        return

    with pytest.raises(ExceptionGroup) as caught:
        async with background("watcher", end()):
            await asyncio.Event().wait()
    assert str(root_cause(caught.value)) == "watcher ended by itself"
