"""Background tasks that are started in order, stopped in reverse and fail together."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def background(name: str, coroutine: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run a coroutine as a task for the duration of the block.

    Of nested blocks the task that was started last is stopped first, before those that it depends
    on. If the task fails, the block is cancelled, so all fail together. A task that ends by itself
    has failed, too.
    """

    async def run() -> None:
        await coroutine
        raise RuntimeError(f"{name} ended by itself")

    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(run(), name=name)
        try:
            yield
        finally:
            task.cancel()


def root_cause(error: BaseException) -> BaseException:
    """Return the first exception that is not a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
