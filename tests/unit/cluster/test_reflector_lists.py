"""How a reflector gets its lists: streamed, paged, and replaced as a whole."""

import pytest

from tests.scripted import bookmark, event, fail, page, status, stream
from tests.unit.cluster.rig import PATH, TIMING, following, make_shoot
from webhook.cluster.pacing import Timing

OAK, ELM, ASH = (
    make_shoot(name, version) for name, version in (("oak", 5), ("elm", 6), ("ash", 7))
)

REFUSED = fail(422, "Invalid", "sendInitialEvents is forbidden")


async def test_a_streamed_list_and_the_watch_after_it_are_one_connection() -> None:
    acts = stream(
        event("ADDED", OAK),
        event("ADDED", ELM),
        bookmark("10", ends_list=True),
        event("ADDED", make_shoot("ash", 11)),
        event("MODIFIED", make_shoot("oak", 12)),
        event("DELETED", make_shoot("elm", 13)),
        hang=True,
    )
    async with following(acts) as rig:
        await rig.until_shown(oak=12, ash=11)
        assert rig.reflector.standing.synced
        (asked,) = rig.asked
        assert asked.path == PATH
        assert asked.query == {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
            "timeoutSeconds": "450",
        }
        assert rig.told == [
            ("added", "oak"),
            ("added", "elm"),
            ("added", "ash"),
            ("changed", "oak"),
            ("deleted", "elm"),
        ]


async def test_nothing_of_a_streamed_list_is_shown_before_its_end() -> None:
    async with following(
        stream(event("ADDED", OAK)),
        stream(event("ADDED", ELM), bookmark("8", ends_list=True), hang=True),
    ) as rig:
        await rig.until_failed()
        assert rig.shown() == {}
        assert not rig.reflector.standing.synced
        await rig.clock.advance(30)
        await rig.until_shown(elm=6)


async def test_what_changes_during_a_streamed_list_is_in_it() -> None:
    acts = stream(
        event("ADDED", OAK),
        event("ADDED", ELM),
        event("MODIFIED", make_shoot("oak", 9)),
        event("DELETED", ELM),
        bookmark("9"),
        bookmark("10", ends_list=True),
        hang=True,
    )
    async with following(acts) as rig:
        await rig.until_shown(oak=9)
        assert rig.told == [("added", "oak")]


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(REFUSED, id="as forbidden by a server with the feature off"),
        pytest.param(fail(400, "BadRequest"), id="as a bad request"),
    ],
)
async def test_a_server_that_refuses_to_stream_is_asked_for_pages_from_then_on(refusal) -> None:
    acts = (
        refusal,
        page(OAK, version="10"),
        stream(event("ERROR", status(410, "Expired"))),
        page(ELM, version="20"),
    )
    async with following(*acts) as rig:
        await rig.until_failed()
        assert rig.shown() == {"oak": "5"}
        await rig.clock.advance(30)
        await rig.until_shown(elm=6)
        assert [asked.streams for asked in rig.asked[:4]] == [True, False, False, False]


async def test_pages_are_asked_for_by_250_and_up_to_date() -> None:
    acts = (
        REFUSED,
        page(OAK, version="10", token="next"),
        page(ELM, version="10", token="last"),
        page(ASH, version="10"),
    )
    async with following(*acts) as rig:
        await rig.until_shown(oak=5, elm=6, ash=7)
        assert [asked.query for asked in rig.asked[1:4]] == [
            {"limit": "250"},
            {"limit": "250", "continue": "next"},
            {"limit": "250", "continue": "last"},
        ]
        await rig.until_watching(10)


async def test_a_streamed_list_that_answers_with_an_error_is_read_in_pages_this_time() -> None:
    acts = (
        stream(event("ADDED", ELM), event("ERROR", status(500, "InternalError"))),
        page(OAK, version="10"),
        fail(410, "Expired"),
        stream(event("ADDED", ELM), bookmark("20", ends_list=True), hang=True),
    )
    async with following(*acts) as rig:
        await rig.until_failed()
        assert rig.shown() == {"oak": "5"}
        await rig.clock.advance(30)
        await rig.until_shown(elm=6)


async def test_a_server_that_does_not_know_streamed_lists_is_read_in_pages() -> None:
    timing = Timing(initial_idle=0.05, chance=TIMING.chance)
    acts = (stream(event("ADDED", ELM), hang=True), page(OAK, version="10"))
    async with following(*acts, timing=timing) as rig:
        await rig.until_shown(oak=5)
        await rig.until_watching(10)


async def test_a_list_whose_pages_expire_starts_over_with_larger_ones() -> None:
    acts = (
        REFUSED,
        page(OAK, version="10", token="old"),
        fail(410, "Expired"),
        page(ELM, version="20", token="old"),
        fail(410, "Expired"),
        page(ASH, version="30"),
    )
    async with following(*acts) as rig:
        await rig.retry(1)
        await rig.retry(2)
        await rig.until_shown(ash=7)
        limits = [asked.query.get("limit") for asked in rig.asked if asked.lists]
        assert limits == ["250", "250", "2000", "2000", None]


@pytest.mark.parametrize(
    "expiry",
    [
        pytest.param(fail(410, "Expired"), id="an answer"),
        pytest.param(fail(410, "Gone"), id="an answer of older servers"),
        pytest.param(stream(event("ERROR", status(410, "Expired"))), id="an event"),
        pytest.param(
            fail(504, "Timeout", details={"causes": [{"reason": "ResourceVersionTooLarge"}]}),
            id="a version from a lost future",
        ),
        pytest.param(
            stream(event("ERROR", status(500, "StorageReadError"))), id="an object lost in storage"
        ),
    ],
)
async def test_an_expired_version_is_a_relist_that_replaces_everything_at_once(expiry) -> None:
    acts = (
        REFUSED,
        page(OAK, ELM, version="10"),
        expiry,
        page(OAK, version="20", token="more"),
        page(make_shoot("ash", 15), version="20"),
    )
    async with following(*acts) as rig:
        seen = []
        rig.informer.add_listener(lambda _old, _new: seen.append(rig.shown()))
        await rig.until_failed()
        seen.clear()
        await rig.clock.advance(30)
        await rig.until_watching(20)
        assert rig.shown() == {"oak": "5", "ash": "15"}
        # Unchanged objects are no news, and whoever is told anything sees the whole new state.
        assert rig.told[2:] == [("deleted", "elm"), ("added", "ash")]
        assert seen == [rig.shown()] * 2
        assert rig.reflector.standing.relists == 1


async def test_an_unchanged_object_is_kept_through_a_relist() -> None:
    acts = (REFUSED, page(OAK, version="10"), fail(410, "Expired"), page(OAK, version="20"))
    async with following(*acts) as rig:
        await rig.until_failed()
        (before,) = rig.memory.store(type_of(rig)).list()
        await rig.clock.advance(30)
        await rig.until_watching(20)
        (after,) = rig.memory.store(type_of(rig)).list()
        assert after is before


def type_of(rig):
    return rig.informer.kind.model
