"""One measurement in a process of its own: reading `pages`, or filling the `cache`."""

import asyncio
import json
import logging
import resource
import sys
import time
from typing import Any

import uvloop

from webhook.api.decode import decode
from webhook.api.kinds import KINDS, kind_of_model
from webhook.api.shoots import Shoot
from webhook.cluster import config
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.cluster.requests import Selection
from webhook.runtime.clock import SystemClock

SHOOTS = Selection(kind_of_model(Shoot))


async def fetch_pages(client: Client) -> int:
    held: list[Shoot] = []
    token = ""
    while True:
        page = await client.page(SHOOTS, token)
        held += [decode(Shoot, item) for item in page.items]
        token = page.token
        if not token:
            return len(held)


async def fill_cache(client: Client) -> int:
    cache = Cache(client, KINDS, SystemClock())
    following = asyncio.create_task(cache.run())
    await cache.wait_synced()
    await asyncio.sleep(0)
    count = len(cache.memory.store(Shoot))
    following.cancel()
    return count


class LoopWatch:
    """How long the loop was kept from others: by the clock, and in CPU time of its own thread.

    Only the latter is ours alone on a machine that does other work, too.
    """

    def __init__(self) -> None:
        self.wall = 0.0
        self.busy = 0.0

    async def run(self) -> None:
        while True:
            wall, busy = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0.001)
            self.wall = max(self.wall, time.perf_counter() - wall - 0.001)
            self.busy = max(self.busy, time.thread_time() - busy)


async def measure(mode: str, kubeconfig: str, spawned: str) -> dict[str, Any]:
    watch = LoopWatch()
    async with Client(await config.load(kubeconfig)) as client:
        watching = asyncio.create_task(watch.run())
        await asyncio.sleep(0)
        count = await (fetch_pages(client) if mode == "pages" else fill_cache(client))
        seconds = time.time() - float(spawned)
        await asyncio.sleep(0.01)
        watching.cancel()
    return {
        "seconds": seconds,
        "objects": count,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "stall_ms": watch.busy * 1000,
        "stall_wall_ms": watch.wall * 1000,
    }


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # most kinds are not served here, and say so
    print(json.dumps(uvloop.run(measure(*sys.argv[1:]))))
