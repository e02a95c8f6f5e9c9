"""A control plane: processes that start in order and stop in reverse."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias

from webhook.planes.errors import PlaneError
from webhook.planes.process import Process

Step: TypeAlias = Process | Callable[[], Awaitable[None]]

_SUPERVISION_SECONDS = 0.5


class Plane:
    """Several processes under one folder that live and die together."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.steps: list[Step] = []
        """What a start does, in order: a process, or work that those before it make possible."""

    @property
    def processes(self) -> list[Process]:
        """The processes, in the order of their start."""
        return [step for step in self.steps if isinstance(step, Process)]

    async def start(self) -> None:
        """Take every step; when one fails, no process is left."""
        try:
            for step in self.steps:
                await (step.start() if isinstance(step, Process) else step())
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop every process, those that depend on others first."""
        for process in reversed(self.processes):
            await process.stop()

    async def supervise(self) -> None:
        """Watch for ever; raise when a process has ended by itself."""
        while True:
            for process in self.processes:
                if process.exit_code is not None:
                    raise PlaneError(await process.death_notice())
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
