import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from typing_extensions import override

from tests.support.clocks import FakeClock, settle
from tests.support.fake_cluster import FakeCluster
from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.kinds import Kind
from webhook.cluster.errors import UnavailableError
from webhook.controllers.installation.uninstall_marker import POLL_SECONDS, UninstallMarker
from webhook.kube.meta import Draft, ObjectKey

MARKER = ObjectKey("garden", names.UNINSTALL_MARKER)


class FailingApi(FakeCluster):
    """An API server that fails every request."""

    @override
    async def get(self, kind: Kind, key: ObjectKey) -> Draft:
        raise UnavailableError(503, "ServiceUnavailable", "not now")


class Work:
    """Something that runs until it is stopped."""

    def __init__(self) -> None:
        self.runs = False

    async def __call__(self) -> None:
        self.runs = True
        try:
            await asyncio.Event().wait()
        finally:
            self.runs = False


@asynccontextmanager
async def running(
    api: FakeCluster, clock: FakeClock
) -> AsyncIterator[tuple[UninstallMarker, Work]]:
    found, work = UninstallMarker(api, "garden", clock), Work()
    task = asyncio.create_task(found.run_until_marked(work))
    await settle()
    try:
        yield found, work
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_server_works_without_the_marker() -> None:
    clock = FakeClock()
    async with running(FakeCluster(clock), clock) as (found, work):
        await clock.advance(10 * POLL_SECONDS)
        assert (work.runs, found.reason) == (True, "")
    assert not work.runs


async def test_a_server_that_saw_the_marker_never_works_again() -> None:
    clock = FakeClock()
    api = FakeCluster(clock)
    async with running(api, clock) as (found, work):
        api.server.create(ConfigMap, MARKER, {})
        await clock.advance(POLL_SECONDS)
        assert not work.runs
        api.objects.clear()
        await clock.advance(10 * POLL_SECONDS)
        assert not work.runs
        assert "ConfigMap garden/espalier-leaving" in found.reason


async def test_a_server_that_starts_with_the_marker_reports_how_to_continue() -> None:
    clock = FakeClock()
    api = FakeCluster(clock)
    api.server.create(ConfigMap, MARKER, {})
    async with running(api, clock) as (found, work):
        assert not work.runs
        assert "delete it and restart" in found.reason


async def test_a_server_that_cannot_read_the_marker_works() -> None:
    clock = FakeClock()
    async with running(FailingApi(clock), clock) as (found, work):
        await clock.advance(3 * POLL_SECONDS)
        assert (work.runs, found.reason) == (True, "")
