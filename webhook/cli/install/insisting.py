"""Ask again what was not answered or refused, for as long as that may help."""

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
"""How long silence is waited out in all, so that ten thousand objects do not wait in turn."""

_REFUSALS: Final = 3
"""Refusals come from caches that lag, too, but mostly stay."""
_CONFLICTS: Final = 6
_FAILURES: Final = 10
_LONGEST: Final = 5.0


@dataclass(slots=True)
class Insistence:
    """Repeats what failed; one for everything that one server answers."""

    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    left: float = OUTAGE_SECONDS

    async def on(self, call: Callable[[int], Awaitable[T]]) -> T:
        """Call with the number of earlier attempts; raises the last error, or that it is gone."""
        attempt = 0
        while True:
            try:
                return await call(attempt)
            except NotFoundError:
                raise
            except ApiError as error:
                if not await self._wait(attempt, error):
                    raise
            attempt += 1

    async def _wait(self, attempt: int, error: ApiError) -> bool:
        """Wait before the next attempt; False if there should be none."""
        pause = min(0.1 * 2**attempt, _LONGEST)
        if isinstance(error, ConflictError) or _is_refusal(error):
            if attempt + 1 >= (_REFUSALS if _is_refusal(error) else _CONFLICTS):
                return False
        else:
            pause = max(pause, min(error.retry_after or 0.0, _LONGEST))
            if attempt + 1 >= _FAILURES or pause > self.left:
                return False
            self.left -= pause
        await self.sleep(pause)
        return True


def _is_refusal(error: ApiError) -> bool:
    if isinstance(error, ForbiddenError):
        return not error.mistakes_us
    return isinstance(error, InvalidError | BadRequestError)
