"""Informers: listeners, waiting for versions, and objects that tables stumble over."""

import asyncio
import json
import logging

import msgspec
import pytest

from tests.clocks import FakeClock
from tests.unit.cluster.rig import KIND, make_shoot
from webhook.api.meta import ObjectKey
from webhook.api.shoots import Shoot
from webhook.cluster.informer import Informer
from webhook.cluster.pacing import Pacer
from webhook.state.indexes import Index
from webhook.state.memory import Memory
from webhook.state.store import Entry


def document(name: str, version: int, seed: str = "alpha") -> msgspec.Raw:
    return msgspec.Raw(json.dumps(make_shoot(name, version, seed)).encode())


def make_informer(memory: Memory | None = None) -> Informer[Shoot]:
    return Informer(KIND, memory or Memory([Shoot]), Pacer(FakeClock()))


def test_a_late_listener_is_told_of_everything_that_is_there() -> None:
    informer = make_informer()
    informer.event("ADDED", document("oak", 1))
    told: list[tuple[Shoot | None, Shoot | None]] = []
    informer.add_listener(lambda old, new: told.append((old, new)))
    (first,) = told
    assert first[0] is None
    assert first[1] is informer.store.get(ObjectKey("garden", "oak"))


def test_a_deletion_tells_what_the_object_was_last() -> None:
    informer = make_informer()
    informer.event("ADDED", document("oak", 1, seed="beta"))
    told: list[tuple[Shoot | None, Shoot | None]] = []
    informer.add_listener(lambda old, new: told.append((old, new)))
    informer.event("DELETED", document("oak", 2))
    old, new = told[-1]
    assert old is not None
    assert old.spec.seed_name == "beta"
    assert new is None


def test_a_listener_that_fails_keeps_nobody_else_from_being_told(caplog) -> None:
    informer = make_informer()
    told: list[str] = []

    def fail(_old: Shoot | None, _new: Shoot | None) -> None:
        raise RuntimeError("no")

    informer.add_listener(fail)
    informer.add_listener(lambda _old, new: told.append(new.name if new else ""))
    assert informer.event("ADDED", document("oak", 1)) == "1"
    assert told == ["oak"]
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


def make_stumbling() -> Informer[Shoot]:
    def refuse_elms(shoot: Shoot) -> tuple[str, ...]:
        if shoot.name == "elm":
            raise ValueError("no elms")
        return (shoot.name,)

    return make_informer(Memory([Shoot], [Index("by_name", Shoot, refuse_elms)]))


@pytest.mark.parametrize("listed", [True, False], ids=["listed", "watched"])
async def test_an_object_that_a_table_stumbles_over_is_left_out(listed, caplog) -> None:
    informer = make_stumbling()
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


async def test_a_relist_beneath_an_assumed_write_does_not_take_it_for_what_was_seen() -> None:
    memory = Memory([Shoot])
    informer = make_informer(memory)
    informer.event("ADDED", document("oak", 1))
    key = ObjectKey("garden", "oak")
    seen = memory.get(Shoot, key)
    assert seen is not None
    assumed = msgspec.structs.replace(seen, spec=msgspec.structs.replace(seen.spec, seed_name="b"))
    memory.assume(Shoot, key, Entry(assumed), FakeClock().now())
    informer.begin()
    informer.item("ADDED", document("oak", 1))
    await informer.commit("3")
    assert memory.get(Shoot, key) is assumed
    memory.forget(Shoot, key)
    shown = memory.get(Shoot, key)
    assert shown is not None
    assert shown.spec.seed_name == "alpha"
