"""The server in the test's own process, by a clock that runs faster than the world's."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from typing_extensions import override

from tests.waiting import eventually
from webhook.runtime.clock import SystemClock, Timer
from webhook.settings import load
from webhook.wiring.program import Address, Program, connect, greet


class SwiftClock(SystemClock):
    """Measures and waits so many times faster; dates are the world's, as certificates need."""

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
class Served:
    """A server that runs."""

    program: Program
    address: Address
    session: aiohttp.ClientSession

    async def ready(self) -> tuple[int, str]:
        """Ask for readiness, as a kubelet does."""
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
async def serving(kubeconfig: str, clock: SwiftClock, **flags: Any) -> AsyncIterator[Served]:
    """Run a server with these settings until the block ends; leases are as long as ever."""
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
        await greet(client, settings)
        program = Program(settings, client, clock)
        running = asyncio.create_task(program.run(stop, started.set_result))
        try:
            await asyncio.wait([running, started], return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                await running
            yield Served(program, started.result(), session)
        finally:
            stop.set()
            await running
