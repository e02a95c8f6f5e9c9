"""Ask a server over HTTP whether it is there."""

import ssl

import aiohttp

_TIMEOUT = aiohttp.ClientTimeout(total=3)


async def answers_ok(url: str, context: ssl.SSLContext | None) -> bool:
    """Say whether a GET is answered with 200."""
    try:
        async with (
            aiohttp.ClientSession(timeout=_TIMEOUT) as session,
            session.get(url, ssl=context or True) as response,
        ):
            return response.status == 200
    except (TimeoutError, aiohttp.ClientError, OSError):
        return False
