"""A scheduler's extender with the same TLS: one that only reads the body, and ours.

Run as a process of its own: python -m benchmarks._extender_door bare|ours FOLDER. It prints its
port and serves until its standard input closes.
"""

import asyncio
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, cast

import uvloop
from aiohttp import web

from benchmarks._load import AUTHORITY_FILE
from benchmarks.scheduling import NAMES, make_arrivals, make_landscape
from webhook.admission.engine import Table
from webhook.api.shoots import Shoot
from webhook.cluster.cache import Cache
from webhook.controllers.extender import Extending
from webhook.runtime import logs
from webhook.runtime.clock import SystemClock
from webhook.runtime.metrics import Metrics
from webhook.server.app import Services, build_app
from webhook.server.authentication import Authenticator
from webhook.server.extender import Extender
from webhook.server.listeners import listening
from webhook.server.middleware import MAX_BODY
from webhook.server.traffic import Traffic
from webhook.tls.authority import Authority
from webhook.tls.serving import ServingContext

SHOOTS = 20_000
WAITING = 50


class _Silent:
    """A recorder of Events that nobody reads."""

    def emit(self, event: Any) -> None:
        """Forget it."""


def bare() -> web.Application:
    """Read the names and answer them all."""
    names = [f"seed-{index:04}" for index in range(NAMES)]
    answer = json.dumps({"NodeNames": names, "FailedNodes": {}, "Error": ""}).encode()

    async def handle(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=answer, content_type="application/json")

    app = web.Application(client_max_size=MAX_BODY)
    app.router.add_post("/scheduler/filter", handle)
    return app


def ours() -> web.Application:
    """Everything as shipped, over a landscape that is full of shoots."""
    chance = Random(2)
    memory, _ = make_landscape(NAMES, SHOOTS, chance)
    for shoot in make_arrivals(WAITING, chance):
        memory.store(Shoot).put(shoot.key, shoot)
    clock = SystemClock()
    nobody: Any = None
    cache = Cache(nobody, [], clock, memory=memory)
    cache._synced.set()  # there is nothing to fill it with
    extending = Extending(nobody, cache, nobody, cast("Any", _Silent()))
    extender = Extender(cache, extending, Authenticator(nobody, cache, clock))
    services = Services(cache, Table(()), Metrics(), Traffic(clock, 500), extender)
    return build_app(services, ("extender",))


async def serve(which: str, folder: Path) -> None:
    now = datetime.now(UTC)
    authority = Authority.create("bench", now)
    (folder / AUTHORITY_FILE).write_bytes(authority.certificate)
    context = ServingContext(authority.sign_server(["localhost"], now)).context
    app = bare() if which == "bare" else ours()
    async with listening(app, "127.0.0.1", 0, context) as port:
        print(port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    logs.configure("json", "info")
    if len(cores := sorted(os.sched_getaffinity(0))) > 1:
        os.sched_setaffinity(0, cores[:1])
    uvloop.run(serve(sys.argv[1], Path(sys.argv[2])))
