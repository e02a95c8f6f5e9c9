"""A control plane: processes that start in order and stop in reverse."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TypeAlias

from webhook.dev.planes.errors import PlaneError
from webhook.dev.planes.process import Process

Step: TypeAlias = Process | Callable[[], Awaitable[None]]

_SUPERVISION_SECONDS: Final = 0.5


class Plane:
    """Processes with their data in one folder, started and stopped together."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.steps: list[Step] = []
        """What a start does, in order: a process to start, or work that needs those before it."""

    @property
    def processes(self) -> list[Process]:
        """The processes, in the order of their start."""
        return [step for step in self.steps if isinstance(step, Process)]

    async def start(self) -> None:
        """Run all steps; if one fails, stop every process."""
        try:
            for step in self.steps:
                await (step.start() if isinstance(step, Process) else step())
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop all processes in reverse order."""
        for process in reversed(self.processes):
            await process.stop()

    async def supervise(self) -> None:
        """Run until a process exits by itself, then raise."""
        while True:
            for process in self.processes:
                if process.exit_code is not None:
                    raise PlaneError(await process.exit_message())
            await asyncio.sleep(_SUPERVISION_SECONDS)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.stop()
