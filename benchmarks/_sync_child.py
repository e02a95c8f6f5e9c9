"""One measurement in a process: reading `pages`, or filling the `cache`."""

import asyncio
import gc
import json
import logging
import resource
import sys
import time
from typing import Any

import uvloop

from webhook.api.kinds import KINDS, kind_of_model
from webhook.api.shoots import Shoot
from webhook.cluster import config
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.cluster.requests import Selection
from webhook.kube.clock import SystemClock
from webhook.state.store import Store

SHOOTS = Selection(kind_of_model(Shoot))


async def fetch_pages(client: Client) -> list[Shoot]:
    return await client.list_objects(Shoot)


async def fill_cache(client: Client) -> Store[Shoot]:
    cache = Cache(client, KINDS, SystemClock())
    following = asyncio.create_task(cache.run())
    await cache.wait_synced()
    await asyncio.sleep(0)
    following.cancel()
    return cache.state.store(Shoot)


def collection_ms() -> float:
    began = time.thread_time()
    gc.collect()
    return (time.thread_time() - began) * 1000


class LoopWatch:
    """How long the event loop was blocked: in real time, and in CPU time of its own thread.

    Only the latter is comparable on a machine with other work.
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
        held = await (fetch_pages(client) if mode == "pages" else fill_cache(client))
        seconds = time.time() - float(spawned)
        await asyncio.sleep(0.01)
        watching.cancel()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    frozen = collection_ms()
    gc.unfreeze()
    return {
        "seconds": seconds,
        "objects": len(held),
        "peak_mb": peak,
        "frozen_ms": frozen,
        "thawed_ms": collection_ms(),
        "stall_ms": watch.busy * 1000,
        "stall_wall_ms": watch.wall * 1000,
    }


if __name__ == "__main__":
    logging.disable(logging.WARNING)  # most kinds are not served here, which the cache reports
    print(json.dumps(uvloop.run(measure(*sys.argv[1:]))))
