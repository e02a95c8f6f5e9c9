"""One real server as a child process: start until ready, stop, kill, pause, start again."""

import asyncio
import os
import signal
import ssl
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from webhook.planes.binaries import require
from webhook.planes.errors import PlaneError
from webhook.planes.probe import answers_ok

_PATIENCE = 180.0
# Servers with open watches take up to a minute to end; what they were told to keep, etcd has.
_GRACE = 4.0
_POLL = 0.05
_TAIL_LINES = 20

# The child asks the kernel to be killed when we die, however we die, and then becomes the server.
# It happens in a program of its own, because code between fork and exec is unsafe beside threads.
_TRAMPOLINE = """
import ctypes, os, signal, sys
os.setsid()
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit("the parent is gone")
os.execv(sys.argv[2], sys.argv[2:])
"""


@dataclass(frozen=True, slots=True)
class Launch:
    """With what a server is started, and where it says that it is ready."""

    arguments: list[str]
    ready_url: str
    context: ssl.SSLContext | None = None
    """Whom the probe trusts; nothing for plain HTTP."""


class Process:
    """A server that we run.

    It belongs to no event loop, so it may be started on one and stopped on another. Start it on a
    thread that lives as long as it shall: Linux counts the end of that thread as our death.
    """

    def __init__(self, binary: str, directory: Path, launch: Callable[[], Launch]) -> None:
        """Before each start, `launch` writes what the server reads; it runs off the loop."""
        self.binary = binary
        self.directory = directory
        self.log = directory / f"{binary}.log"
        self._launch = launch
        self._pid: int | None = None
        self._exit_code: int | None = None

    @property
    def pid(self) -> int:
        """The process id while it runs."""
        if self._pid is None:
            raise PlaneError(f"{self.binary} does not run")
        return self._pid

    @property
    def exit_code(self) -> int | None:
        """What a process that ended by itself ended with; minus the signal that killed it."""
        if self._pid is not None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._pid, self._exit_code = None, os.waitstatus_to_exitcode(status)
        return self._exit_code

    @property
    def is_running(self) -> bool:
        """Whether the process is there, paused or not."""
        return self.exit_code is None and self._pid is not None

    async def start(self) -> None:
        """Start the server and wait until it is ready."""
        if self.is_running:
            raise PlaneError(f"{self.binary} runs already")
        path, launch = await asyncio.to_thread(self._prepare)
        self._spawn([str(path), *launch.arguments])
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._until_ready(launch)
        except TimeoutError:
            await self.kill()
            what = f"was not ready within {_PATIENCE:g} s"
            raise PlaneError(await self._obituary(what)) from None
        except BaseException:
            await self.kill()
            raise

    async def stop(self, grace: float = _GRACE) -> None:
        """Ask the server to end, and make it end when it does not."""
        if self.is_running:
            os.kill(self.pid, signal.SIGTERM)
            self.resume()
            try:
                async with asyncio.timeout(grace):
                    await self.wait()
            except TimeoutError:
                await self.kill()

    async def kill(self) -> None:
        """End the server as a crash would."""
        if self.is_running:
            os.kill(self.pid, signal.SIGKILL)
            await self.wait()

    async def restart(self) -> None:
        """Stop the server, whatever state it is in, and start it with the same ports and data."""
        await self.stop()
        await self.start()

    def pause(self) -> None:
        """Freeze the server: it keeps its connections and answers nothing."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Let a frozen server go on."""
        os.kill(self.pid, signal.SIGCONT)

    async def wait(self) -> int:
        """Wait for the process to end."""
        while (code := self.exit_code) is None:  # noqa: ASYNC110  no loop owns the process
            await asyncio.sleep(_POLL)
        return code

    async def death_notice(self) -> str:
        """Describe the end of a process that ended by itself, with what it said last."""
        return await self._obituary(f"ended with code {self.exit_code}")

    def _prepare(self) -> tuple[Path, Launch]:
        path = require(self.binary)
        self.directory.mkdir(parents=True, exist_ok=True)
        return path, self._launch()

    def _spawn(self, command: list[str]) -> None:
        self._exit_code = None
        append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", "-c", _TRAMPOLINE, str(os.getpid()), *command],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(self.log), append, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
        )

    async def _until_ready(self, launch: Launch) -> None:
        while not await answers_ok(launch.ready_url, launch.context):
            if self.exit_code is not None:
                raise PlaneError(await self.death_notice())
            await asyncio.sleep(_POLL)

    async def _obituary(self, what: str) -> str:
        log = await asyncio.to_thread(self.log.read_text, errors="replace")
        said = "".join(f"\n  {line}" for line in log.splitlines()[-_TAIL_LINES:]) or " nothing"
        return f"{self.binary} {what}; its log {self.log} ends with:{said}"
