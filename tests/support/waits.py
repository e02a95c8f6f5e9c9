"""Wait for a condition that no event announces, in another process or a cluster."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import grpc

from webhook.cluster.errors import ApiError
from webhook.dev.planes.errors import NotBuiltError, PlaneError

PASSING = (ApiError, PlaneError, aiohttp.ClientError, grpc.aio.AioRpcError, OSError)
"""Errors that a check may raise while a server starts, restarts or is short of time."""

Condition = Callable[[], Awaitable[Any]] | Callable[[], Any]


async def eventually(holds: Condition, seconds: float = 60.0, pause: float = 0.05) -> Any:
    """Check a condition until it holds and return its value; on timeout report the last one.

    The default timeout is far above what any wait takes: no test asserts an upper bound of seconds.
    """
    last: object = "nothing"
    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    last = await _evaluate(holds)
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


async def _evaluate(holds: Condition) -> Any:
    found = holds()
    return await found if inspect.isawaitable(found) else found
