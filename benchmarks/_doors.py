"""Servers with the same TLS: a bare endpoint that reads a body, and ours without and with policies.

Run as a process of its own: python -m benchmarks._doors bare|ours|full FOLDER. It prints its port
and serves until its standard input closes.
"""

import asyncio
import gc
import sys
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


def bare(path: str, answer: bytes) -> web.Application:
    """Read the body, decode nothing, answer what the other one answers."""

    async def handle(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=answer, content_type="application/json")

    app = web.Application(client_max_size=MAX_BODY)
    app.router.add_post(path, handle)
    return app


def ours(metrics: Metrics, table: Table, memory: Memory | None = None) -> web.Application:
    """Everything as shipped, but for the policies and what they read."""
    clock = SystemClock()
    cache = Cache(cast("Client", None), [], clock, memory=memory)
    cache._synced.set()  # there is nothing to fill it with
    services = Services(cache, table, metrics, Traffic(clock, 500))
    return build_app(services, ["admission"])


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


async def serve(app: web.Application, folder: Path) -> None:
    """Print a port and serve there, with a certificate that the folder's authority vouches for."""
    now = datetime.now(UTC)
    authority = Authority.create("bench", now)
    (folder / AUTHORITY_FILE).write_bytes(authority.certificate)
    context = ServingContext(authority.sign_server(["localhost"], now)).context
    async with listening(app, "127.0.0.1", 0, context) as port:
        print(port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


async def main(which: str, folder: Path) -> None:
    if which == "bare":
        await serve(bare("/validate", ANSWER), folder)
        return
    metrics = Metrics()
    app = ours(metrics, TABLE, landscape()) if which == "full" else ours(metrics, Table(()))
    async with background("pulse", pulse.watch_loop(SystemClock(), metrics)):
        with pulse.watching_gc(metrics):
            await serve(app, folder)


if __name__ == "__main__":
    logs.configure("json", "info")
    uvloop.run(main(sys.argv[1], Path(sys.argv[2])))
