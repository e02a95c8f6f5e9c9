"""Run the kubectl that is built here, never the machine's own, against one server."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeAlias

from webhook.planes.binaries import require
from webhook.planes.errors import PlaneError

Manifest: TypeAlias = Mapping[str, object]

_TIMEOUT = 150.0


class Completed(NamedTuple):
    """What a run of kubectl left."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl with the kubeconfig and the discovery cache of one server."""

    kubeconfig: Path
    binary: str = "kubectl"
    """Which of those that are built."""

    async def __call__(
        self,
        *arguments: str,
        input: str | Manifest | Sequence[Manifest] | None = None,  # noqa: A002  as subprocess.run
        check: bool = True,
        timeout: float = _TIMEOUT,
    ) -> Completed:
        """Run to the end, with text or objects as standard input (`-f -`); raise on failure."""
        command = await asyncio.to_thread(self.command, *arguments)
        process = await asyncio.create_subprocess_exec(
            *command, env=self.environment(), stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        try:
            async with asyncio.timeout(timeout):
                out, err = await process.communicate(_encode(input))
        except BaseException:
            process.kill()
            await process.wait()
            raise
        completed = Completed(process.returncode or 0, out.decode(), err.decode())
        if check and completed.code:
            said = completed.stderr.strip() or completed.stdout.strip()
            raise PlaneError(f"kubectl {' '.join(arguments)} failed: {said}")
        return completed

    def command(self, *arguments: str) -> list[str]:
        """Give the command line, for those who run it themselves."""
        return [str(require(self.binary)), *arguments]

    def environment(self) -> dict[str, str]:
        """Give the environment that makes a command line ours.

        The discovery cache is the server's own: another one may have had its port before.
        """
        return os.environ | {
            "KUBECONFIG": str(self.kubeconfig),
            "KUBECACHEDIR": str(self.kubeconfig.parent / f"{self.binary}-cache"),
            "KUBERC": "off",
        }


def _encode(content: str | Manifest | Sequence[Manifest] | None) -> bytes:
    if content is None:
        return b""
    if isinstance(content, str):
        return content.encode()
    objects = [content] if isinstance(content, Mapping) else content
    return "\n".join(json.dumps(one) for one in objects).encode()
