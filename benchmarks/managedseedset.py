"""The cost of a ManagedSeedSet: API calls for each replica, and time for each pass."""

import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

from tests.support.controllers import LOCAL_PROVIDER, OURS, define_kinds, running_controllers
from tests.support.fake_garden import FakeGarden
from tests.support.landscape_objects import raw_seed
from tests.support.set_objects import make_parent, make_set
from webhook.api.managedseeds import ManagedSeedSet
from webhook.cluster.client import Client
from webhook.cluster.requests import ApiRequest
from webhook.controllers.managedseedset.plan import plan
from webhook.dev.localprovider import shoots
from webhook.dev.planes.embedded import Embedded
from webhook.domain.options import Options, SeedsOptions

NAME = "managedseedset"
SIZES = (50, 500)
AT_ONCE = 20
MOST_GROWTH = 1.2
LONGEST_SECONDS = 900
PASSES = 5
COLD = bytearray(64 * 2**20)
"""More than any processor cache holds."""


def count_calls(client: Client, calls: "Counter[str]") -> Client:
    """Count every request that a client sends, reads included."""
    send = client.send

    async def counted(request: ApiRequest, *args: float, **more: float) -> bytes:
        calls[f"{request.method} {_resource(request.path)}"] += 1
        return await send(request, *args, **more)

    client.send = counted  # type: ignore[method-assign]
    return client


def run(rounds: int) -> dict[str, Any]:
    """Scale a set from nothing to each size, and time passes over sets at rest."""
    shoots.OPERATION_DURATION = timedelta(0)  # type: ignore[misc]
    calls = {size: asyncio.run(_scale(size)) for size in SIZES}
    passes = asyncio.run(_time_passes(rounds))
    few, many = SIZES
    per_replica = {size: round(sum(calls[size].values()) / size, 2) for size in SIZES}
    growth = round(per_replica[many] / per_replica[few], 3)
    slopes = {
        name: round(costs[many] / costs[few] / (many / few), 3) for name, costs in passes.items()
    }
    return {
        "figures": [
            {
                "what": f"growth of API calls a replica from {few} to {many} replicas",
                "value": growth,
                "aim": f"at most {MOST_GROWTH}",
                "met": growth <= MOST_GROWTH,
            },
            *(
                {
                    "what": f"{what} of a pass over {many} replicas, by what {few} would predict",
                    "value": slopes[name],
                    "aim": f"at most {MOST_GROWTH}",
                    "met": slopes[name] <= MOST_GROWTH,
                }
                for name, what in (("steps", "steps"), ("cold", "CPU, from cold caches,"))
            ),
        ],
        "api_calls_per_replica": per_replica,
        "calls_by_kind": {size: dict(calls[size].most_common()) for size in SIZES},
        "steps_per_pass": passes["steps"],
        "milliseconds_per_pass": {
            name: {size: round(passes[name][size] * 1000, 2) for size in SIZES}
            for name in ("cold", "warm")
        },
        "warm_by_prediction": slopes["warm"],
    }


async def _scale(size: int) -> "Counter[str]":
    calls: Counter[str] = Counter()
    options = Options(seeds=SeedsOptions(settle_seconds=0.1))
    with tempfile.TemporaryDirectory() as directory:
        async with Embedded(Path(directory)) as server:
            await _prepare(server)
            wanted = make_set("leaf", size, maxParallel=AT_ONCE)
            await server.kubectl("apply", "--server-side", "-f", "-", input=wanted)
            async with (
                running_controllers(server, LOCAL_PROVIDER, options),
                running_controllers(
                    server, OURS, options, through=lambda client: count_calls(client, calls)
                ) as cache,
                asyncio.timeout(LONGEST_SECONDS),
            ):
                ready = asyncio.Event()

                def time_pass(_old: Any, new: Any) -> None:
                    if new is not None and _is_ready([new], size):
                        ready.set()

                cache.add_listener(ManagedSeedSet, time_pass)
                await ready.wait()
    return calls


async def _prepare(server: Embedded) -> None:
    await define_kinds(server)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "garden"}}
    await server.kubectl("apply", "-f", "-", input=namespace)
    parent = raw_seed("parent", shoots=10_000)
    status = parent.pop("status")
    await server.kubectl("apply", "-f", "-", input=parent)
    where = ("seed", "parent", "--subresource=status", "--type=merge")
    await server.kubectl("patch", *where, "-p", json.dumps({"status": status}))


def _is_ready(sets: Any, size: int) -> bool:
    return any(each.status.ready_replicas == size for each in sets)


async def _time_passes(rounds: int) -> dict[str, dict[int, float]]:
    """Time passes over sets at rest, in turn.

    Steps are counted, so they are the same in every run. Times are separate: *cold* is a pass that
    finds nothing of the set in the processor's caches, as in a process with other work between two
    passes; *warm* is the pass right after it, for which the small set is in the caches and the
    large one is not, so it also measures the size of the caches.
    """
    gardens = {size: await _grow(size) for size in SIZES}
    found = {name: dict.fromkeys(SIZES, float("inf")) for name in ("cold", "warm")}
    for _ in range(rounds * PASSES):
        for size, garden in gardens.items():
            bytes(COLD)
            for name in ("cold", "warm"):
                found[name][size] = min(found[name][size], _time_pass(garden))
    return {**found, "steps": {size: _count_steps(each) for size, each in gardens.items()}}


def _time_pass(garden: FakeGarden) -> float:
    owner, snapshot = garden.get(ManagedSeedSet, "leaf"), garden.api.snapshot()
    started = time.process_time()
    plan(owner, snapshot)
    return time.process_time() - started


def _count_steps(garden: FakeGarden) -> float:
    """Count the function calls of one pass."""
    owner, snapshot = garden.get(ManagedSeedSet, "leaf"), garden.api.snapshot()
    counted = 0

    def count(_frame: Any, event: str, _about: Any) -> None:
        nonlocal counted
        counted += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        plan(owner, snapshot)
    finally:
        sys.setprofile(None)
    return float(counted)


async def _grow(size: int) -> FakeGarden:
    garden = FakeGarden()
    garden.put(make_parent())
    garden.put(make_set(replicas=size, maxParallel=size))
    await garden.run(60, lambda: _is_ready(garden.api.memory.store(ManagedSeedSet).list(), size))
    return garden


def _resource(path: str) -> str:
    """Return the resource of a path, with its subresource, without names of objects."""
    parts = path.strip("/").split("/")
    parts = parts[3:] if parts[0] == "apis" else parts[2:]
    if parts[0] == "namespaces" and len(parts) > 2:
        parts = parts[2:]
    return "/".join((parts[0], *parts[2:]))
