"""How replicas are read whole: as often as they change, and never from an API that is away."""

from typing import Any, cast

import pytest

from tests.unit.controllers.gardened import Gardened
from webhook.api.kinds import Kind
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.meta import Draft, ObjectKey
from webhook.api.shoots import Shoot
from webhook.cluster.errors import ForbiddenError, UnavailableError, UnreachableError
from webhook.controllers.complement.controller import Complement
from webhook.runtime.expectations import Expectations
from webhook.runtime.reconciler import PAUSE, Result
from webhook.runtime.writer import Writer

LEAF = ObjectKey("garden", "leaf")


class Reads:
    """The part of a client that is read from."""

    def __init__(self, garden: Gardened) -> None:
        self._garden = garden
        self.read: list[str] = []
        self.fails: Exception | None = None

    async def get(self, kind: Kind, key: ObjectKey) -> Draft:
        self.read.append(key.name)
        if self.fails is not None:
            raise self.fails
        return self._garden.raw(kind.name, key.name)


def make_complement(garden: Gardened) -> tuple[Complement, Reads]:
    reads = Reads(garden)
    api: Any = garden.api
    writer, seen = Writer(api, garden.metrics), Expectations(garden.api, garden.clock)
    return Complement(cast("Any", reads), api, writer, garden.recorder, seen), reads


async def test_a_replica_is_read_again_when_it_has_changed() -> None:
    garden = Gardened()
    await garden.settle()
    complement, reads = make_complement(garden)
    await complement.reconcile(LEAF)
    assert reads.read == ["leaf-0", "leaf-1", "leaf-2"]
    await complement.reconcile(LEAF)
    assert len(reads.read) == 3
    await garden.change(Shoot, "leaf-1", {"spec": {"purpose": "testing"}})
    await complement.reconcile(LEAF)
    assert reads.read[3:] == ["leaf-1"]


async def test_what_is_gone_is_forgotten() -> None:
    garden = Gardened()
    await garden.settle()
    complement, _ = make_complement(garden)
    await complement.reconcile(LEAF)
    gone: Draft = {"metadata": {"finalizers": []}}
    await garden.change(Shoot, "leaf-2", gone)
    await garden.delete(Shoot, "leaf-2")
    await complement.reconcile(LEAF)
    assert len(complement._whole[LEAF]) == 2
    await garden.change(ManagedSeedSet, "leaf", {"metadata": {"annotations": None}})
    await complement.reconcile(LEAF)
    assert not complement._whole


async def test_nothing_is_read_while_the_watch_is_lost() -> None:
    garden = Gardened()
    await garden.settle()
    complement, reads = make_complement(garden)
    garden.api.stale = frozenset({Shoot})
    assert await complement.reconcile(LEAF) == Result(PAUSE, "paused")
    assert not reads.read


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(UnreachableError("connection refused"), id="nobody answers"),
        pytest.param(UnavailableError(503, "ServiceUnavailable", "no"), id="nobody is behind it"),
    ],
)
async def test_an_outage_that_the_watch_has_not_seen_yet_is_a_pause(error: Exception) -> None:
    garden = Gardened()
    await garden.settle()
    complement, reads = make_complement(garden)
    reads.fails = error
    assert await complement.reconcile(LEAF) == Result(PAUSE, "paused")


async def test_a_right_that_is_missing_is_no_outage() -> None:
    garden = Gardened()
    await garden.settle()
    complement, reads = make_complement(garden)
    reads.fails = ForbiddenError(403, "Forbidden", "you may not get shoots")
    with pytest.raises(ForbiddenError):
        await complement.reconcile(LEAF)
