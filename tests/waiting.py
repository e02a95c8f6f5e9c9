"""Wait until something holds that nobody announces: what another process or a cluster does."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import grpc

from webhook.cluster.errors import ApiError
from webhook.planes.errors import NotBuiltError, PlaneError

PASSING = (ApiError, PlaneError, aiohttp.ClientError, grpc.aio.AioRpcError, OSError)
"""What asking may raise while a server starts, restarts or is short of time: ask again."""

Condition = Callable[[], Awaitable[Any]] | Callable[[], Any]


async def eventually(holds: Condition, seconds: float = 60.0, pause: float = 0.05) -> Any:
    """Ask again until it is so, and give what was answered then; else say what the last was."""
    last: object = "nothing"
    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    last = await _ask(holds)
                except NotBuiltError:
                    raise
                except PASSING as error:
                    last = error
                else:
                    if last:
                        return last
                await asyncio.sleep(pause)
    except TimeoutError:
        what = getattr(holds, "__qualname__", holds)
        raise TimeoutError(
            f"after {seconds:.0f} s still not: {what}; the last was {last!r}"
        ) from None


async def _ask(holds: Condition) -> Any:
    found = holds()
    return await found if inspect.isawaitable(found) else found
