import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from typing_extensions import override

from tests.clocks import FakeClock, settle
from tests.unit.controllers.api import FakeApi
from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.meta import Draft, ObjectKey
from webhook.cluster.errors import UnavailableError
from webhook.controllers.leaving import LOOK_SECONDS, Leaving

MARKER = ObjectKey("garden", names.LEAVING)


class Blind(FakeApi):
    """An API that answers nobody."""

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
async def leaving(api: FakeApi, clock: FakeClock) -> AsyncIterator[tuple[Leaving, Work]]:
    found, work = Leaving(api, "garden", clock), Work()
    task = asyncio.create_task(found.run_unless(work))
    await settle()
    try:
        yield found, work
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_server_works_as_long_as_nobody_tells_it_to_leave() -> None:
    clock = FakeClock()
    async with leaving(FakeApi(), clock) as (found, work):
        await clock.advance(10 * LOOK_SECONDS)
        assert (work.runs, found.told) == (True, "")
    assert not work.runs


async def test_a_server_that_was_told_to_leave_never_works_again() -> None:
    clock, api = FakeClock(), FakeApi()
    async with leaving(api, clock) as (found, work):
        api.put(kind_of_model(ConfigMap), MARKER, {})
        await clock.advance(LOOK_SECONDS)
        assert not work.runs
        api.objects.clear()
        await clock.advance(10 * LOOK_SECONDS)
        assert not work.runs
        assert "ConfigMap garden/espalier-leaving" in found.told


async def test_a_server_that_starts_beside_the_marker_stands_back_and_says_how_to_stay() -> None:
    clock, api = FakeClock(), FakeApi()
    api.put(kind_of_model(ConfigMap), MARKER, {})
    async with leaving(api, clock) as (found, work):
        assert not work.runs
        assert "delete it and start anew" in found.told


async def test_a_server_that_cannot_look_goes_on() -> None:
    clock = FakeClock()
    async with leaving(Blind(), clock) as (found, work):
        await clock.advance(3 * LOOK_SECONDS)
        assert (work.runs, found.told) == (True, "")
