"""How a reflector watches: where it resumes, when it backs off, which responses it rejects."""

import json
import logging

import pytest

from tests.support.scripted_server import bookmark, event, fail, page, respond_text, status, stream
from tests.unit.cluster.reflector_rig import TIMING, make_shoot, run_reflector
from webhook.cluster.pacing import WatchTiming

OAK = make_shoot("oak", 5)
START = (fail(422, "Invalid"), page(OAK, version="10"))
ELM_COMES = event("ADDED", make_shoot("elm", 12))


def ours(caplog):
    return [record for record in caplog.records if record.name.startswith("webhook")]


async def test_a_watch_starts_at_the_lists_version_with_bookmarks_and_a_random_end() -> None:
    async with run_reflector(*START, timing=WatchTiming(chance=lambda: 0.999)) as rig:
        await rig.until_watching(10)
        assert rig.received[-1].query == {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": "10",
            "timeoutSeconds": "599",
        }


async def test_a_bookmark_changes_the_version_only() -> None:
    async with run_reflector(*START, stream(bookmark("17"))) as rig:
        await rig.until_watching(17)
        assert rig.shown() == {"oak": "5"}
        assert rig.calls == [("added", "oak")]
        assert rig.informer.version == "17"
        assert rig.reflector.state.relists == 0


async def test_a_watch_that_ends_in_time_is_resumed_at_once() -> None:
    async with run_reflector(*START, stream(ELM_COMES)) as rig:
        await rig.until_watching(12)
        assert rig.shown() == {"oak": "5", "elm": "12"}
        assert rig.reflector.state.failures == 0
        assert rig.reflector.state.restarts == {"ended": 1}


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        pytest.param(fail(429, "TooManyRequests"), "throttled", id="too many requests"),
        pytest.param(
            stream(event("ERROR", status(429, "TooManyRequests"))),
            "throttled",
            id="too many requests, as an event",
        ),
        pytest.param(fail(500, "InternalError"), "error", id="an internal error"),
        pytest.param(
            stream(event("ERROR", status(500, "InternalError"))),
            "error",
            id="an internal error, as an event",
        ),
        pytest.param(fail(503, "ServiceUnavailable"), "error", id="an aggregated API that is down"),
        pytest.param(fail(403, "Forbidden"), "refused", id="a revoked permission"),
        pytest.param(stream(cut=True), "unreachable", id="a connection that breaks"),
        pytest.param(
            stream('{"type":"ADDED","object":{"meta', cut=True), "unreachable", id="in mid-event"
        ),
        pytest.param(
            stream('{"type":"ADDED","object":{"meta'), "unreachable", id="an end in mid-event"
        ),
        pytest.param(stream(), "unreachable", id="a server that closes at once"),
        pytest.param(respond_text("<html>ok</html>"), "unreadable", id="a proxy's page"),
        pytest.param(
            respond_text("<html>bad gateway</html>", status=502),
            "unreadable",
            id="a proxy's error page",
        ),
        pytest.param(
            respond_text("no healthy upstream", "text/plain", 503),
            "unreadable",
            id="a proxy's plain text",
        ),
        pytest.param(respond_text("fine", "text/plain"), "unreadable", id="plain text"),
        pytest.param(respond_text("{}", "application/json", 302), "unreadable", id="a redirection"),
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
async def test_after_a_failure_a_watch_backs_off_and_resumes_at_its_version(fault, reason) -> None:
    async with run_reflector(*START, fault, stream(ELM_COMES, hang=True)) as rig:
        await rig.until_failed()
        assert rig.shown() == {"oak": "5"}
        assert len(rig.received) == 3
        await rig.clock.advance(0.7)
        assert len(rig.received) == 3
        await rig.clock.advance(0.6)
        await rig.until_shown(oak=5, elm=12)
        assert rig.received[-1].query["resourceVersion"] == "10"
        assert rig.reflector.state.relists == 0
        assert rig.reflector.state.failure is None
        assert rig.reflector.state.restarts[reason] == 1


async def test_retry_after_is_honoured() -> None:
    busy = fail(429, "TooManyRequests", headers={"Retry-After": "20"})
    async with run_reflector(*START, busy) as rig:
        await rig.until_failed()
        await rig.clock.advance(19.9)
        assert len(rig.received) == 3
        await rig.clock.advance(0.2)
        await rig.until_watching(10)


async def test_an_excessive_retry_after_is_limited() -> None:
    busy = fail(503, "ServiceUnavailable", headers={"Retry-After": "86400"})
    async with run_reflector(*START, busy) as rig:
        await rig.until_failed()
        await rig.clock.advance(61)
        await rig.until_watching(10)


async def test_repeated_failures_at_one_version_lead_to_a_relist() -> None:
    acts = (*START, *[fail(500, "InternalError")] * 5, page(OAK, version="30"))
    async with run_reflector(*acts) as rig:
        for times in range(1, 6):
            await rig.retry(times)
        await rig.until_watching(30)
        assert rig.reflector.state.relists == 1


async def test_after_a_bug_of_ours_the_kind_is_listed_again(caplog) -> None:
    acts = (*START, stream(ELM_COMES, hang=True), page(make_shoot("ash", 20), version="30"))
    async with run_reflector(*acts) as rig:
        rig.informer.bookmark = rig.informer.event = None  # type: ignore[assignment,method-assign]
        await rig.retry(1)
        await rig.until_shown(ash=20)
        assert "watch failed with a bug" in caplog.text


async def test_an_error_after_the_initial_events_does_not_disable_streaming_lists() -> None:
    acts = (
        stream(bookmark("10", ends_list=True), event("ERROR", status(400, "BadRequest"))),
        stream(ELM_COMES, hang=True),
    )
    async with run_reflector(*acts) as rig:
        await rig.retry(1)
        await rig.until_shown(elm=12)
        assert rig.received[-1].query["resourceVersion"] == "10"


async def test_an_unreadable_line_in_a_streaming_list_does_not_disable_streaming_lists() -> None:
    acts = (
        stream("<html>bad gateway</html>\n"),
        stream(event("ADDED", OAK), bookmark("10", ends_list=True), hang=True),
    )
    async with run_reflector(*acts) as rig:
        await rig.retry(1)
        await rig.until_shown(oak=5)
        assert all(received.streams for received in rig.received)


async def test_throttling_never_leads_to_a_relist() -> None:
    acts = (*START, *[fail(429, "TooManyRequests")] * 7)
    async with run_reflector(*acts) as rig:
        for times in range(1, 8):
            await rig.retry(times)
        await rig.until_watching(10)
        assert rig.reflector.state.relists == 0


async def test_a_silent_watch_is_replaced_and_a_second_one_leads_to_a_relist() -> None:
    timing = WatchTiming(idle=0.05, chance=TIMING.chance)
    silent = stream(hang=True)
    acts = (*START, silent, silent, page(make_shoot("elm", 25), version="30"))
    async with run_reflector(*acts, timing=timing) as rig:
        await rig.until_shown(elm=25)
        assert [received.query.get("resourceVersion") for received in rig.received[:5]] == [
            *(None, None, "10", "10", None)
        ]


async def test_a_watch_that_stays_open_too_long_counts_as_hung() -> None:
    timing = WatchTiming(shortest_watch=0, longest_watch=0, grace=0.05, chance=TIMING.chance)
    async with run_reflector(*START, stream(bookmark("11"), hang=True), timing=timing) as rig:
        await rig.server.until(
            lambda: "11" in [received.query.get("resourceVersion") for received in rig.received]
        )


async def test_a_kind_that_is_not_served_is_logged_and_retried(caplog) -> None:
    missing = fail(404, "NotFound", "the server could not find the requested resource")
    acts = (
        missing,
        missing,
        stream(event("ADDED", OAK), bookmark("10", ends_list=True), hang=True),
    )
    with caplog.at_level(logging.INFO):
        async with run_reflector(*acts) as rig:
            await rig.until_failed()
            state = rig.reflector.state
            assert (state.served, state.synced, state.is_settled) == (False, False, True)
            assert state.lost_for(rig.clock.monotonic() + 99) == 0
            (line,) = ours(caplog)
            assert line.message == "kind is not served, features that need it are off"
            assert line.kind == "Shoot"
            await rig.clock.advance(2)
            await rig.until_failed(2)
            await rig.clock.advance(4)
            await rig.until_shown(oak=5)
            assert state.served
            assert ours(caplog)[-1].message == "kind is served now"


async def test_an_unknown_path_is_a_kind_that_is_not_served() -> None:
    async with run_reflector(respond_text("404 page not found\n", "text/plain", 404)) as rig:
        await rig.until_failed()
        assert not rig.reflector.state.served


async def test_a_kind_that_disappears_loses_its_objects() -> None:
    acts = (*START, stream(bookmark("11")), fail(404, "NotFound"), fail(404, "NotFound"))
    async with run_reflector(*acts) as rig:
        await rig.retry(1)
        await rig.until_failed(2)
        assert rig.shown() == {}
        assert rig.calls == [("added", "oak"), ("deleted", "oak")]
        assert not rig.reflector.state.synced


async def test_a_single_404_does_not_make_a_kind_disappear() -> None:
    acts = (*START, stream(bookmark("11")), fail(404, "NotFound"), page(OAK, version="20"))
    async with run_reflector(*acts) as rig:
        await rig.until_failed()
        assert rig.shown() == {"oak": "5"}
        assert rig.reflector.state.served
        await rig.retry(1)
        await rig.until_watching(20)
        assert rig.calls == [("added", "oak")]


async def test_retry_now_ends_the_backoff() -> None:
    missing = fail(404, "NotFound")
    streamed = stream(event("ADDED", OAK), bookmark("10", ends_list=True), hang=True)
    async with run_reflector(missing, streamed) as rig:
        await rig.until_failed()
        rig.reflector.retry_now()
        await rig.until_shown(oak=5)


async def test_refused_credentials_are_renewed_once() -> None:
    unknown = fail(401, "Unauthorized")
    streamed = stream(event("ADDED", OAK), bookmark("10", ends_list=True), hang=True)
    async with run_reflector(unknown, streamed) as rig:
        await rig.until_shown(oak=5)
        assert [received.headers["Authorization"] for received in rig.received] == [
            "Bearer 1",
            "Bearer 2",
        ]


async def test_an_object_that_does_not_decode_stops_no_other() -> None:
    bad = make_shoot("bad", 11) | {"spec": {"seedName": 7}}
    nameless = {"metadata": {"resourceVersion": "11"}, "spec": 5}
    acts = (
        fail(422, "Invalid"),
        page(bad, nameless, OAK, version="10"),
        stream(event("ADDED", nameless), event("MODIFIED", bad), ELM_COMES, hang=True),
    )
    async with run_reflector(*acts) as rig:
        await rig.until_shown(oak=5, elm=12)
        (faults,) = rig.informer.store.malformed.values()
        assert faults[0].path == "spec.seedName"
        assert rig.reflector.state.failures == 0


@pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "in pages"])
async def test_a_deeply_nested_object_hides_no_other(streamed: bool) -> None:
    deep = json.dumps(make_shoot("deep", 6)).replace('"alpha"', "[" * 9_990 + "]" * 9_990)
    line = f'{{"type":"ADDED","object":{deep}}}\n'
    listed = f'{{"metadata":{{"resourceVersion":"10"}},"items":[{deep},{json.dumps(OAK)}]}}'
    acts = (
        (stream(line, event("ADDED", OAK), bookmark("10", ends_list=True), line, hang=True),)
        if streamed
        else (
            fail(422, "Invalid"),
            respond_text(listed, "application/json"),
            stream(line, hang=True),
        )
    )
    async with run_reflector(*acts) as rig:
        await rig.until_shown(oak=5)
        assert [key.name for key in rig.informer.store.malformed] == ["deep"]
        assert rig.reflector.state.failures == 0


async def test_lines_of_any_length_are_complete() -> None:
    big = make_shoot("big", 11)
    big["metadata"]["annotations"] = {"note": "x" * 3_000_000}
    async with run_reflector(*START, stream(event("ADDED", big), ELM_COMES, hang=True)) as rig:
        await rig.until_shown(oak=5, big=11, elm=12)
