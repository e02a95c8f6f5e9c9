"""The server in the process of the test, with a clock that runs faster than real time."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from typing_extensions import override

from tests.support.waits import eventually
from webhook.kube.clock import SystemClock, Timer
from webhook.settings import load
from webhook.wiring.program import Address, Program, check_connection, connect


class FastClock(SystemClock):
    """Measures and waits faster by a factor; dates stay real, because certificates need them.

    A test can so wait for what takes the server a minute, instead of assuming it.
    """

    def __init__(self, speed: float) -> None:
        self.speed = speed

    @override
    def monotonic(self) -> float:
        return super().monotonic() * self.speed

    @override
    def call_later(self, delay: float, callback: Callable[[], None]) -> Timer:
        return super().call_later(delay / self.speed, callback)

    @override
    async def sleep(self, delay: float) -> None:
        await super().sleep(delay / self.speed)


@dataclass
class RunningServer:
    """A running server."""

    program: Program
    address: Address
    session: aiohttp.ClientSession

    async def ready(self) -> tuple[int, str]:
        """Return the status and the body of `/readyz`."""
        url = f"http://127.0.0.1:{self.address.http_port}/readyz"
        async with self.session.get(url) as answer:
            return answer.status, await answer.text()

    async def until_ready(self, seconds: float = 120) -> None:
        async def is_ready() -> bool:
            return (await self.ready())[0] == 200

        await eventually(is_ready, seconds)

    def metric(self, name: str, **labels: str) -> float:
        return self.program.metrics.registry.get_sample_value(name, labels) or 0.0


@asynccontextmanager
async def serving(kubeconfig: str, clock: FastClock, **flags: Any) -> AsyncIterator[RunningServer]:
    """Run a server with these settings until the block ends; leases last as in real time."""
    here = {"host": "127.0.0.1", "http_host": "127.0.0.1", "port": "0", "http_port": "0"}
    lease = {
        "lease_duration": str(int(15 * clock.speed)),
        "renew_deadline": str(10 * clock.speed),
        "retry_period": str(2 * clock.speed),
    }
    given = {name: str(value) for name, value in flags.items()}
    settings = load(here | lease | {"kubeconfig": kubeconfig, "drain_quiet": "0"} | given)
    stop, started = asyncio.Event(), asyncio.get_running_loop().create_future()
    async with await connect(settings) as client, aiohttp.ClientSession() as session:
        await check_connection(client, settings)
        program = Program(settings, client, clock)
        running = asyncio.create_task(program.run(stop, started.set_result))
        try:
            await asyncio.wait([running, started], return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                await running
            yield RunningServer(program, started.result(), session)
        finally:
            stop.set()
            await running
