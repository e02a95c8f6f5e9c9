"""Replicas of `espalier serve` as processes that a test kills, freezes and stops."""

import asyncio
import json
import signal
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

from tests.support.waits import eventually

ROOT = Path(__file__).parents[2]
START_SECONDS = 120.0


class Replica:
    """One process and its log."""

    def __init__(
        self,
        name: str,
        directory: Path,
        kubeconfig: Path | str,
        *flags: str,
        program: tuple[str, ...] = ("-m", "webhook"),
    ) -> None:
        self.name = name
        self._program = program
        self.log = directory / f"{name}.log"
        self._flags = [
            *("serve", "--kubeconfig", str(kubeconfig), "--identity", name),
            *("--host", "127.0.0.1", "--port", "0"),
            *("--http-host", "127.0.0.1", "--http-port", "0"),
            *("--manage-webhooks", "false"),
            *flags,
        ]
        self._process: asyncio.subprocess.Process | None = None
        self.port = 0
        self.http_port = 0

    @property
    def process(self) -> asyncio.subprocess.Process:
        assert self._process is not None
        return self._process

    async def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, *self._program, *self._flags),
                stdout=log,
                stderr=log,
                cwd=ROOT,
            )
        line = await self.logged("listening", START_SECONDS)
        self.port, self.http_port = line["port"], line["http_port"]

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines that are in the log so far, without one that is still being written."""
        found = []
        for line in self.log.read_bytes().splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return found

    async def logged(self, message: str, seconds: float = 90.0) -> dict[str, Any]:
        """Wait until a message is in the log; return the last such line."""
        async with asyncio.timeout(seconds):
            while True:
                found = [line for line in self.lines() if line["message"] == message]
                if found:
                    return found[-1]
                if self.process.returncode is not None:
                    raise RuntimeError(f"{self.name} has ended: {self.log.read_text()[-2000:]}")
                await asyncio.sleep(0.05)

    async def is_ready(self, session: aiohttp.ClientSession) -> bool:
        try:
            async with session.get(f"http://127.0.0.1:{self.http_port}/readyz") as response:
                return response.status == 200
        except aiohttp.ClientError:
            return False

    async def until_ready(self, seconds: float = 120.0) -> None:
        async with aiohttp.ClientSession() as session:
            await eventually(lambda: self.is_ready(session), seconds)

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def end(self) -> int:
        """Stop the process and return its exit code."""
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
        async with asyncio.timeout(120):
            return await self.process.wait()


def without_verification(context: ssl.SSLContext) -> ssl.SSLContext:
    """Let a context accept any server; it still presents its client certificate."""
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@asynccontextmanager
async def running(*replicas: Replica) -> AsyncIterator[None]:
    """Run replicas and stop all of them at the end."""
    try:
        await asyncio.gather(*(replica.start() for replica in replicas))
        yield
    finally:
        for replica in replicas:
            if replica._process is not None and replica.process.returncode is None:
                replica.process.kill()
                await replica.process.wait()
