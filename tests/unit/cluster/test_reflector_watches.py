"""How a reflector watches: where it resumes, when it waits, and what it does not believe."""

import json
import logging

import pytest

from tests.scripted import bookmark, event, fail, page, say, status, stream
from tests.unit.cluster.rig import TIMING, following, make_shoot
from webhook.cluster.pacing import Timing

OAK = make_shoot("oak", 5)
START = (fail(422, "Invalid"), page(OAK, version="10"))
ELM_COMES = event("ADDED", make_shoot("elm", 12))


def ours(caplog):
    return [record for record in caplog.records if record.name.startswith("webhook")]


async def test_a_watch_starts_at_the_lists_version_with_bookmarks_and_a_random_end() -> None:
    async with following(*START, timing=Timing(chance=lambda: 0.999)) as rig:
        await rig.until_watching(10)
        assert rig.asked[-1].query == {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": "10",
            "timeoutSeconds": "599",
        }


async def test_a_bookmark_moves_the_version_and_nothing_else() -> None:
    async with following(*START, stream(bookmark("17"))) as rig:
        await rig.until_watching(17)
        assert rig.shown() == {"oak": "5"}
        assert rig.told == [("added", "oak")]
        assert rig.informer.version == "17"
        assert rig.reflector.standing.relists == 0


async def test_a_watch_that_ends_as_asked_is_resumed_at_once() -> None:
    async with following(*START, stream(ELM_COMES)) as rig:
        await rig.until_watching(12)
        assert rig.shown() == {"oak": "5", "elm": "12"}
        assert rig.reflector.standing.failures == 0
        assert rig.reflector.standing.restarts == {"ended": 1}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        pytest.param(fail(429, "TooManyRequests"), "throttled", id="too many requests"),
        pytest.param(
            stream(event("ERROR", status(429, "TooManyRequests"))),
            "throttled",
            id="so, as an event",
        ),
        pytest.param(fail(500, "InternalError"), "error", id="an internal error"),
        pytest.param(
            stream(event("ERROR", status(500, "InternalError"))), "error", id="so, as an event "
        ),
        pytest.param(fail(503, "ServiceUnavailable"), "error", id="an aggregated API that is down"),
        pytest.param(fail(403, "Forbidden"), "refused", id="a right that was taken away"),
        pytest.param(stream(cut=True), "unreachable", id="a connection that breaks"),
        pytest.param(
            stream('{"type":"ADDED","object":{"meta', cut=True), "unreachable", id="in mid-event"
        ),
        pytest.param(
            stream('{"type":"ADDED","object":{"meta'), "unreachable", id="an end in mid-event"
        ),
        pytest.param(stream(), "unreachable", id="a server that closes at once"),
        pytest.param(say("<html>ok</html>"), "unreadable", id="a proxy's page"),
        pytest.param(
            say("<html>bad gateway</html>", status=502), "unreadable", id="a proxy's error page"
        ),
        pytest.param(
            say("no healthy upstream", "text/plain", 503), "unreadable", id="a proxy's plain text"
        ),
        pytest.param(say("fine", "text/plain"), "unreadable", id="plain text"),
        pytest.param(say("{}", "application/json", 302), "unreadable", id="a redirection"),
        pytest.param(
            stream("<html>bad gateway</html>\n"), "unreadable", id="a page within the stream"
        ),
        pytest.param(stream('"ADDED"\n'), "unreadable", id="JSON that is no event"),
        pytest.param(stream(event("SURPRISE", OAK)), "unreadable", id="an event of no known type"),
        pytest.param(
            stream(event("ERROR", {"kind": "Shoot"})), "unreadable", id="an error without a status"
        ),
        pytest.param(
            stream(event("BOOKMARK", {"metadata": {}})),
            "unreadable",
            id="a bookmark without version",
        ),
    ],
)
async def test_after_a_fault_a_watch_waits_and_resumes_where_it_was(fault, reason) -> None:
    async with following(*START, fault, stream(ELM_COMES, hang=True)) as rig:
        await rig.until_failed()
        assert rig.shown() == {"oak": "5"}
        assert len(rig.asked) == 3
        await rig.clock.advance(0.7)
        assert len(rig.asked) == 3
        await rig.clock.advance(0.6)
        await rig.until_shown(oak=5, elm=12)
        assert rig.asked[-1].query["resourceVersion"] == "10"
        assert rig.reflector.standing.relists == 0
        assert rig.reflector.standing.failure is None
        assert rig.reflector.standing.restarts[reason] == 1


async def test_a_server_that_says_when_to_come_back_is_heeded() -> None:
    busy = fail(429, "TooManyRequests", headers={"Retry-After": "20"})
    async with following(*START, busy) as rig:
        await rig.until_failed()
        await rig.clock.advance(19.9)
        assert len(rig.asked) == 3
        await rig.clock.advance(0.2)
        await rig.until_watching(10)


async def test_a_server_that_never_wants_to_be_asked_again_is_not_heeded() -> None:
    busy = fail(503, "ServiceUnavailable", headers={"Retry-After": "86400"})
    async with following(*START, busy) as rig:
        await rig.until_failed()
        await rig.clock.advance(61)
        await rig.until_watching(10)


async def test_a_version_that_is_refused_again_and_again_is_given_up_for_a_list() -> None:
    acts = (*START, *[fail(500, "InternalError")] * 5, page(OAK, version="30"))
    async with following(*acts) as rig:
        for times in range(1, 6):
            await rig.retry(times)
        await rig.until_watching(30)
        assert rig.reflector.standing.relists == 1


async def test_after_a_bug_of_ours_the_kind_is_listed_anew(caplog) -> None:
    acts = (*START, stream(ELM_COMES, hang=True), page(make_shoot("ash", 20), version="30"))
    async with following(*acts) as rig:
        rig.informer.bookmark = rig.informer.event = None  # type: ignore[assignment,method-assign]
        await rig.retry(1)
        await rig.until_shown(ash=20)
        assert "watch met a bug" in caplog.text


async def test_a_refusal_within_a_streamed_watch_is_not_one_of_streaming() -> None:
    acts = (
        stream(bookmark("10", ends_list=True), event("ERROR", status(400, "BadRequest"))),
        stream(ELM_COMES, hang=True),
    )
    async with following(*acts) as rig:
        await rig.retry(1)
        await rig.until_shown(elm=12)
        assert rig.asked[-1].query["resourceVersion"] == "10"


async def test_a_page_within_a_streamed_list_is_no_refusal_of_streaming() -> None:
    acts = (
        stream("<html>bad gateway</html>\n"),
        stream(event("ADDED", OAK), bookmark("10", ends_list=True), hang=True),
    )
    async with following(*acts) as rig:
        await rig.retry(1)
        await rig.until_shown(oak=5)
        assert all(asked.streams for asked in rig.asked)


async def test_throttling_never_leads_to_a_relist() -> None:
    acts = (*START, *[fail(429, "TooManyRequests")] * 7)
    async with following(*acts) as rig:
        for times in range(1, 8):
            await rig.retry(times)
        await rig.until_watching(10)
        assert rig.reflector.standing.relists == 0


async def test_a_silent_watch_is_replaced_and_if_it_stays_silent_so_is_the_list() -> None:
    timing = Timing(idle=0.05, chance=TIMING.chance)
    silent = stream(hang=True)
    acts = (*START, silent, silent, page(make_shoot("elm", 25), version="30"))
    async with following(*acts, timing=timing) as rig:
        await rig.until_shown(elm=25)
        assert [asked.query.get("resourceVersion") for asked in rig.asked[:5]] == [
            *(None, None, "10", "10", None)
        ]


async def test_a_watch_that_outlives_its_time_counts_as_hung() -> None:
    timing = Timing(shortest_watch=0, longest_watch=0, grace=0.05, chance=TIMING.chance)
    async with following(*START, stream(bookmark("11"), hang=True), timing=timing) as rig:
        await rig.server.until(
            lambda: "11" in [asked.query.get("resourceVersion") for asked in rig.asked]
        )


async def test_a_kind_that_is_not_served_is_named_and_waited_for(caplog) -> None:
    missing = fail(404, "NotFound", "the server could not find the requested resource")
    acts = (
        missing,
        missing,
        stream(event("ADDED", OAK), bookmark("10", ends_list=True), hang=True),
    )
    with caplog.at_level(logging.INFO):
        async with following(*acts) as rig:
            await rig.until_failed()
            standing = rig.reflector.standing
            assert (standing.served, standing.synced, standing.is_settled) == (False, False, True)
            assert standing.lost_for(rig.clock.monotonic() + 99) == 0
            (line,) = ours(caplog)
            assert line.message == "kind is not served; what needs it is off"
            assert line.kind == "Shoot"
            await rig.clock.advance(2)
            await rig.until_failed(2)
            await rig.clock.advance(4)
            await rig.until_shown(oak=5)
            assert standing.served
            assert ours(caplog)[-1].message == "kind is served now"


async def test_a_path_that_the_server_does_not_have_at_all_is_a_kind_that_is_not_served() -> None:
    async with following(say("404 page not found\n", "text/plain", 404)) as rig:
        await rig.until_failed()
        assert not rig.reflector.standing.served


async def test_a_kind_that_disappears_takes_its_objects_along() -> None:
    acts = (*START, stream(bookmark("11")), fail(404, "NotFound"), fail(404, "NotFound"))
    async with following(*acts) as rig:
        await rig.retry(1)
        await rig.until_failed(2)
        assert rig.shown() == {}
        assert rig.told == [("added", "oak"), ("deleted", "oak")]
        assert not rig.reflector.standing.synced


async def test_a_single_answer_does_not_make_a_kind_disappear() -> None:
    acts = (*START, stream(bookmark("11")), fail(404, "NotFound"), page(OAK, version="20"))
    async with following(*acts) as rig:
        await rig.until_failed()
        assert rig.shown() == {"oak": "5"}
        assert rig.reflector.standing.served
        await rig.retry(1)
        await rig.until_watching(20)
        assert rig.told == [("added", "oak")]


async def test_a_waiting_reflector_tries_again_when_woken() -> None:
    missing = fail(404, "NotFound")
    streamed = stream(event("ADDED", OAK), bookmark("10", ends_list=True), hang=True)
    async with following(missing, streamed) as rig:
        await rig.until_failed()
        rig.reflector.wake()
        await rig.until_shown(oak=5)


async def test_refused_credentials_are_renewed_once() -> None:
    unknown = fail(401, "Unauthorized")
    streamed = stream(event("ADDED", OAK), bookmark("10", ends_list=True), hang=True)
    async with following(unknown, streamed) as rig:
        await rig.until_shown(oak=5)
        assert [asked.headers["Authorization"] for asked in rig.asked] == ["Bearer 1", "Bearer 2"]


async def test_an_object_that_does_not_decode_stops_nothing() -> None:
    bad = make_shoot("bad", 11) | {"spec": {"seedName": 7}}
    nameless = {"metadata": {"resourceVersion": "11"}, "spec": 5}
    acts = (
        fail(422, "Invalid"),
        page(bad, nameless, OAK, version="10"),
        stream(event("ADDED", nameless), event("MODIFIED", bad), ELM_COMES, hang=True),
    )
    async with following(*acts) as rig:
        await rig.until_shown(oak=5, elm=12)
        (faults,) = rig.informer.store.malformed.values()
        assert faults[0].path == "spec.seedName"
        assert rig.reflector.standing.failures == 0


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "in pages"])
async def test_an_object_nested_without_end_hides_no_other(streamed: bool) -> None:
    deep = json.dumps(make_shoot("deep", 6)).replace('"alpha"', "[" * 9_990 + "]" * 9_990)
    line = f'{{"type":"ADDED","object":{deep}}}\n'
    listed = f'{{"metadata":{{"resourceVersion":"10"}},"items":[{deep},{json.dumps(OAK)}]}}'
    acts = (
        (stream(line, event("ADDED", OAK), bookmark("10", ends_list=True), line, hang=True),)
        if streamed
        else (fail(422, "Invalid"), say(listed, "application/json"), stream(line, hang=True))
    )
    async with following(*acts) as rig:
        await rig.until_shown(oak=5)
        assert [key.name for key in rig.informer.store.malformed] == ["deep"]
        assert rig.reflector.standing.failures == 0


async def test_lines_and_events_of_any_size_come_whole() -> None:
    big = make_shoot("big", 11)
    big["metadata"]["annotations"] = {"note": "x" * 3_000_000}
    async with following(*START, stream(event("ADDED", big), ELM_COMES, hang=True)) as rig:
        await rig.until_shown(oak=5, big=11, elm=12)
