"""Servers with the same TLS: a bare endpoint, and ours without policies and with all.

Run as a process: `python -m benchmarks._servers bare|ours|full|ordinary FOLDER`; `ordinary` is
`full` without the fast path. It prints its port and serves until its standard input closes.
"""

import asyncio
import gc
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import uvloop
from aiohttp import web

from benchmarks._load import AUTHORITY_FILE, CLIENT_FILE
from benchmarks._shoots import make_shoot, make_surroundings
from webhook.admission.engine import TABLE, PolicyTable
from webhook.api.decode import convert
from webhook.api.kinds import KINDS, find_kind
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.kube.clock import SystemClock
from webhook.runtime import logs, pauses
from webhook.runtime.metrics import Metrics
from webhook.runtime.tasks import background
from webhook.server.app import Services, build_app
from webhook.server.bodies import MAX_BODY
from webhook.server.listeners import listening
from webhook.server.traffic import Traffic
from webhook.state.cluster_state import ClusterState
from webhook.tls.authority import Authority
from webhook.tls.serving import ServingContext

SHOOTS = 10_000
ANSWER = (
    b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":'
    b'{"uid":"705ab4f5-6393-11e8-b7cc-42010a800002","allowed":true}}'
)


def bare(path: str, answer: bytes) -> web.Application:
    """Read the body without decoding it, and respond as ours does."""

    async def handle(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=answer, content_type="application/json")

    app = web.Application(client_max_size=MAX_BODY)
    app.router.add_post(path, handle)
    return app


def ours(
    metrics: Metrics,
    table: PolicyTable,
    memory: ClusterState | None = None,
    *,
    fast_path: bool = True,
) -> web.Application:
    """The server as shipped, except for the policies and what they read."""
    clock = SystemClock()
    cache = Cache(cast("Client", None), [], clock, state=memory)
    cache._synced.set()  # there is nothing to fill it with
    services = Services(cache, table, metrics, Traffic(clock, 500), fast_path=fast_path)
    return build_app(services, ["admission"])


def landscape() -> ClusterState:
    """Return a cache of 10,000 shoots with their profile, bindings, quota and seeds."""
    memory = ClusterState(kind.model for kind in KINDS)
    for raw in (*make_surroundings(), *map(make_shoot, range(SHOOTS))):
        kind = find_kind(raw["apiVersion"], raw["kind"])
        assert kind is not None
        obj = convert(kind.model, raw)
        memory.store(kind.model).put(obj.key, obj)
    gc.collect()
    gc.freeze()
    return memory


async def serve(
    app: web.Application, folder: Path, authority: Authority | None = None, client: str = ""
) -> None:
    """Print a port and serve there, with a certificate of the folder's CA.

    The folder also gets a certificate of that CA for a client, if one is named.
    """
    now = datetime.now(UTC)
    authority = authority or Authority.create("bench", now)
    (folder / AUTHORITY_FILE).write_bytes(authority.certificate)
    if client:
        pair = authority.sign_client(client, now)
        (folder / CLIENT_FILE).write_bytes(pair.certificate + pair.key)
    trusted = authority.certificate if client else b""
    context = ServingContext(authority.sign_server(["localhost"], now), trusted).context
    async with listening(app, "127.0.0.1", 0, context) as port:
        print(port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


async def main(which: str, folder: Path) -> None:
    if which == "bare":
        await serve(bare("/validate", ANSWER), folder)
        return
    metrics = Metrics()
    if which == "ours":
        app = ours(metrics, PolicyTable(()))
    else:
        app = ours(metrics, TABLE, landscape(), fast_path=which == "full")
    async with background("loop lag", pauses.measure_loop_lag(SystemClock(), metrics)):
        with pauses.measure_gc_pauses(metrics):
            await serve(app, folder)


if __name__ == "__main__":
    logs.configure("json", "info")
    uvloop.run(main(sys.argv[1], Path(sys.argv[2])))
