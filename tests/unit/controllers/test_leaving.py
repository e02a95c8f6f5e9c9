import asyncio

from tests.clocks import FakeClock, settle
from tests.unit.controllers.api import FakeApi
from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.kinds import kind_of_model
from webhook.api.meta import ObjectKey
from webhook.controllers.leaving import LOOK_SECONDS, Leaving

MARKER = ObjectKey("garden", names.LEAVING)


async def test_work_stops_while_the_marker_is_there_and_goes_on_when_it_is_gone() -> None:
    clock, api = FakeClock(), FakeApi()
    working: set[str] = set()

    async def work() -> None:
        working.add("here")
        try:
            await asyncio.Event().wait()
        finally:
            working.clear()

    task = asyncio.create_task(Leaving(api, "garden", clock).run_unless(work))
    await settle()
    assert working
    api.put(kind_of_model(ConfigMap), MARKER, {})
    await clock.advance(LOOK_SECONDS)
    assert not working
    await clock.advance(10 * LOOK_SECONDS)
    assert not working
    api.objects.clear()
    await clock.advance(LOOK_SECONDS)
    assert working
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not working
