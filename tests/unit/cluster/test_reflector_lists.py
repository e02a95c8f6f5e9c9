"""How a reflector lists: streaming, in pages, and by replacing the whole list."""

import pytest

from tests.support.scripted_server import bookmark, event, fail, page, status, stream
from tests.unit.cluster.reflector_rig import PATH, TIMING, make_shoot, run_reflector
from webhook.cluster.pacing import WatchTiming

OAK, ELM, ASH = (
    make_shoot(name, version) for name, version in (("oak", 5), ("elm", 6), ("ash", 7))
)

REFUSED = fail(422, "Invalid", "sendInitialEvents is forbidden")


async def test_a_streaming_list_and_its_watch_share_one_connection() -> None:
    acts = stream(
        event("ADDED", OAK),
        event("ADDED", ELM),
        bookmark("10", ends_list=True),
        event("ADDED", make_shoot("ash", 11)),
        event("MODIFIED", make_shoot("oak", 12)),
        event("DELETED", make_shoot("elm", 13)),
        hang=True,
    )
    async with run_reflector(acts) as rig:
        await rig.until_shown(oak=12, ash=11)
        assert rig.reflector.state.synced
        (received,) = rig.received
        assert received.path == PATH
        assert received.query == {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "timeoutSeconds": "450",
        }
        assert rig.calls == [
            ("added", "oak"),
            ("added", "elm"),
            ("added", "ash"),
            ("changed", "oak"),
            ("deleted", "elm"),
        ]


async def test_a_streaming_list_is_visible_only_when_it_is_complete() -> None:
    async with run_reflector(
        stream(event("ADDED", OAK)),
        stream(event("ADDED", ELM), bookmark("8", ends_list=True), hang=True),
    ) as rig:
        await rig.until_failed()
        assert rig.shown() == {}
        assert not rig.reflector.state.synced
        await rig.clock.advance(30)
        await rig.until_shown(elm=6)


async def test_changes_during_a_streaming_list_are_included() -> None:
    acts = stream(
        event("ADDED", OAK),
        event("ADDED", ELM),
        event("MODIFIED", make_shoot("oak", 9)),
        event("DELETED", ELM),
        bookmark("9"),
        bookmark("10", ends_list=True),
        hang=True,
    )
    async with run_reflector(acts) as rig:
        await rig.until_shown(oak=9)
        assert rig.calls == [("added", "oak")]


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(REFUSED, id="as forbidden by a server with the feature off"),
        pytest.param(fail(400, "BadRequest"), id="as a bad request"),
    ],
)
async def test_after_a_refused_streaming_list_only_pages_are_read(refusal) -> None:
    acts = (
        refusal,
        page(OAK, version="10"),
        stream(event("ERROR", status(410, "Expired"))),
        page(ELM, version="20"),
    )
    async with run_reflector(*acts) as rig:
        await rig.until_failed()
        assert rig.shown() == {"oak": "5"}
        await rig.clock.advance(30)
        await rig.until_shown(elm=6)
        assert [received.streams for received in rig.received[:4]] == [True, False, False, False]


async def test_pages_have_250_items_and_are_consistent() -> None:
    acts = (
        REFUSED,
        page(OAK, version="10", token="next"),
        page(ELM, version="10", token="last"),
        page(ASH, version="10"),
    )
    async with run_reflector(*acts) as rig:
        await rig.until_shown(oak=5, elm=6, ash=7)
        assert [received.query for received in rig.received[1:4]] == [
            {"limit": "250"},
            {"limit": "250", "continue": "next"},
            {"limit": "250", "continue": "last"},
        ]
        await rig.until_watching(10)


async def test_after_an_error_event_in_a_streaming_list_pages_are_read_once() -> None:
    acts = (
        stream(event("ADDED", ELM), event("ERROR", status(500, "InternalError"))),
        page(OAK, version="10"),
        fail(410, "Expired"),
        stream(event("ADDED", ELM), bookmark("20", ends_list=True), hang=True),
    )
    async with run_reflector(*acts) as rig:
        await rig.until_failed()
        assert rig.shown() == {"oak": "5"}
        await rig.clock.advance(30)
        await rig.until_shown(elm=6)


async def test_a_server_without_streaming_lists_is_read_in_pages() -> None:
    timing = WatchTiming(initial_idle=0.05, chance=TIMING.chance)
    acts = (stream(event("ADDED", ELM), hang=True), page(OAK, version="10"))
    async with run_reflector(*acts, timing=timing) as rig:
        await rig.until_shown(oak=5)
        await rig.until_watching(10)


async def test_a_list_whose_continue_token_expires_starts_over_with_larger_pages() -> None:
    acts = (
        REFUSED,
        page(OAK, version="10", token="old"),
        fail(410, "Expired"),
        page(ELM, version="20", token="old"),
        fail(410, "Expired"),
        page(ASH, version="30"),
    )
    async with run_reflector(*acts) as rig:
        await rig.retry(1)
        await rig.retry(2)
        await rig.until_shown(ash=7)
        limits = [received.query.get("limit") for received in rig.received if received.lists]
        assert limits == ["250", "250", "2000", "2000", None]


async def test_a_first_page_that_is_gone_is_read_again_with_pages_of_the_same_size() -> None:
    acts = (REFUSED, fail(410, "Expired"), page(ASH, version="30"))
    async with run_reflector(*acts) as rig:
        await rig.retry(1)
        await rig.until_shown(ash=7)
        limits = [received.query.get("limit") for received in rig.received if received.lists]
        assert limits == ["250", "250"]


@pytest.mark.parametrize(
    "expiry",
    [
        pytest.param(fail(410, "Expired"), id="an answer"),
        pytest.param(fail(410, "Gone"), id="an answer of older servers"),
        pytest.param(stream(event("ERROR", status(410, "Expired"))), id="an event"),
        pytest.param(
            fail(504, "Timeout", details={"causes": [{"reason": "ResourceVersionTooLarge"}]}),
            id="a version newer than the server's",
        ),
        pytest.param(
            stream(event("ERROR", status(500, "StorageReadError"))), id="an object lost in storage"
        ),
    ],
)
async def test_an_expired_version_leads_to_a_relist_that_replaces_all_objects_at_once(
    expiry,
) -> None:
    acts = (
        REFUSED,
        page(OAK, ELM, version="10"),
        expiry,
        page(OAK, version="20", token="more"),
        page(make_shoot("ash", 15), version="20"),
    )
    async with run_reflector(*acts) as rig:
        seen = []
        rig.informer.add_listener(lambda _old, _new: seen.append(rig.shown()))
        await rig.until_failed()
        seen.clear()
        await rig.clock.advance(30)
        await rig.until_watching(20)
        assert rig.shown() == {"oak": "5", "ash": "15"}
        # Unchanged objects cause no calls, and every call sees the whole new state.
        assert rig.calls[2:] == [("deleted", "elm"), ("added", "ash")]
        assert seen == [rig.shown()] * 2
        assert rig.reflector.state.relists == 1


async def test_a_relist_reuses_unchanged_objects() -> None:
    acts = (REFUSED, page(OAK, version="10"), fail(410, "Expired"), page(OAK, version="20"))
    async with run_reflector(*acts) as rig:
        await rig.until_failed()
        (before,) = rig.memory.store(type_of(rig)).list()
        await rig.clock.advance(30)
        await rig.until_watching(20)
        (after,) = rig.memory.store(type_of(rig)).list()
        assert after is before


def type_of(rig):
    return rig.informer.kind.model
