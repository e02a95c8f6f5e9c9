"""A stage for tests of placement, on whatever server they run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.garden_stages import garden_stage
from tests.gardening import Beside
from tests.schedulers import Stage, connected, define_kinds
from webhook.api import names
from webhook.domain.options import Options
from webhook.planes.embedded import Embedded
from webhook.planes.kubernetes import Kubernetes
from webhook.runtime.manager import background


@asynccontextmanager
async def staged(
    server: Embedded | Kubernetes,
    namespace: str,
    espalier: Beside | None,
    *,
    schedules: bool = False,
) -> AsyncIterator[Stage]:
    """Set a stage up; with a scheduler at work, beside a Gardener the one that is installed."""
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
