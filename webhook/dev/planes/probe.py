"""Probes a server over HTTP."""

import ssl
from typing import Final

import aiohttp

_TIMEOUT: Final = aiohttp.ClientTimeout(total=3)


async def answers_ok(url: str, context: ssl.SSLContext | None) -> bool:
    """Return whether a GET is answered with status 200."""
    try:
        async with (
            aiohttp.ClientSession(timeout=_TIMEOUT) as session,
            session.get(url, ssl=context or True) as response,
        ):
            return response.status == 200
    except (TimeoutError, aiohttp.ClientError, OSError):
        return False
