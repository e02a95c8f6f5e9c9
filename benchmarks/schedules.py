"""Reviews of Shoots while a thousand dense schedules run, compared with none.

The schedules are on one API server with a running Espalier that leads: every one opens at least
every ten minutes, a third of them never closes. Quiet and busy spans take turns, each of full
minutes, because edges are at full minutes. Espalier has a core for itself. The worst case is a
thousand schedules that all open and close every other minute.
"""

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks._measurement import Found, Load, median_ratio, processor_seconds, send
from benchmarks._scaling import Stage, is_real, post, put_up, stage
from benchmarks._shoots import make_surroundings
from tests.support.fake_scaling_cluster import SHOP
from tests.support.scaling_workload import GROUP
from webhook.kube.meta import Draft

NAME = "schedules"
CRDS = Path(__file__).parents[1] / "manifests" / "crds"
SCHEDULES = 1_000
AS_MANY = 0.8
MOST_ROUNDS = 3
LOAD = Load(seconds=60.0)
SEED_NETWORKS = {"pods": "172.30.0.0/16", "services": "172.31.0.0/16"}
PATH = f"{GROUP}/namespaces/{SHOP}/scheduledscalings"


class Density(NamedTuple):
    """How often windows open, and how long they last."""

    cron: str
    duration: str


DENSE = (
    *(Density("* * * * *", "1m"), Density("* * * * *", "24h"), Density("*/5 * * * *", "1h")),
    *(Density("*/2 * * * *", "1m"), Density("*/3 * * * *", "2m"), Density("*/5 * * * *", "1m")),
    *(Density("*/5 * * * *", "4m"), Density("*/10 * * * *", "1m"), Density("*/10 * * * *", "9m")),
)
WORST = (Density("*/2 * * * *", "1m"),)


def run(rounds: int) -> dict[str, Any]:
    """Measure without schedules, with dense ones, and in the worst case, in turn."""
    return asyncio.run(_run(min(rounds, MOST_ROUNDS)))


async def _run(rounds: int) -> dict[str, Any]:
    measured: dict[str, list[Found]] = {"quiet": [], "dense": [], "worst": []}
    async with stage((CRDS,)) as found:
        _take_cores(found)
        await _fill(found)
        for number in range(rounds):
            measured["quiet"].append(await _measure(found))
            for name, densities in (("dense", DENSE), ("worst", WORST)):
                seconds = await _create(found, densities)
                measured[name].append(await _measure(found) | {"create_seconds": seconds})
                await _delete(found)
                _print_progress(f"round {number + 1} of {rounds}, {name}: {measured[name][-1]}")
    rates = {name: median_ratio(measured, name, "quiet", "rate") for name in ("dense", "worst")}
    waits = median_ratio(measured, "dense", "quiet", "p99_ms")
    return {
        "figures": [
            {
                "what": f"reviews of Shoots per second while {SCHEDULES:,} dense schedules run,"
                " beside none",
                "value": round(rates["dense"], 3),
                "aim": f"at least {AS_MANY}",
                "met": rates["dense"] >= AS_MANY,
            },
            _report(
                "the same, per second of Espalier's CPU",
                median_ratio(measured, "dense", "quiet", "per_core_second"),
            ),
            _report("99th percentile of their time to an answer, beside none", waits),
            _report(
                f"reviews per second while {SCHEDULES:,} schedules open and close every other"
                " minute, beside none",
                rates["worst"],
            ),
        ],
        "measured": measured,
        "api_server": "kube-apiserver" if is_real() else "embedded",
    }


def _report(what: str, value: float) -> dict[str, Any]:
    return {"what": what, "value": round(value, 3), "aim": "reported, no aim", "met": True}


def _print_progress(progress: str) -> None:
    print(f"  {progress}", flush=True)


def _take_cores(found: Stage) -> None:
    """Give Espalier the first core; the API server shares the other one with the client."""
    first, *others = sorted(os.sched_getaffinity(0))
    if others:
        os.sched_setaffinity(0, others)
        for pid in _descendants(os.getpid()):
            cores = [first] if pid == found.espalier.pid else others
            for thread in Path(f"/proc/{pid}/task").iterdir():
                os.sched_setaffinity(int(thread.name), cores)


def _descendants(pid: int) -> Sequence[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [each for child in map(int, listed) for each in (child, *_descendants(child))]


async def _fill(found: Stage) -> None:
    """Create what the reviews refer to, and the workloads."""
    for name in ("garden", "garden-bench"):
        await post(found.session, "/api/v1/namespaces", {"metadata": {"name": name}})
    items = [*make_surroundings()]
    for item in items:
        if item["kind"] == "Seed":
            item["spec"]["networks"] = SEED_NETWORKS
    surroundings = {"apiVersion": "v1", "kind": "List", "items": items}
    await found.server.kubectl("apply", "--server-side", "-f", "-", input=surroundings)
    for first in range(0, SCHEDULES, 50):
        numbers = range(first, first + 50)
        await asyncio.gather(*(put_up(found.session, number) for number in numbers))


async def _measure(found: Stage) -> Found:
    before = processor_seconds(found.espalier.pid)
    sent = await send(found.port, str(found.certificates), LOAD)
    used = processor_seconds(found.espalier.pid) - before
    # Other work of the machine affects this less than the rate.
    return sent | {"per_core_second": round(sent["answers"] / used, 1)}


async def _create(found: Stage, densities: Sequence[Density]) -> float:
    """Create the schedules and wait until each has a status."""
    began = time.perf_counter()
    for first in range(0, SCHEDULES, 20):
        bodies = (_scaling(number, densities) for number in range(first, first + 20))
        await asyncio.gather(*(post(found.session, PATH, body) for body in bodies))
    await _until(found, lambda items: all("phase" in each.get("status", {}) for each in items))
    return round(time.perf_counter() - began, 1)


async def _delete(found: Stage) -> None:
    for first in range(0, SCHEDULES, 20):
        numbers = range(first, first + 20)
        await asyncio.gather(*(_delete_one(found, number) for number in numbers))
    await _until(found, lambda items: not items)


async def _delete_one(found: Stage, number: int) -> None:
    async with found.session.delete(f"{PATH}/s{number}") as response:
        response.raise_for_status()


async def _until(found: Stage, holds: Callable[[Sequence[Draft]], bool]) -> None:
    """Wait until a condition holds for all schedules."""
    async with asyncio.timeout(600):
        while True:
            async with found.session.get(PATH) as response:
                if holds((await response.json())["items"]):
                    return
            await asyncio.sleep(0.5)


def _scaling(number: int, densities: Sequence[Density]) -> Draft:
    density = densities[number % len(densities)]
    floor = {"containerName": "app", "resources": {"memory": "5Gi"}}
    static = {"minimumMinReplicas": 50, "minAllocatedResources": [floor]}
    return {
        "apiVersion": "autoscaling.mercari.com/v1alpha1",
        "kind": "ScheduledScaling",
        "metadata": {"name": f"s{number}"},
        "spec": {
            "targetRefs": {"tortoiseName": f"t{number}"},
            "strategy": {"static": static},
            "schedule": {"cron": density.cron, "duration": density.duration},
        },
    }
