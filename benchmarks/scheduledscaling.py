"""The cost of the edges of windows, and their lateness.

Work: ten thousand schedules in one namespace, with edges all over an hour of virtual time, compared
with a thousand; real controllers on the fake API server. Lateness: a hundred windows that open in
the same second on a real API server (the embedded one where none is built), with our webhooks
called at each write, and close in the same second; from the scheduled second until a watch shows
the autoscaler's bound.
"""

import asyncio
import gc
import random
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
from typing_extensions import override

from benchmarks._scaling import is_real, post, put_up, stage
from tests.support.clocks import FakeClock
from tests.support.fake_cluster import FakeCluster
from tests.support.fake_scaling_cluster import (
    MODELS,
    ROWS,
    SHOP,
    make_autoscaler,
    make_definition,
    make_tortoise,
)
from tests.support.fake_tortoise import AUTOSCALERS
from tests.support.scaling_definitions import tortoise_definition
from tests.support.scaling_workload import GROUP
from tests.support.watches import events
from webhook.api import names
from webhook.api.core import HorizontalPodAutoscaler, Namespace
from webhook.api.crds import crd
from webhook.api.kinds import Kind, find_kind, kind_of_model
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.kube.meta import Draft, ObjectKey, Raw
from webhook.kube.timestamps import format_time, parse_time
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.expectations import Expectations
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import Reconciler
from webhook.runtime.runner import Runner
from webhook.runtime.writer import Writer

NAME = "scheduledscaling"
FEW, MANY = 1_000, 10_000
HOUR = 3600
PARTS_OF_HOUR = 6
AHEAD, LONG = 8, 6
"""Seconds until the windows that are created together open, and seconds that they last."""
AT_ONCE = 100
MOST_GROWTH = 1.2
MOST_LATE = 1.0


def run(rounds: int) -> dict[str, Any]:
    """Measure work per edge at both sizes, and lateness over the rounds."""
    work = {size: asyncio.run(_work(size)) for size in (FEW, MANY)}
    gc.unfreeze()
    writes = round(work[MANY]["writes"] / work[FEW]["writes"], 3)
    reads = round(work[MANY]["looks"] / work[FEW]["looks"], 3)
    cpu = round(work[MANY]["milliseconds"] / work[FEW]["milliseconds"], 3)
    late = asyncio.run(_lateness(min(rounds, 3)))
    worst = max(each["p99"] for each in late)
    compared = f"at {MANY} schedules, by what {FEW} cost"
    return {
        "figures": [
            _figure(f"writes for an edge {compared}", writes, MOST_GROWTH),
            _figure(f"looks at objects for an edge {compared}", reads, MOST_GROWTH),
            _figure(f"CPU for an edge {compared}", cpu, MOST_GROWTH),
            _figure(
                f"seconds that {AT_ONCE} edges in the same second are late, p99 of the worst round",
                worst,
                MOST_LATE,
            ),
        ],
        "per_edge": {str(size): found for size, found in work.items()},
        "lateness": late,
        "api_server": "kube-apiserver" if is_real() else "embedded",
    }


def _figure(what: str, value: float, aim: float) -> dict[str, Any]:
    return {"what": what, "value": value, "aim": f"at most {aim}", "met": value <= aim}


class Api(FakeCluster):
    """A cluster whose webhooks remove the annotation that names floors, as ours do."""

    @override
    async def patch(
        self,
        kind: Kind,
        key: ObjectKey,
        change: Raw | Sequence[Raw],
        *,
        subresource: str = "",
        query: Mapping[str, str] | None = None,
    ) -> Draft:
        if isinstance(change, Mapping):
            metadata = {**(change.get("metadata") or {})}
            annotations = {**(metadata.get("annotations") or {})}
            if annotations.pop(names.SCALING_FLOORS, None) is not None:
                metadata["annotations"] = annotations
                change = {**change, "metadata": metadata}
        return await super().patch(kind, key, change, subresource=subresource, query=query)


async def _work(size: int) -> dict[str, float]:
    """Run the controllers for an hour of virtual time; return the work per edge."""
    clock, metrics = FakeClock(), Metrics()
    api = Api(clock, *MODELS)
    _fill(api, size)
    writer, recorder = Writer(api, metrics), EventRecorder(api, "bench", clock, metrics)
    runners: dict[str, Runner] = {}
    for row in ROWS:
        reconciler = Reconciler(row, api, writer, recorder, Expectations(api, clock))
        ahead = runners.get(row.after)
        runners[row.name] = Runner(row, reconciler, api, clock, metrics, ahead)
    tasks = [asyncio.create_task(runner.run()) for runner in runners.values()]
    await _rest(api)
    gc.freeze()  # as the server does once its cache is filled
    written, read = len(api.calls), _reads(metrics)
    started = time.process_time()
    for part in range(PARTS_OF_HOUR):
        await clock.advance(HOUR / PARTS_OF_HOUR)
        minutes = HOUR * (part + 1) // PARTS_OF_HOUR // 60
        _print_progress(
            f"{size} schedules: {minutes} virtual minutes, {len(api.calls) - written} writes"
        )
    await _rest(api)
    spent = time.process_time() - started
    edges = 2 * size
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    completed = sum(
        each.status.phase == "Completed" for each in api.memory.store(ScheduledScaling).list()
    )
    if completed != size:
        raise RuntimeError(f"only {completed} of {size} windows came and went")
    return {
        "writes": round((len(api.calls) - written) / edges, 3),
        "looks": round((_reads(metrics) - read) / edges, 3),
        "milliseconds": round(spent / edges * 1000, 3),
    }


def _print_progress(progress: str) -> None:
    print(f"  {progress}", flush=True)


async def _rest(api: Api) -> None:
    """Run tasks until nothing is written any more."""
    quiet, seen = 0, -1
    while quiet < 50:
        await asyncio.sleep(0)
        quiet = quiet + 1 if len(api.calls) == seen else 0
        seen = len(api.calls)


def _reads(metrics: Metrics) -> float:
    return sum(
        sample.value
        for metric in metrics.reconciles.collect()
        for sample in metric.samples
        if sample.name.endswith("_total")
    )


def _fill(api: Api, size: int) -> None:
    chance = random.Random(1)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SHOP}}
    api.put(kind_of_model(Namespace), namespace)
    for raw in (make_definition(),):
        kind = find_kind(raw["apiVersion"], raw["kind"])
        assert kind is not None
        api.put(kind, raw)
    now = api.clock.now()
    for number in range(size):
        start = now + timedelta(seconds=120 + chance.randrange(HOUR // 2))
        api.put(kind_of_model(Tortoise), make_tortoise(f"t{number}"))
        autoscaler = make_autoscaler(f"tortoise-hpa-t{number}")
        api.put(kind_of_model(HorizontalPodAutoscaler), autoscaler)
        scaling = _scaling(f"s{number}", f"t{number}", start, start + timedelta(seconds=1500))
        api.put(kind_of_model(ScheduledScaling), scaling)


def _scaling(name: str, tortoise: str, start: datetime, finish: datetime) -> Draft:
    floor = {"containerName": "app", "resources": {"memory": "5Gi"}}
    static = {"minimumMinReplicas": 50, "minAllocatedResources": [floor]}
    return {
        "apiVersion": "autoscaling.mercari.com/v1alpha1",
        "kind": "ScheduledScaling",
        "metadata": {"name": name, "namespace": SHOP},
        "spec": {
            "targetRefs": {"tortoiseName": tortoise},
            "strategy": {"static": static},
            "schedule": {"startAt": format_time(start), "finishAt": format_time(finish)},
        },
    }


async def _lateness(rounds: int) -> list[dict[str, Any]]:
    """Open and close windows together on a running server, and watch the autoscalers."""
    own = crd(kind_of_model(ScheduledScaling), beside_gardener=False)
    async with stage((own, tortoise_definition())) as found:
        session = found.session
        await asyncio.gather(*(put_up(session, number) for number in range(AT_ONCE)))
        return [found for each in range(rounds) for found in await _round(session, f"round-{each}")]


async def _round(session: aiohttp.ClientSession, name: str) -> list[dict[str, Any]]:
    start = parse_time(format_time(datetime.now(UTC) + timedelta(seconds=AHEAD)))
    finish = start + timedelta(seconds=LONG)
    path = f"{GROUP}/namespaces/{SHOP}/scheduledscalings"
    bodies = [_scaling(f"{name}-{each}", f"t{each}", start, finish) for each in range(AT_ONCE)]
    await asyncio.gather(*(post(session, path, body) for body in bodies))
    found = []
    for edge, least, due in (("start", 50, start), ("finish", 3, finish)):
        found.append({"edge": edge, **await _watch(session, least, due)})
        _print_progress(f"{AT_ONCE} edges at once, {name}: {found[-1]}")
    return found


async def _watch(session: aiohttp.ClientSession, least: int, due: datetime) -> dict[str, float]:
    """Record when each autoscaler shows a bound, in seconds after it was due."""
    path = f"{AUTOSCALERS}/namespaces/{SHOP}/horizontalpodautoscalers"
    seen: dict[str, float] = {}
    async with asyncio.timeout(60):
        async for event in events(session, path):
            obj = event["object"]
            name = obj["metadata"]["name"]
            if obj["spec"]["minReplicas"] == least and name not in seen:
                late = (datetime.now(UTC) - due).total_seconds()
                if late >= 0:
                    seen[name] = late
            if len(seen) == AT_ONCE:
                break
    found = sorted(seen.values())
    return {
        "median": round(found[len(found) // 2], 3),
        "p99": round(found[len(found) * 99 // 100 - 1], 3),
    }
