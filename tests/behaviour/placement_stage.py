"""A stage for tests of placement, on any server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.support.garden_cluster import GardenCluster
from tests.support.gardener_stage import garden_stage
from tests.support.scheduler import Stage, connected, define_kinds
from webhook.api import names
from webhook.dev.planes.embedded import Embedded
from webhook.dev.planes.kubernetes import Kubernetes
from webhook.domain.options import Options
from webhook.runtime.tasks import background


@asynccontextmanager
async def staged(
    server: Embedded | Kubernetes,
    namespace: str,
    espalier: GardenCluster | None,
    *,
    schedules: bool = False,
) -> AsyncIterator[Stage]:
    """Set up a stage; beside a Gardener with the scheduler that is installed there."""
    if espalier is not None:
        scheduler = names.SCHEDULER_NAME if schedules else "nobody"
        async with garden_stage(espalier, namespace, scheduler) as on_gardener:
            yield on_gardener
        return
    await define_kinds(server)
    async with connected(str(server.kubeconfig), Options(namespace=namespace)) as scheduling:
        found = Stage(scheduling, namespace)
        await found.begin()
        if schedules:
            async with background("scheduler", scheduling.dispatcher.run()):
                yield found
        else:
            yield found
        await found.end()
