"""The leader's controllers and the local provider on an API server, in the process of the test."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.core import ConfigMap
from webhook.api.crds import crd
from webhook.api.kinds import kind_of_model
from webhook.api.projects import Project
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cluster import config
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.cluster.requests import Selection
from webhook.controllers.managedseed.controller import MANAGED_SEED
from webhook.controllers.managedseedset.controller import MANAGED_SEED_SET
from webhook.controllers.seedautoscaler.controller import SEED_AUTOSCALER
from webhook.controllers.seedcapacity.controller import SEED_CAPACITY
from webhook.controllers.shootsready.controller import SHOOTS_READY
from webhook.dev.localprovider.controllers import LOCAL_CONTROLLERS
from webhook.dev.planes.plane import Plane
from webhook.domain.options import Options
from webhook.kube.clock import SystemClock
from webhook.kube.meta import Object
from webhook.placement.placer import Placer
from webhook.placement.scheduler import Scheduler
from webhook.runtime.client_pool import ClientPool
from webhook.runtime.controller import Controller
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.expectations import Expectations
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import Reconciler
from webhook.runtime.runner import Runner
from webhook.runtime.tasks import background
from webhook.runtime.writer import WriteApi, Writer
from webhook.state.cluster_state import ClusterState

OURS = (MANAGED_SEED_SET, MANAGED_SEED, SHOOTS_READY, SEED_CAPACITY, SEED_AUTOSCALER)
LOCAL_PROVIDER = tuple(part for part in LOCAL_CONTROLLERS if part.model in (Seed, Shoot))
_ALSO: tuple[type[Object], ...] = (CloudProfile, NamespacedCloudProfile, Project)


async def define_kinds(server: Any) -> None:
    """Define all kinds that the controllers read, and wait until they are served."""
    rows = (*OURS, *LOCAL_PROVIDER)
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
async def running_controllers(
    server: Plane | str,
    rows: Sequence[Controller],
    options: Options | None = None,
    *,
    schedules: bool = False,
    through: Callable[[Client], WriteApi] = lambda client: client,
) -> AsyncIterator[Cache]:
    """Run controllers until the block ends, as one process with its own cache does."""
    kubeconfig = server if isinstance(server, str) else str(server.kubeconfig)  # type: ignore[attr-defined]
    clock, metrics = SystemClock(), Metrics()
    models = dict.fromkeys((*_ALSO, *(model for row in rows for model in row.models)))
    selections = [Selection(kind_of_model(model)) for model in models if model is not ConfigMap]
    purpose = "scheduling.gardener.cloud/purpose=region-config"
    selections.append(Selection(kind_of_model(ConfigMap), labels=purpose))
    async with Client(await config.load(kubeconfig)) as client, ClientPool(metrics) as shoots:
        memory = ClusterState(
            [each.kind.model for each in selections], options=options or Options()
        )
        cache = Cache(client, selections, clock, state=memory)
        recorder = EventRecorder(client, "test", clock, metrics)
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
            parts.append(Scheduler(client, cache, placer, recorder, clock, metrics))
        async with background("cache", cache.run()), background("events", recorder.run()):
            async with asyncio.timeout(120):
                await cache.wait_synced()
            async with background("controllers", _all(parts)):
                yield cache


async def _all(parts: Sequence[Any]) -> None:
    async with asyncio.TaskGroup() as tasks:
        for part in parts:
            tasks.create_task(part.run())
