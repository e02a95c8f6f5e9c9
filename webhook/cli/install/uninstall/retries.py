"""Repeats failed requests to an API server, each kind of failure for its own time."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from webhook.cluster.errors import (
    ApiError,
    BadRequestError,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
)

T = TypeVar("T")

OUTAGE_SECONDS: Final = 60.0
"""How long outages may take in sum, so that ten thousand objects do not wait one by one."""

_MAX_REJECTIONS: Final = 3
"""Few: most rejections stay, only those of a lagging cache go away."""
_MAX_CONFLICTS: Final = 6
_MAX_FAILURES: Final = 10
_MAX_PAUSE: Final = 5.0


@dataclass(slots=True)
class Retrier:
    """Repeats failed calls; the calls of one instance share the time for outages."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    outage_seconds: float = OUTAGE_SECONDS

    async def call(self, function: Callable[[int], Awaitable[T]]) -> T:
        """Call with the number of earlier attempts; raises NotFoundError, or the last error."""
        attempt = 0
        while True:
            try:
                return await function(attempt)
            except NotFoundError:
                raise
            except ApiError as error:
                if not await self._wait(attempt, error):
                    raise
            attempt += 1

    async def _wait(self, attempt: int, error: ApiError) -> bool:
        """Wait before the next attempt; False if there is none."""
        pause = min(0.1 * 2**attempt, _MAX_PAUSE)
        if isinstance(error, ConflictError) or _is_rejection(error):
            if attempt + 1 >= (_MAX_REJECTIONS if _is_rejection(error) else _MAX_CONFLICTS):
                return False
        else:
            pause = max(pause, min(error.retry_after or 0.0, _MAX_PAUSE))
            if attempt + 1 >= _MAX_FAILURES or pause > self.outage_seconds:
                return False
            self.outage_seconds -= pause
        await self.sleep(pause)
        return True


def _is_rejection(error: ApiError) -> bool:
    if isinstance(error, ForbiddenError):
        return not error.is_anonymous
    return isinstance(error, InvalidError | BadRequestError)
