"""A server as a child process: start it until it is ready, stop, kill, pause, restart."""

import asyncio
import os
import signal
import ssl
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from typing_extensions import override

from webhook.dev.planes.binaries import require
from webhook.dev.planes.errors import PlaneError
from webhook.dev.planes.probe import answers_ok

_READY_SECONDS: Final = 180.0
_GRACE_SECONDS: Final = 4.0
"""Time to exit after SIGTERM. Servers with open watches would take up to a minute; no data is lost,
since etcd has it."""
_POLL_SECONDS: Final = 0.05
_TAIL_LINES: Final = 20

_TRAMPOLINE: Final = """
import ctypes, os, signal, sys
os.setsid()
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit("the parent is gone")
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Has the kernel kill the child when this process dies, then becomes the server.

It is a program of its own, because code between fork and exec is unsafe beside threads. On other
systems than Linux a server outlives a parent that is killed.
"""


@dataclass(frozen=True, slots=True)
class Launch:
    """The arguments of a server, and the URL of its readiness probe."""

    arguments: list[str]
    ready_url: str
    context: ssl.SSLContext | None = None
    """The TLS context of the probe; None for plain HTTP."""


class Process:
    """A server in a child process.

    It belongs to no event loop, so it may be started on one and stopped on another. The thread that
    starts it must outlive it: Linux kills the child when that thread ends.

    asyncio's subprocesses belong to one loop, but tests restart the servers of a whole run from
    loops of their own.
    """

    def __init__(self, binary: str, directory: Path, launch: Callable[[], Launch]) -> None:
        """`launch` is called in a thread before each start and writes the server's files."""
        self.binary = binary
        self.directory = directory
        self.log = directory / f"{binary}.log"
        self._launch = launch
        self._pid: int | None = None
        self._exit_code: int | None = None

    @property
    def pid(self) -> int:
        """The process id; raises unless the process runs."""
        if self._pid is None:
            raise PlaneError(f"{self.binary} is not running")
        return self._pid

    @property
    def exit_code(self) -> int | None:
        """The exit code of a process that has exited, minus the signal if one killed it."""
        if self._pid is not None:
            pid, status = os.waitpid(self._pid, os.WNOHANG)
            if pid:
                self._pid, self._exit_code = None, os.waitstatus_to_exitcode(status)
        return self._exit_code

    @property
    def is_running(self) -> bool:
        """Whether the process exists, paused or not."""
        return self.exit_code is None and self._pid is not None

    async def start(self) -> None:
        """Start the server and wait until it is ready."""
        if self.is_running:
            raise PlaneError(f"{self.binary} is already running")
        path, launch = await asyncio.to_thread(self._prepare)
        self._spawn([str(path), *launch.arguments])
        try:
            async with asyncio.timeout(_READY_SECONDS):
                await self._wait_until_ready(launch)
        except TimeoutError:
            await self.kill()
            event = f"was not ready within {_READY_SECONDS:g} s"
            raise PlaneError(await self._describe_exit(event)) from None
        except BaseException:
            await self.kill()
            raise

    async def stop(self, grace: float = _GRACE_SECONDS) -> None:
        """Terminate the server; kill it if it does not exit in time."""
        if self.is_running:
            os.kill(self.pid, signal.SIGTERM)
            self.resume()
            try:
                async with asyncio.timeout(grace):
                    await self.wait()
            except TimeoutError:
                await self.kill()

    async def kill(self) -> None:
        """Kill the server, as a crash would."""
        if self.is_running:
            os.kill(self.pid, signal.SIGKILL)
            await self.wait()

    async def restart(self) -> None:
        """Stop the server, if it runs, and start it with the same ports and data."""
        await self.stop()
        await self.start()

    def pause(self) -> None:
        """Freeze the server: it keeps its connections but does not answer."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Continue a frozen server."""
        os.kill(self.pid, signal.SIGCONT)

    async def wait(self) -> int:
        """Wait until the process exits and return its exit code."""
        while (code := self.exit_code) is None:  # noqa: ASYNC110  no loop owns the process
            await asyncio.sleep(_POLL_SECONDS)
        return code

    async def exit_message(self) -> str:
        """Describe the exit of a process, with the last lines of its log."""
        return await self._describe_exit(f"exited with code {self.exit_code}")

    def _prepare(self) -> tuple[Path, Launch]:
        path = self._binary_path()
        self.directory.mkdir(parents=True, exist_ok=True)
        return path, self._launch()

    def _binary_path(self) -> Path:
        return require(self.binary)

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

    async def _wait_until_ready(self, launch: Launch) -> None:
        while not await answers_ok(launch.ready_url, launch.context):
            if self.exit_code is not None:
                raise PlaneError(await self.exit_message())
            await asyncio.sleep(_POLL_SECONDS)

    async def _describe_exit(self, event: str) -> str:
        log = await asyncio.to_thread(self.log.read_text, errors="replace")
        tail = "".join(f"\n  {line}" for line in log.splitlines()[-_TAIL_LINES:]) or " nothing"
        return f"{self.binary} {event}; its log {self.log} ends with:{tail}"


class PythonProcess(Process):
    """A server that is a module of this program, run by the same interpreter."""

    @override
    def _binary_path(self) -> Path:
        return Path(sys.executable)
