"""The local provider as a process: `python -m tests.support.local_provider KUBECONFIG DIR`."""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.dev.localprovider import controllers, shoots
from webhook.kube.clock import SystemClock


async def main(kubeconfig: str, directory: Path) -> None:
    """Simulate gardenlets beside a real Gardener until the process is killed, at high speed."""
    shoots.OPERATION_DURATION = timedelta(seconds=1)  # type: ignore[misc]
    async with Client(await config.load(kubeconfig)) as client:
        await controllers.run(client, SystemClock(), directory, beside_gardener=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))
