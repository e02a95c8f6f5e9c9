"""The extender answers its first call as cheaply as the next ones."""

import asyncio
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import pytest

from tests.support.clocks import FakeClock, settle
from tests.support.landscape_objects import make_profile, make_seed, make_shoot, raw_shoot
from webhook.api.seeds import Seed
from webhook.cluster.cache import NotSyncedError
from webhook.kube.meta import Object
from webhook.placement.extender_service import ExtenderService
from webhook.placement.warm_up import SETTLE_SECONDS, ExtenderWarmUp
from webhook.state.snapshot import Snapshot

SEEDS = 300
FACTOR = 3


class Landscape:
    """A cache of many seeds and one shoot, with an extender."""

    def __init__(self) -> None:
        self.seeds = [make_seed(f"seed-{index:03}") for index in range(SEEDS)]
        self.others: list[Object] = [make_profile(), make_shoot("hosted", seed="seed-000")]
        self.clock = FakeClock()
        self.is_stale = False
        self.listeners: list[Callable[[Any, Any], None]] = []
        nobody = cast("Any", None)
        self.service = ExtenderService(nobody, cast("Any", self), nobody, nobody)
        self.warm_up = ExtenderWarmUp(cast("Any", self), self.service, self.clock)

    def snapshot(self) -> Snapshot:
        if self.is_stale:
            raise NotSyncedError("the watch of Seeds is lost")
        return Snapshot.of([*self.seeds, *self.others])

    def add_listener(self, model: type, listener: Callable[[Any, Any], None], **_: Any) -> None:
        assert model is Seed
        self.listeners.append(listener)

    def change(self, old: Seed | None, new: Seed | None) -> None:
        self.seeds = [each for each in self.seeds if each is not old]
        self.seeds += [new] if new is not None else []
        for listener in self.listeners:
            listener(old, new)

    def cost_of_filter(self) -> int:
        """Return the number of function calls that a filter for a new shoot takes."""
        names = [seed.name for seed in self.seeds]
        body = json.dumps({"Pod": raw_shoot("new"), "NodeNames": names}).encode()
        snapshot = self.snapshot()
        calls = 0

        def count(_frame: Any, event: str, _argument: Any) -> None:
            nonlocal calls
            calls += event == "call"

        sys.setprofile(count)
        try:
            result = self.service.filter(body, snapshot, authorized=True)
        finally:
            sys.setprofile(None)
        assert len(json.loads(result.body)["NodeNames"]) == len(names)
        return calls


def test_without_a_warm_up_the_first_filter_costs_many_times_the_next() -> None:
    landscape = Landscape()
    assert landscape.cost_of_filter() > 20 * landscape.cost_of_filter()


async def test_the_first_filter_costs_about_as_much_as_the_next() -> None:
    landscape = Landscape()
    await landscape.warm_up.warm_up()
    first, second = landscape.cost_of_filter(), landscape.cost_of_filter()
    assert first <= FACTOR * second


async def test_an_unavailable_cache_does_not_stop_the_server(
    caplog: pytest.LogCaptureFixture,
) -> None:
    landscape = Landscape()
    landscape.is_stale = True
    running = asyncio.create_task(landscape.warm_up.run())
    await settle()
    assert not running.done()
    assert "could not warm the extender up" in caplog.messages
    landscape.is_stale = False
    landscape.change(None, make_seed("seed-new"))
    await landscape.clock.advance(SETTLE_SECONDS)
    await settle()
    assert landscape.cost_of_filter() <= FACTOR * landscape.cost_of_filter()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_results_are_computed_again_when_a_seed_comes_or_goes() -> None:
    landscape = Landscape()
    running = asyncio.create_task(landscape.warm_up.run())
    await settle()
    landscape.cost_of_filter()
    second = landscape.cost_of_filter()
    for old, new in ((None, make_seed("seed-new")), (landscape.seeds[0], None)):
        landscape.change(old, new)
        await landscape.clock.advance(SETTLE_SECONDS)
        await settle()
        assert landscape.cost_of_filter() <= FACTOR * second
    assert not running.done()
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running
