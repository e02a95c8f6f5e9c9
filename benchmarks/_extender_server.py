"""A scheduler extender with the same TLS: one that only reads the body, and ours.

Run as a process: `python -m benchmarks._extender_server bare|ours FOLDER`. It prints its port and
serves until its standard input closes.
"""

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any, cast

import uvloop
from aiohttp import web

from benchmarks import _servers
from benchmarks.scheduling import NAMES, make_arrivals, make_landscape
from webhook.admission.engine import PolicyTable
from webhook.api.shoots import Shoot
from webhook.cluster.cache import Cache
from webhook.kube.clock import SystemClock
from webhook.placement.extender_service import ExtenderService
from webhook.runtime import logs
from webhook.runtime.metrics import Metrics
from webhook.server.app import Services, build_app
from webhook.server.authentication import Authenticator
from webhook.server.extender import Extender
from webhook.server.traffic import Traffic
from webhook.tls.authority import Authority

SHOOTS = 20_000
WAITING = 50


class _AllowingApi:
    """An API server that allows everything."""

    async def document(self, request: Any, timeout: float) -> dict[str, Any]:
        """Answer a SubjectAccessReview."""
        return {"status": {"allowed": True}}


class _Silent:
    """A recorder that drops all Events."""

    def emit(self, event: Any) -> None:
        """Drop an Event."""


def bare() -> web.Application:
    """Return all the names without reading the body."""
    names = [f"seed-{index:04}" for index in range(NAMES)]
    answer = json.dumps({"NodeNames": names, "FailedNodes": {}, "Error": ""}).encode()
    return _servers.bare("/scheduler/filter", answer)


def ours(clients: bytes) -> web.Application:
    """The extender as shipped, over a landscape that is full of shoots, for clients of a CA."""
    chance = Random(2)
    memory, _ = make_landscape(NAMES, SHOOTS, chance)
    for shoot in make_arrivals(WAITING, chance):
        memory.store(Shoot).put(shoot.key, shoot)
    clock = SystemClock()
    nobody: Any = None
    cache = Cache(cast("Any", _AllowingApi()), [], clock, state=memory)
    cache._synced.set()  # there is nothing to fill it with
    extending = ExtenderService(nobody, cache, nobody, cast("Any", _Silent()))
    extender = Extender(cache, extending, Authenticator(nobody, cache, clock, clients))
    services = Services(cache, PolicyTable(()), Metrics(), Traffic(clock, 500), extender)
    return build_app(services, ["extender"])


async def main(which: str, folder: Path) -> None:
    authority = Authority.create("bench", datetime.now(UTC))
    app = bare() if which == "bare" else ours(authority.certificate)
    await _servers.serve(app, folder, authority, "kube-scheduler")


if __name__ == "__main__":
    logs.configure("json", "info")
    uvloop.run(main(sys.argv[1], Path(sys.argv[2])))
