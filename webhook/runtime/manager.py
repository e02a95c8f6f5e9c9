"""Tasks with an owner: started in order, stopped in reverse, failing together."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def background(name: str, coroutine: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Run something beside the block and end it with the block.

    Nested blocks give an order: what was started last is stopped first, and is stopped before
    what it stands on. If the task fails, the block is cancelled, so all fail together; if it
    ends by itself, that is a failure too.
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
    """Dig the first real failure out of groups of failures."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
