"""A scheduler's extender with the same TLS: one that only reads the body, and ours.

Run as a process of its own: python -m benchmarks._extender_door bare|ours FOLDER. It prints its
port and serves until its standard input closes.
"""

import json
import sys
from pathlib import Path
from random import Random
from typing import Any, cast

import uvloop
from aiohttp import web

from benchmarks import _doors
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
from webhook.server.traffic import Traffic

SHOOTS = 20_000
WAITING = 50


class _Silent:
    """A recorder of Events that nobody reads."""

    def emit(self, event: Any) -> None:
        """Forget it."""


def bare() -> web.Application:
    """Answer all the names without a look at the body."""
    names = [f"seed-{index:04}" for index in range(NAMES)]
    answer = json.dumps({"NodeNames": names, "FailedNodes": {}, "Error": ""}).encode()
    return _doors.bare("/scheduler/filter", answer)


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
    return build_app(services, ["extender"])


async def main(which: str, folder: Path) -> None:
    await _doors.serve(bare() if which == "bare" else ours(), folder)


if __name__ == "__main__":
    logs.configure("json", "info")
    uvloop.run(main(sys.argv[1], Path(sys.argv[2])))
