"""The leader's controllers and a played provider on an API server, in the test's own process."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.core import ConfigMap
from webhook.api.crds import crd
from webhook.api.kinds import kind_of_model
from webhook.api.meta import Object
from webhook.api.projects import Project
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cli.dev.provider import PARTS
from webhook.cluster import config
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.cluster.requests import Selection
from webhook.controllers.capacity import CAPACITY
from webhook.controllers.care import CARE
from webhook.controllers.dispatcher import Dispatcher
from webhook.controllers.managedseed.controller import MANAGED_SEED
from webhook.controllers.managedseedset.controller import MANAGED_SEED_SET
from webhook.controllers.placement import Placer
from webhook.controllers.seedautoscaler.controller import SEED_AUTOSCALER
from webhook.domain.options import Options
from webhook.planes.plane import Plane
from webhook.runtime.clock import SystemClock
from webhook.runtime.controller import Runner
from webhook.runtime.expectations import Expectations
from webhook.runtime.manager import background
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import Reconciler
from webhook.runtime.recorder import Recorder
from webhook.runtime.remotes import Pool
from webhook.runtime.rows import Controller
from webhook.runtime.writer import Api, Writer
from webhook.state.memory import Memory

OURS = (MANAGED_SEED_SET, MANAGED_SEED, CARE, CAPACITY, SEED_AUTOSCALER)
PLAYED = tuple(part for part in PARTS if part.model in (Seed, Shoot))
_ALSO: tuple[type[Object], ...] = (CloudProfile, NamespacedCloudProfile, Project)


async def define_kinds(server: Any) -> None:
    """Have every kind served that the controllers read."""
    rows = (*OURS, *PLAYED)
    models = {*_ALSO, *(model for row in rows for model in row.models)}
    kinds = [kind_of_model(model) for model in models]
    items = [crd(kind, beside_gardener=False) for kind in kinds if kind.origin != "kubernetes"]
    listed = {"apiVersion": "v1", "kind": "List", "items": items}
    await server.kubectl("apply", "--server-side", "-f", "-", input=listed)
    names = [f"crd/{item['metadata']['name']}" for item in items]
    await server.kubectl("wait", "--for=condition=Established", "--timeout=120s", *names)
    lease = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": LEASES}}
    await server.kubectl("apply", "--server-side", "-f", "-", input=lease)


LEASES = "gardener-system-seed-lease"


@asynccontextmanager
async def running(
    server: Plane | str,
    rows: Sequence[Controller],
    options: Options | None = None,
    *,
    schedules: bool = False,
    through: Callable[[Client], Api] = lambda client: client,
) -> AsyncIterator[Cache]:
    """Run controllers until the block ends, as one process with a cache of its own does."""
    kubeconfig = server if isinstance(server, str) else str(server.kubeconfig)  # type: ignore[attr-defined]
    clock, metrics = SystemClock(), Metrics()
    models = dict.fromkeys((*_ALSO, *(model for row in rows for model in row.models)))
    selections = [Selection(kind_of_model(model)) for model in models if model is not ConfigMap]
    purpose = "scheduling.gardener.cloud/purpose=region-config"
    selections.append(Selection(kind_of_model(ConfigMap), labels=purpose))
    async with Client(await config.load(kubeconfig)) as client, Pool(metrics) as shoots:
        memory = Memory([each.kind.model for each in selections], options=options or Options())
        cache = Cache(client, selections, clock, memory=memory)
        recorder = Recorder(client, "test", clock, metrics)
        writer = Writer(through(client), metrics)
        parts: list[Any] = [
            Runner(
                row,
                Reconciler(row, cache, writer, recorder, Expectations(cache, clock), shoots),
                cache,
                clock,
                metrics,
            )
            for row in rows
        ]
        if schedules:
            placer = Placer(client, cache, clock, recorder)
            parts.append(Dispatcher(client, cache, placer, recorder, clock, metrics))
        async with background("cache", cache.run()), background("events", recorder.run()):
            async with asyncio.timeout(120):
                await cache.wait_synced()
            async with background("controllers", _all(parts)):
                yield cache


async def _all(parts: Sequence[Any]) -> None:
    async with asyncio.TaskGroup() as tasks:
        for part in parts:
            tasks.create_task(part.run())
