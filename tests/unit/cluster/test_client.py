"""The client: what it sends, what it takes for an answer, and live answers to questions."""

import json

import pytest

from tests.clocks import FakeClock
from tests.scripted import answer, fail, page, say, scripted, stream
from webhook.api.core import ConfigMap, Secret
from webhook.api.kinds import kind_of_model
from webhook.api.meta import ObjectKey
from webhook.api.shoots import Shoot
from webhook.cluster.answers import GRANTED_SECONDS, Rights, UnanswerableError
from webhook.cluster.answers import answer as answer_questions
from webhook.cluster.errors import (
    ConflictError,
    NotFoundError,
    QuietError,
    UnauthorizedError,
    UnreachableError,
    UnreadableError,
)
from webhook.cluster.requests import Selection, watch
from webhook.state.questions import Find, Get, MayI

CONFIG_MAP = kind_of_model(ConfigMap)
KEY = ObjectKey("garden", "notes")
PATH = "/api/v1/namespaces/garden/configmaps"
ONE = f"{PATH}/notes"
NOTES = {"metadata": {"name": "notes", "namespace": "garden"}, "data": {"a": "b"}}

SHOOT_PATH = "/apis/core.gardener.cloud/v1beta1/namespaces/garden/shoots"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


async def test_every_verb_is_sent_as_the_server_expects_it() -> None:
    async with scripted() as (server, client):
        server.play(ONE, *[answer(NOTES)] * 5)
        server.play(PATH, answer(NOTES, 201))
        assert await client.get(CONFIG_MAP, KEY) == NOTES
        await client.create(CONFIG_MAP, KEY, NOTES, query={"dryRun": "All"})
        await client.update(CONFIG_MAP, KEY, NOTES)
        await client.patch(CONFIG_MAP, KEY, [{"op": "remove", "path": "/data"}])
        await client.apply(CONFIG_MAP, KEY, NOTES, manager="espalier")
        await client.delete(CONFIG_MAP, KEY, uid="u-1")
        sent = [(asked.method, asked.headers.get("Content-Type")) for asked in server.asked]
        assert sent == [
            ("GET", None),
            ("POST", "application/json"),
            ("PUT", "application/json"),
            ("PATCH", "application/json-patch+json"),
            ("PATCH", "application/apply-patch+yaml"),
            ("DELETE", "application/json"),
        ]
        assert server.asked[1].query == {"dryRun": "All"}
        assert {asked.headers["Accept"] for asked in server.asked} == {"application/json"}
        assert json.loads(server.asked[-1].body)["preconditions"] == {"uid": "u-1"}


async def test_names_and_queries_arrive_as_they_were_meant() -> None:
    async with scripted() as (server, client):
        selection = Selection(CONFIG_MAP, "garden", "a in (b,c),d!=e+f", "metadata.name=x&y")
        server.play(PATH, page(version="1"))
        await client.page(selection)
        assert server.asked[0].query["labelSelector"] == "a in (b,c),d!=e+f"
        assert server.asked[0].query["fieldSelector"] == "metadata.name=x&y"


async def test_failures_are_raised_as_their_reason() -> None:
    async with scripted() as (server, client):
        server.play(ONE, fail(409, "Conflict", "modified"), fail(404, "NotFound"))
        with pytest.raises(ConflictError, match="modified"):
            await client.update(CONFIG_MAP, KEY, NOTES)
        with pytest.raises(NotFoundError):
            await client.get(CONFIG_MAP, KEY)


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(say("<html>sign in</html>"), id="a page"),
        pytest.param(say("ok", "text/plain"), id="plain text"),
        pytest.param(say("{", "application/json"), id="half an object"),
        pytest.param(say("[]", "application/json"), id="no object"),
        pytest.param(say("<html/>", status=502), id="a proxy's failure"),
        pytest.param(say("{}", "application/json", 301), id="a redirection"),
    ],
)
async def test_what_is_no_answer_of_an_api_server_is_never_taken_for_one(act) -> None:
    async with scripted() as (server, client):
        server.play(ONE, act)
        server.play(PATH, act)
        with pytest.raises(UnreadableError):
            await client.get(CONFIG_MAP, KEY)
        with pytest.raises(UnreadableError):
            await client.page(Selection(CONFIG_MAP, "garden"))


async def test_credentials_that_stay_refused_are_an_error() -> None:
    async with scripted() as (server, client):
        server.play(ONE, fail(401, "Unauthorized"), fail(401, "Unauthorized"))
        with pytest.raises(UnauthorizedError):
            await client.get(CONFIG_MAP, KEY)
        assert len(server.asked) == 2


async def test_every_request_has_a_deadline() -> None:
    async with scripted() as (server, client):
        server.play(ONE, stream(hang=True))
        with pytest.raises(UnreachableError, match="no answer in time"):
            await client.get(CONFIG_MAP, KEY, timeout=0.05)


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    async with scripted() as (_, client):
        pass
    with pytest.raises(UnreachableError, match="not open"):
        await client.get(CONFIG_MAP, KEY)


async def test_a_silent_stream_is_told_from_a_broken_one() -> None:
    request = watch(Selection(CONFIG_MAP, "garden"), "1", 60)
    async with scripted() as (server, client):
        server.play(PATH, stream(hang=True), stream(cut=True))
        async with client.stream(request, opening=9, idle=0.05, total=60) as lines:
            with pytest.raises(QuietError):
                await anext(lines)
        with pytest.raises(UnreachableError) as caught:
            async with client.stream(request, opening=9, idle=60, total=60) as lines:
                await anext(lines)
        assert not isinstance(caught.value, QuietError)


async def test_an_error_of_the_reader_of_a_stream_stays_its_own() -> None:
    request = watch(Selection(CONFIG_MAP, "garden"), "1", 60)
    async with scripted() as (server, client):
        server.play(PATH, stream(hang=True))
        with pytest.raises(UnauthorizedError):
            async with client.stream(request, opening=9, idle=60, total=60):
                raise UnauthorizedError(401, "Unauthorized", "as an event")
        assert len(server.asked) == 1


OAK = Get(Shoot, ObjectKey("garden", "oak"))
MAY = MayI(
    *("ada", "u-1", ("staff",), (("scope", ("a",)),)),
    *("update", "core.gardener.cloud", "shoots", "binding", "garden", "oak"),
)


async def test_questions_are_answered_all_at_once() -> None:
    elm = Get(Shoot, ObjectKey("garden", "elm"))
    async with scripted() as (server, client):
        server.play(f"{SHOOT_PATH}/oak", answer({"metadata": {"name": "oak"}}))
        server.play(f"{SHOOT_PATH}/elm", fail(404, "NotFound"))
        server.play(REVIEWS, answer({"status": {"allowed": True}}, 201))
        answers = await answer_questions(client, [OAK, elm, MAY], 5)
        found = answers[OAK]
        assert isinstance(found, Shoot)
        assert found.name == "oak"
        assert answers[elm] is None
        assert answers[MAY] is True
        (review,) = [json.loads(asked.body) for asked in server.asked if asked.path == REVIEWS]
        assert review["spec"] == {
            "user": "ada",
            "uid": "u-1",
            "groups": ["staff"],
            "extra": {"scope": ["a"]},
            "resourceAttributes": {
                "verb": "update",
                "group": "core.gardener.cloud",
                "resource": "shoots",
                "subresource": "binding",
                "namespace": "garden",
                "name": "oak",
            },
        }


async def test_objects_with_a_label_are_found_page_by_page() -> None:
    domains = Find(Secret, "garden", "gardener.cloud/role", "default-domain")
    pages = [
        {"metadata": {"continue": "more"}, "items": [{"metadata": {"name": "one"}}]},
        {"metadata": {}, "items": [{"metadata": {"name": "two"}}]},
    ]
    async with scripted() as (server, client):
        server.play("/api/v1/namespaces/garden/secrets", *map(answer, pages))
        found = (await answer_questions(client, [domains], 5))[domains]
        assert isinstance(found, tuple)
        assert [secret.name for secret in found] == ["one", "two"]
        assert server.asked[0].query["labelSelector"] == "gardener.cloud/role=default-domain"


def test_a_right_is_remembered_for_a_moment_and_its_lack_never() -> None:
    clock = FakeClock()
    rights = Rights(clock)
    other = MAY._replace(username="eve")
    rights.learn({MAY: True, other: False})
    assert (rights.has(MAY), rights.has(other), rights.has(OAK)) == (True, False, False)
    clock.pass_time(GRANTED_SECONDS)
    assert not rights.has(MAY)


async def test_what_nobody_allows_is_not_allowed() -> None:
    async with scripted() as (server, client):
        server.play(REVIEWS, answer({"status": {"allowed": False, "denied": True}}, 201))
        assert await answer_questions(client, [MAY], 5) == {MAY: False}


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(fail(500, "InternalError"), id="an internal error"),
        pytest.param(fail(503, "ServiceUnavailable"), id="an aggregated API that is down"),
        pytest.param(fail(403, "Forbidden"), id="a right that we lack"),
        pytest.param(fail(429, "TooManyRequests"), id="too many requests"),
        pytest.param(say("<html/>", status=404), id="a proxy's 404"),
        pytest.param(answer({"metadata": {"name": "oak"}, "spec": 5}), id="a malformed object"),
        pytest.param(stream(cut=True), id="a connection that breaks"),
        pytest.param(stream(hang=True), id="no answer in time"),
    ],
)
async def test_what_could_not_be_asked_is_our_fault_and_no_absence(act) -> None:
    async with scripted() as (server, client):
        server.play(f"{SHOOT_PATH}/oak", act)
        with pytest.raises(UnanswerableError, match="the API server could not be asked: "):
            await answer_questions(client, [OAK], 0.2)
