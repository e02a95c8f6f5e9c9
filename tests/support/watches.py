"""Wait for a state of objects by watching them, never by sleeping."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import aiohttp
import orjson

Object = dict[str, Any]
State = Mapping[str, Object]


async def seen(
    session: aiohttp.ClientSession,
    path: str,
    holds: Callable[[State], object],
    seconds: float = 90,
) -> State:
    """Watch the objects of a collection, by name, until a condition holds for them."""
    async with asyncio.timeout(seconds):
        while True:
            listed = await _list(session, path)
            state = {item["metadata"]["name"]: item for item in listed["items"]}
            if holds(state):
                return state
            version = listed["metadata"]["resourceVersion"]
            async for event in events(session, path, resourceVersion=version):
                if event["type"] == "ERROR":
                    break
                obj = event["object"]
                name = obj["metadata"].get("name", "")
                if event["type"] == "DELETED":
                    state.pop(name, None)
                elif event["type"] != "BOOKMARK":
                    state[name] = obj
                if holds(state):
                    return state


async def events(
    session: aiohttp.ClientSession, path: str, **query: str
) -> AsyncIterator[dict[str, Any]]:
    """Yield the events of a watch until the server ends it."""
    params = {"watch": "1", "timeoutSeconds": "90", **query}
    timeout = aiohttp.ClientTimeout(total=120)
    while True:
        async with session.get(path, params=params, timeout=timeout) as response:
            if not await _is_initializing(response):
                assert response.status == 200, await response.text()
                async for line in response.content:
                    yield orjson.loads(line)
                return


async def _list(session: aiohttp.ClientSession, path: str) -> Any:
    while True:
        async with session.get(path) as response:
            if not await _is_initializing(response):
                return await response.json()


async def _is_initializing(response: aiohttp.ClientResponse) -> bool:
    """Return, after a pause, whether the kind is not served at the moment: its CRD has changed."""
    if response.status != 429:
        return False
    await asyncio.sleep(float(response.headers.get("Retry-After", "1")))
    return True


async def take(
    count: int, session: aiohttp.ClientSession, path: str, **query: str
) -> list[dict[str, Any]]:
    """Return the first events of a watch."""
    taken: list[dict[str, Any]] = []
    async with asyncio.timeout(90):
        async for event in events(session, path, **query):
            taken.append(event)
            if len(taken) == count:
                break
    return taken
