"""What the edges of windows cost, and how late they are.

Work: ten thousand schedules in one namespace, with edges all over an hour of virtual time, beside a
thousand; real controllers on an API in memory. Lateness: a hundred windows that open in the same
second on a real API server (the embedded one where none is built), with our webhooks called at each
write, and close in the same second; from the second that was asked for until a watch shows the
autoscaler's bound.
"""

import asyncio
import gc
import random
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
from typing_extensions import override

from tests.behaviour.scaling import GROUP, tortoise_definition
from tests.behaviour.tortoises import AUTOSCALERS, TORTOISES
from tests.behaviour.watching import events
from tests.clocks import FakeClock
from tests.gardens import Rules
from tests.scalings import MODELS, ROWS, SHOP, make_autoscaler, make_definition, make_tortoise
from webhook.api import names
from webhook.api.core import HorizontalPodAutoscaler, Namespace
from webhook.api.crds import crd
from webhook.api.kinds import Kind, find_kind, kind_of_model
from webhook.api.meta import Draft, ObjectKey, Raw
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.timestamps import format_time, parse_time
from webhook.cli.dev.server import Server
from webhook.planes.binaries import missing
from webhook.planes.embedded import Embedded
from webhook.planes.kubernetes import Kubernetes
from webhook.planes.parts import PARTS
from webhook.planes.ports import free_port
from webhook.runtime.controller import Runner
from webhook.runtime.expectations import Expectations
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import Reconciler
from webhook.runtime.recorder import Recorder
from webhook.runtime.writer import Writer

NAME = "scheduledscaling"
FEW, MANY = 1_000, 10_000
HOUR = 3600
PARTS_OF_HOUR = 6
AHEAD, LONG = 8, 6
"""Seconds until the windows open that are made together, and seconds that they last."""
AT_ONCE = 100
MOST_GROWTH = 1.2
MOST_LATE = 1.0


def run(rounds: int) -> dict[str, Any]:
    """Measure work per edge at both sizes, and lateness over the rounds."""
    work = {size: asyncio.run(_work(size)) for size in (FEW, MANY)}
    gc.unfreeze()
    writes = round(work[MANY]["writes"] / work[FEW]["writes"], 3)
    looks = round(work[MANY]["looks"] / work[FEW]["looks"], 3)
    cpu = round(work[MANY]["milliseconds"] / work[FEW]["milliseconds"], 3)
    real = not any(missing(part) for part in PARTS if part.name in ("etcd", "kubernetes"))
    late = asyncio.run(_lateness(real, min(rounds, 3)))
    worst = max(each["p99"] for each in late)
    compared = f"at {MANY} schedules, by what {FEW} cost"
    return {
        "figures": [
            _figure(f"writes for an edge {compared}", writes, MOST_GROWTH),
            _figure(f"looks at objects for an edge {compared}", looks, MOST_GROWTH),
            _figure(f"CPU for an edge {compared}", cpu, MOST_GROWTH),
            _figure(
                f"seconds that {AT_ONCE} edges in the same second are late, p99 of the worst round",
                worst,
                MOST_LATE,
            ),
        ],
        "per_edge": {str(size): found for size, found in work.items()},
        "lateness": late,
        "api_server": "kube-apiserver" if real else "embedded",
    }


def _figure(what: str, value: float, aim: float) -> dict[str, Any]:
    return {"what": what, "value": value, "aim": f"at most {aim}", "met": value <= aim}


class Api(Rules):
    """An API whose webhooks take off the annotation that names floors, as ours do."""

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
    """Run the controllers for an hour of virtual time and divide what they did by the edges."""
    clock, metrics = FakeClock(), Metrics()
    api = Api(clock, *MODELS)
    _fill(api, size)
    writer, recorder = Writer(api, metrics), Recorder(api, "bench", clock, metrics)
    runners: dict[str, Runner] = {}
    for row in ROWS:
        reconciler = Reconciler(row, api, writer, recorder, Expectations(api, clock))
        ahead = runners.get(row.after)
        runners[row.name] = Runner(row, reconciler, api, clock, metrics, ahead)
    tasks = [asyncio.create_task(runner.run()) for runner in runners.values()]
    await _rest(api)
    gc.freeze()  # as the server does once its cache is filled
    written, looked = len(api.writes), _looks(metrics)
    started = time.process_time()
    for part in range(PARTS_OF_HOUR):
        await clock.advance(HOUR / PARTS_OF_HOUR)
        minutes = HOUR * (part + 1) // PARTS_OF_HOUR // 60
        _say(f"{size} schedules: {minutes} virtual minutes, {len(api.writes) - written} writes")
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
        "writes": round((len(api.writes) - written) / edges, 3),
        "looks": round((_looks(metrics) - looked) / edges, 3),
        "milliseconds": round(spent / edges * 1000, 3),
    }


def _say(progress: str) -> None:
    print(f"  {progress}", flush=True)


async def _rest(api: Api) -> None:
    """Let tasks run until nothing is written any more."""
    quiet, seen = 0, -1
    while quiet < 50:
        await asyncio.sleep(0)
        quiet = quiet + 1 if len(api.calls) == seen else 0
        seen = len(api.calls)


def _looks(metrics: Metrics) -> float:
    return sum(
        sample.value
        for metric in metrics.reconciles.collect()
        for sample in metric.samples
        if sample.name.endswith("_total")
    )


def _fill(api: Api, size: int) -> None:
    chance = random.Random(1)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SHOP}}
    api.make(kind_of_model(Namespace), namespace)
    for raw in (make_definition(),):
        kind = find_kind(raw["apiVersion"], raw["kind"])
        assert kind is not None
        api.make(kind, raw)
    now = api.clock.now()
    for number in range(size):
        start = now + timedelta(seconds=120 + chance.randrange(HOUR // 2))
        api.make(kind_of_model(Tortoise), make_tortoise(f"t{number}"))
        autoscaler = make_autoscaler(f"tortoise-hpa-t{number}")
        api.make(kind_of_model(HorizontalPodAutoscaler), autoscaler)
        scaling = _scaling(f"s{number}", f"t{number}", start, start + timedelta(seconds=1500))
        api.make(kind_of_model(ScheduledScaling), scaling)


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


async def _lateness(real: bool, rounds: int) -> list[dict[str, Any]]:
    """Let windows open and close together on a living server, and watch the autoscalers."""
    async with AsyncExitStack() as stack:
        enter = stack.enter_async_context
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plane: Any = Kubernetes(directory / "api") if real else Embedded(directory / "api")
        server = await enter(plane)
        own = crd(kind_of_model(ScheduledScaling), beside_gardener=False)
        for item in (own, tortoise_definition()):
            await server.kubectl("apply", "--server-side", "-f", "-", input=item)
        await server.kubectl("wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        ports = (free_port(), free_port())
        espalier = Server(directory / "espalier", server.kubeconfig, ports)
        await espalier.start()
        stack.push_async_callback(espalier.stop)
        hook = "mutatingwebhookconfiguration/espalier"
        await server.kubectl("wait", "--for=create", "--timeout=60s", hook)
        context = await asyncio.to_thread(server.admin.context)
        connector = aiohttp.TCPConnector(ssl=context, limit=20)
        session = await enter(aiohttp.ClientSession(server.url, connector=connector))
        await _post(session, "/api/v1/namespaces", {"metadata": {"name": SHOP}})
        await asyncio.gather(*(_put_up(session, number) for number in range(AT_ONCE)))
        return [found for each in range(rounds) for found in await _round(session, f"round-{each}")]


async def _put_up(session: aiohttp.ClientSession, number: int) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": f"t{number}"}
    autoscaler = make_autoscaler(f"tortoise-hpa-t{number}")
    autoscaler["spec"]["scaleTargetRef"] = target
    path = f"{AUTOSCALERS}/namespaces/{SHOP}/horizontalpodautoscalers"
    await _post(session, path, autoscaler)
    path = f"{TORTOISES}/namespaces/{SHOP}/tortoises"
    await _post(session, path, make_tortoise(f"t{number}"))


async def _post(session: aiohttp.ClientSession, path: str, body: Draft) -> None:
    async with session.post(path, json=body) as response:
        if response.status >= 300:
            raise RuntimeError(await response.text())


async def _round(session: aiohttp.ClientSession, name: str) -> list[dict[str, Any]]:
    start = parse_time(format_time(datetime.now(UTC) + timedelta(seconds=AHEAD)))
    finish = start + timedelta(seconds=LONG)
    path = f"{GROUP}/namespaces/{SHOP}/scheduledscalings"
    bodies = [_scaling(f"{name}-{each}", f"t{each}", start, finish) for each in range(AT_ONCE)]
    await asyncio.gather(*(_post(session, path, body) for body in bodies))
    found = []
    for edge, least, due in (("start", 50, start), ("finish", 3, finish)):
        found.append({"edge": edge, **await _watch(session, least, due)})
        _say(f"{AT_ONCE} edges at once, {name}: {found[-1]}")
    return found


async def _watch(session: aiohttp.ClientSession, least: int, due: datetime) -> dict[str, float]:
    """Note when each autoscaler shows a bound, in seconds after it was due."""
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
