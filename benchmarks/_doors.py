"""Servers with the same TLS: a bare endpoint that reads a body, and ours without and with policies.

Run as a process of its own: python -m benchmarks._doors bare|ours|full. It prints its port, and
when its standard input closes, the processor seconds that it took.
"""

import asyncio
import gc
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import uvloop
from aiohttp import web

from benchmarks._load import AUTHORITY_FILE
from benchmarks._shoots import make_shoot, make_surroundings
from webhook.admission.engine import TABLE, Table
from webhook.api.decode import convert
from webhook.api.kinds import KINDS, find_kind
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.runtime import logs, pulse
from webhook.runtime.clock import SystemClock
from webhook.runtime.manager import background
from webhook.runtime.metrics import Metrics
from webhook.server.app import Services, build_app
from webhook.server.listeners import listening
from webhook.server.middleware import MAX_BODY
from webhook.server.traffic import Traffic
from webhook.state.memory import Memory
from webhook.tls.authority import Authority
from webhook.tls.serving import ServingContext

SHOOTS = 10_000
ANSWER = (
    b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":'
    b'{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","allowed":true}}'
)


def bare() -> web.Application:
    """Read the body, decode nothing, answer what the other one answers."""

    async def handle(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=ANSWER, content_type="application/json")

    app = web.Application(client_max_size=MAX_BODY)
    app.router.add_post("/validate", handle)
    return app


def ours(metrics: Metrics, table: Table, memory: Memory | None = None) -> web.Application:
    """Everything as shipped, but for the policies and what they read."""
    clock = SystemClock()
    cache = Cache(cast("Client", None), [], clock, memory=memory)
    cache._synced.set()  # there is nothing to fill it with
    services = Services(cache, table, metrics, Traffic(clock, 500))
    return build_app(services, ("admission",))


def landscape() -> Memory:
    """Remember 10,000 shoots with their profile, bindings, quota and seeds."""
    memory = Memory(kind.model for kind in KINDS)
    for raw in (*make_surroundings(), *map(make_shoot, range(SHOOTS))):
        kind = find_kind(raw["apiVersion"], raw["kind"])
        assert kind is not None
        obj = convert(kind.model, raw)
        memory.store(kind.model).put(obj.key, obj)
    gc.collect()
    gc.freeze()
    return memory


async def serve(which: str, certificates: Path) -> None:
    now = datetime.now(UTC)
    authority = Authority.create("bench", now)
    (certificates / AUTHORITY_FILE).write_bytes(authority.certificate)
    context = ServingContext(authority.sign_server(["localhost"], now)).context
    metrics = Metrics()
    if which == "bare":
        app = bare()
    elif which == "ours":
        app = ours(metrics, Table(()))
    else:
        app = ours(metrics, TABLE, landscape())
    loop = asyncio.get_running_loop()
    async with listening(app, "127.0.0.1", 0, context) as port:
        print(port, flush=True)
        started = time.process_time()
        if which == "bare":
            await loop.run_in_executor(None, sys.stdin.read)
        else:
            beat = pulse.watch_loop(SystemClock(), metrics)
            async with background("pulse", beat):
                with pulse.watching_gc(metrics):
                    await loop.run_in_executor(None, sys.stdin.read)
        print(time.process_time() - started, flush=True)


if __name__ == "__main__":
    logs.configure("json", "info")
    if len(cores := sorted(os.sched_getaffinity(0))) > 1:
        os.sched_setaffinity(0, cores[:1])
    uvloop.run(serve(sys.argv[1], Path(sys.argv[2])))
