"""The private parts of aiohttp's connection that our connections depend on.

aiohttp has no public way to ask whether a connection is idle or has begun a request, or to restart
its keep-alive timeout. All other modules use aiohttp's public interface only. A test compares
`PRIVATE` with aiohttp.
"""

from typing import Final

from aiohttp import web
from aiohttp.helpers import rfc822_formatted_time

PRIVATE: Final = (
    "_keepalive_timeout",
    "_loop",
    "_messages",
    "_next_keepalive_close_time",
    "_paused",
    "_request_count",
    "_waiter",
)
"""The attributes of aiohttp's classes that this module uses."""


class AiohttpConnection(web.RequestHandler):
    """A server connection of aiohttp that can be asked what it waits for."""

    __slots__ = ()

    @property
    def is_idle(self) -> bool:
        """Whether no earlier request is being processed and no response is being sent."""
        waiter = self._waiter
        return waiter is not None and not waiter.done() and not self._paused

    @property
    def awaits_head(self) -> bool:
        """Whether the next byte, or the last one, belongs to the head of a request."""
        # Before the first request, the task that waits may not have run yet.
        return not self._messages and (self._request_count == 0 or self.is_idle)

    @property
    def idle_until(self) -> float:
        """The time at which the connection is closed unless a request is answered before."""
        return self._next_keepalive_close_time

    def restart_keepalive(self) -> None:
        """Count the keep-alive timeout from now on, as aiohttp does after a response."""
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout


def http_date() -> bytes:
    """Return the value of a Date header; aiohttp caches it for a second."""
    return rfc822_formatted_time().encode()
