"""Informers: listeners, waiting for versions, and objects that indexes cannot process."""

import asyncio
import json
import logging

import msgspec
import pytest

from tests.support.clocks import FakeClock
from tests.unit.cluster.reflector_rig import KIND, make_shoot
from webhook.api.shoots import Shoot
from webhook.cluster.informer import Informer
from webhook.cluster.pacing import Pacer
from webhook.kube.meta import ObjectKey
from webhook.state.cluster_state import ClusterState
from webhook.state.indexes import Index
from webhook.state.store import StoreEntry


def document(name: str, version: int, seed: str = "alpha") -> msgspec.Raw:
    return msgspec.Raw(json.dumps(make_shoot(name, version, seed)).encode())


def make_informer(state: ClusterState | None = None) -> Informer[Shoot]:
    return Informer(KIND, state or ClusterState([Shoot]), Pacer(FakeClock()))


def test_a_late_listener_is_called_for_all_existing_objects() -> None:
    informer = make_informer()
    informer.event("ADDED", document("oak", 1))
    calls: list[tuple[Shoot | None, Shoot | None]] = []
    informer.add_listener(lambda old, new: calls.append((old, new)))
    (first,) = calls
    assert first[0] is None
    assert first[1] is informer.store.get(ObjectKey("garden", "oak"))


def test_a_deletion_passes_the_last_state_of_the_object() -> None:
    informer = make_informer()
    informer.event("ADDED", document("oak", 1, seed="beta"))
    calls: list[tuple[Shoot | None, Shoot | None]] = []
    informer.add_listener(lambda old, new: calls.append((old, new)))
    informer.event("DELETED", document("oak", 2))
    old, new = calls[-1]
    assert old is not None
    assert old.spec.seed_name == "beta"
    assert new is None


def test_a_failing_listener_does_not_stop_the_others(caplog) -> None:
    informer = make_informer()
    calls: list[str] = []

    def fail(_old: Shoot | None, _new: Shoot | None) -> None:
        raise RuntimeError("no")

    informer.add_listener(fail)
    informer.add_listener(lambda _old, new: calls.append(new.name if new else ""))
    assert informer.event("ADDED", document("oak", 1)) == "1"
    assert calls == ["oak"]
    assert "listener failed" in caplog.text


async def test_waiting_for_a_version_ends_with_the_event_that_reaches_it() -> None:
    informer = make_informer()
    informer.bookmark("5")
    await informer.wait_seen("5")
    await informer.wait_seen("4")
    waiting = asyncio.create_task(informer.wait_seen("7"))
    given_up = asyncio.create_task(informer.wait_seen("7"))
    await asyncio.sleep(0)
    given_up.cancel()
    informer.event("ADDED", document("oak", 6))
    await asyncio.sleep(0)
    assert not waiting.done()
    informer.event("MODIFIED", document("oak", 8))
    await waiting


async def test_waiting_for_a_version_ends_with_a_list_or_a_bookmark_that_reaches_it() -> None:
    informer = make_informer()
    for_list, for_mark = (asyncio.create_task(informer.wait_seen(at)) for at in ("7", "9"))
    await asyncio.sleep(0)
    informer.begin()
    await informer.commit("7")
    await for_list
    assert not for_mark.done()
    informer.bookmark("9")
    await for_mark


def make_informer_with_failing_index() -> Informer[Shoot]:
    def refuse_elms(shoot: Shoot) -> tuple[str, ...]:
        if shoot.name == "elm":
            raise ValueError("no elms")
        return (shoot.name,)

    return make_informer(ClusterState([Shoot], [Index("by_name", Shoot, refuse_elms)]))


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "watched"])
async def test_an_object_that_an_index_cannot_process_is_malformed(listed, caplog) -> None:
    informer = make_informer_with_failing_index()
    with caplog.at_level(logging.ERROR):
        if listed:
            informer.begin()
            informer.item("ADDED", document("elm", 1))
            informer.item("ADDED", document("oak", 2))
            await informer.commit("2")
        else:
            assert informer.event("ADDED", document("elm", 1)) == "1"
            assert informer.event("ADDED", document("oak", 2)) == "2"
    assert [shoot.name for shoot in informer.store.list()] == ["oak"]
    assert informer.store.malformed[ObjectKey("garden", "elm")][0].message == (
        "cannot be indexed: no elms"
    )
    assert "object cannot be indexed" in caplog.text


async def test_a_relist_does_not_take_an_assumed_write_for_an_observed_object() -> None:
    state = ClusterState([Shoot])
    informer = make_informer(state)
    informer.event("ADDED", document("oak", 1))
    key = ObjectKey("garden", "oak")
    seen = state.get(Shoot, key)
    assert seen is not None
    assumed = msgspec.structs.replace(seen, spec=msgspec.structs.replace(seen.spec, seed_name="b"))
    state.assume(Shoot, key, StoreEntry(assumed), FakeClock().now())
    informer.begin()
    informer.item("ADDED", document("oak", 1))
    await informer.commit("3")
    assert state.get(Shoot, key) is assumed
    state.forget(Shoot, key)
    shown = state.get(Shoot, key)
    assert shown is not None
    assert shown.spec.seed_name == "alpha"
