"""Whole Shoots are read as often as they change, and never while the API server is away."""

from typing import Any

import pytest

from tests.support.fake_gardener import FakeGardener
from webhook.api.kinds import Kind
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.shoots import Shoot
from webhook.cluster.errors import ForbiddenError, UnavailableError, UnreachableError
from webhook.controllers.gardenerrollout.controller import GARDENER_ROLLOUT
from webhook.controllers.gardenerrollout.whole_shoots import WholeShoots
from webhook.kube.meta import Draft, ObjectKey
from webhook.runtime.expectations import Expectations
from webhook.runtime.reconciler import PAUSE, Reconciler, Result
from webhook.runtime.writer import Writer

LEAF = ObjectKey("garden", "leaf")


class RecordedReads:
    """A client that records which objects are read."""

    def __init__(self, garden: FakeGardener) -> None:
        self._garden = garden
        self.names: list[str] = []
        self.fails: Exception | None = None

    async def get(self, kind: Kind, key: ObjectKey) -> Draft:
        self.names.append(key.name)
        if self.fails is not None:
            raise self.fails
        return self._garden.raw(kind.name, key.name)


class Bench:
    """A garden with a rolled set, its reconciler and what that reads."""

    def __init__(self) -> None:
        self.garden = FakeGardener()
        self.reads = RecordedReads(self.garden)
        self.shoots = WholeShoots(self.reads)
        api: Any = self.garden.api
        self._reconciler = Reconciler(
            GARDENER_ROLLOUT.with_inputs({"whole_shoots": self.shoots}),
            api,
            Writer(api, self.garden.metrics),
            self.garden.recorder,
            Expectations(api, self.garden.clock),
        )

    async def reconcile(self) -> Result:
        return await self._reconciler.reconcile(LEAF)


@pytest.fixture
async def bench() -> Bench:
    made = Bench()
    await made.garden.settle()
    return made


async def test_a_shoot_is_read_again_when_it_has_changed(bench: Bench) -> None:
    await bench.reconcile()
    assert bench.reads.names == ["leaf-0", "leaf-1", "leaf-2"]
    await bench.reconcile()
    assert len(bench.reads.names) == 3
    await bench.garden.change(Shoot, "leaf-1", {"spec": {"purpose": "testing"}})
    await bench.reconcile()
    assert bench.reads.names[3:] == ["leaf-1"]


async def test_shoots_that_are_gone_or_not_ours_are_forgotten(bench: Bench) -> None:
    await bench.reconcile()
    await bench.garden.change(Shoot, "leaf-2", {"metadata": {"finalizers": []}})
    await bench.garden.delete(Shoot, "leaf-2")
    await bench.reconcile()
    assert len(bench.shoots.of_set(LEAF)) == 2
    await bench.garden.change(ManagedSeedSet, "leaf", {"metadata": {"annotations": None}})
    await bench.reconcile()
    assert not bench.shoots


async def test_nothing_is_read_while_the_cache_is_stale(bench: Bench) -> None:
    bench.garden.api.stale = frozenset({Shoot})
    assert await bench.reconcile() == Result(PAUSE, "paused")
    assert not bench.reads.names


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(UnreachableError("connection refused"), id="unreachable"),
        pytest.param(UnavailableError(503, "ServiceUnavailable", "no"), id="unavailable"),
    ],
)
async def test_an_outage_that_the_watch_has_not_seen_pauses(bench: Bench, error: Exception) -> None:
    bench.reads.fails = error
    assert await bench.reconcile() == Result(PAUSE, "paused")


async def test_a_missing_permission_is_an_error(bench: Bench) -> None:
    bench.reads.fails = ForbiddenError(403, "Forbidden", "you may not get shoots")
    with pytest.raises(ForbiddenError):
        await bench.reconcile()
