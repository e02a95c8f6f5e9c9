"""Callers that send reviews as an API server does, and count what fails."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

import aiohttp

from tests.waiting import eventually

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


class Callers:
    """Several callers that go on until they are told to stop."""

    def __init__(self, choose: Callable[[], str], context: ssl.SSLContext) -> None:
        self._choose = choose
        self._context = context
        self.answered = 0
        self.closed = 0
        """Answers after which the server wanted the connection closed."""
        self.failures: list[str] = []
        self._stop = asyncio.Event()

    def stop(self) -> None:
        self._stop.set()

    async def until(self, answers: int) -> None:
        """Wait until so many calls were answered."""
        await eventually(lambda: _now(self.answered >= answers), 150)

    async def run(self, *, reusing: int, connecting: int = 0, pause: float = 0.0) -> None:
        """Run callers that keep their connections, and callers that make one for each call."""
        async with asyncio.TaskGroup() as tasks:
            for _ in range(reusing):
                tasks.create_task(self._call(pause, force_close=False))
            for _ in range(connecting):
                tasks.create_task(self._call(pause, force_close=True))

    async def _call(self, pause: float, *, force_close: bool) -> None:
        connector = aiohttp.TCPConnector(ssl=self._context, force_close=force_close)
        # As an API server: a request that fails on its way is not sent a second time.
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
