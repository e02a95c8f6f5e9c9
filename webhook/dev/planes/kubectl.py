"""Runs the kubectl that was built here, never the machine's own, against one server."""

import asyncio
import json
import os
from asyncio.subprocess import PIPE
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from webhook.dev.planes.binaries import require
from webhook.dev.planes.errors import PlaneError
from webhook.kube.meta import Raw

_TIMEOUT: Final = 150.0


class Completed(NamedTuple):
    """The result of a run of kubectl."""

    code: int
    stdout: str
    stderr: str


@dataclass(frozen=True, slots=True)
class Kubectl:
    """kubectl with the kubeconfig and the discovery cache of one server."""

    kubeconfig: Path
    binary: str = "kubectl"
    """The name of the binary, which selects the version."""

    async def __call__(
        self,
        *arguments: str,
        input: str | Raw | Sequence[Raw] | None = None,  # noqa: A002  as subprocess.run
        check: bool = True,
        timeout: float = _TIMEOUT,
    ) -> Completed:
        """Run kubectl, with text or objects as standard input (`-f -`); raise on failure."""
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
            output = completed.stderr.strip() or completed.stdout.strip()
            raise PlaneError(f"kubectl {' '.join(arguments)} failed: {output}")
        return completed

    def command(self, *arguments: str) -> list[str]:
        """Return the command line, for callers that start the process themselves."""
        return [str(require(self.binary)), *arguments]

    def environment(self) -> dict[str, str]:
        """Return the environment that selects the server.

        Each server has its own discovery cache, since another one may have used its port before.
        """
        return os.environ | {
            "KUBECONFIG": str(self.kubeconfig),
            "KUBECACHEDIR": str(self.kubeconfig.parent / f"{self.binary}-cache"),
            "KUBERC": "off",
        }


def _encode(content: str | Raw | Sequence[Raw] | None) -> bytes:
    if content is None:
        return b""
    if isinstance(content, str):
        return content.encode()
    objects = [content] if isinstance(content, Mapping) else content
    return "\n".join(json.dumps(one) for one in objects).encode()
