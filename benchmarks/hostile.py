"""Reviews a second while slow clients hang, and while large reviews are decoded.

Each is compared with the quiet figure of the same round.
"""

import asyncio
import json
import ssl
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from benchmarks import _measurement
from benchmarks._load import AUTHORITY_FILE, make_update
from benchmarks._measurement import Found, Load

NAME = "hostile"
LOAD = Load()
SLOW_CLIENTS = 50
LARGE_BYTES = 5_000_000
AIM_SLOW = 0.9
AIM_LARGE = 0.7


def run(rounds: int) -> dict[str, Any]:
    """Measure all in turn, server and client on a core each."""
    return asyncio.run(_run(rounds))


async def _run(rounds: int) -> dict[str, Any]:
    situations: dict[str, Callable[[int, str], AbstractAsyncContextManager[None]]] = {
        "quiet": _quiet,
        "slow": _slow_clients,
        "large": _large_reviews,
    }

    async def measure(name: str) -> Found:
        with tempfile.TemporaryDirectory() as folder:
            command = _measurement.server_command("full", folder)
            async with (
                _measurement.serving(command) as (_, port),
                situations[name](int(port), folder),
            ):
                return await _measurement.send(port, folder, LOAD)

    measured = await _measurement.in_turn(rounds, situations, measure)
    return {
        "measured": measured,
        "figures": [
            _figure(measured, "slow", f"{SLOW_CLIENTS} slow clients hang", AIM_SLOW),
            _figure(measured, "large", "reviews of 5 MB are decoded", AIM_LARGE),
        ],
    }


def _figure(measured: _measurement.Rounds, name: str, what: str, aim: float) -> dict[str, Any]:
    ratio = _measurement.median_ratio(measured, name, "quiet", "rate")
    return {
        "what": f"reviews a second while {what} beside the quiet figure",
        "value": round(ratio, 3),
        "aim": f"at least {aim}",
        "met": ratio >= aim,
    }


@asynccontextmanager
async def _quiet(_port: int, _folder: str) -> AsyncIterator[None]:
    yield


@asynccontextmanager
async def _slow_clients(port: int, folder: str) -> AsyncIterator[None]:
    """Clients that send a byte of a large body now and then, and come back when they are cut."""

    async def hang() -> None:
        while True:
            with suppress(OSError):
                reader, writer = await _connect(port, folder)
                writer.write(_head("/validate", LARGE_BYTES))
                while not reader.at_eof() and not writer.is_closing():
                    writer.write(b" ")
                    await asyncio.sleep(0.2)

    async with _background(hang, SLOW_CLIENTS):
        yield


@asynccontextmanager
async def _large_reviews(port: int, folder: str) -> AsyncIterator[None]:
    """One client that sends one large review after the other, to both paths in turn."""
    body = make_large_review()

    async def send() -> None:
        reader, writer = await _connect(port, folder)
        while True:
            for path in ("/mutate", "/validate"):
                writer.write(_head(path, len(body)) + body)
                head = await reader.readuntil(b"\r\n\r\n")
                if not head.startswith(b"HTTP/1.1 200"):
                    raise RuntimeError(head.decode())
                size = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                await reader.readexactly(size)

    async with _background(send, 1):
        yield


def make_large_review() -> bytes:
    """Return a review of an update of a Shoot with more than a million empty objects."""
    review = json.loads(make_update())
    for each in ("object", "oldObject"):
        review["request"][each]["spec"]["provider"]["infrastructureConfig"] = {"a": []}
    text = json.dumps(review, separators=(",", ":"))
    many = ",".join(["{}"] * ((LARGE_BYTES - len(text)) // 6))
    return text.replace('{"a":[]}', f'{{"a":[{many}]}}').encode()


@asynccontextmanager
async def _background(call: Callable[[], Any], number: int) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(call()) for _ in range(number)]
    await asyncio.sleep(1.0)
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _connect(port: int, folder: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    context = ssl.create_default_context(cafile=str(Path(folder) / AUTHORITY_FILE))
    return await asyncio.open_connection(
        "127.0.0.1", port, ssl=context, server_hostname="localhost"
    )


def _head(path: str, size: int) -> bytes:
    return (
        f"POST {path}?timeout=30s HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: application/json\r\nContent-Length: {size}\r\n\r\n"
    ).encode()
