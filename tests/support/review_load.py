"""Load of admission reviews, sent as an API server sends them; failures are counted."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

import aiohttp

from tests.support.waits import eventually

REVIEW: dict[str, Any] = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "operation": "CREATE",
        "namespace": "default",
        "name": "one",
        "object": {"metadata": {"name": "one", "namespace": "default"}, "data": {"a": "b" * 500}},
    },
}


class ReviewLoad:
    """Several clients that send reviews until they are stopped."""

    def __init__(self, choose: Callable[[], str], context: ssl.SSLContext) -> None:
        self._choose = choose
        self._context = context
        self.answered = 0
        self.closed = 0
        """Responses after which the server asked to close the connection."""
        self.failures: list[str] = []
        self._stop = asyncio.Event()

    def stop(self) -> None:
        self._stop.set()

    async def until(self, answers: int) -> None:
        """Wait until a number of reviews were answered."""
        await eventually(lambda: _now(self.answered >= answers), 150)

    async def run(self, *, reusing: int, connecting: int = 0, pause: float = 0.0) -> None:
        """Run clients that reuse their connections, and clients that open one for each review."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(reusing):
                tasks.create_task(self._call(pause, force_close=False))
            for _ in range(connecting):
                tasks.create_task(self._call(pause, force_close=True))

    async def _call(self, pause: float, *, force_close: bool) -> None:
        connector = aiohttp.TCPConnector(ssl=self._context, force_close=force_close)
        # Like an API server, a client does not send a failed request again.
        timeout = aiohttp.ClientTimeout(total=60)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
            session._retry_connection = False
            while not self._stop.is_set():
                try:
                    async with session.post(self._choose(), json=REVIEW) as response:
                        answer = await response.json()
                        if response.status != 200 or not answer["response"]["allowed"]:
                            self.failures.append(f"{response.status}: {answer}")
                        self.closed += response.headers.get("Connection") == "close"
                    self.answered += 1
                except (aiohttp.ClientError, TimeoutError, ssl.SSLError) as error:
                    self.failures.append(repr(error))
                if pause:
                    await asyncio.sleep(pause)


async def _now(holds: bool) -> bool:
    return holds
