"""The local provider as a program of its own: `python -m tests.play KUBECONFIG DIR`."""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from webhook.cli.dev import provider, shoots
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.runtime.clock import SystemClock


async def main(kubeconfig: str, directory: Path) -> None:
    """Play gardenlets beside a real Gardener until killed, quicker than people want to see it."""
    shoots.PACE = timedelta(seconds=1)  # type: ignore[misc]
    async with Client(await config.load(kubeconfig)) as client:
        await provider.run(client, SystemClock(), directory, beside_gardener=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
