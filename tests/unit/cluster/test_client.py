"""The client: requests, responses and live reads."""

import json

import pytest

from tests.support.clocks import FakeClock
from tests.support.scripted_server import fail, page, respond_json, respond_text, scripted, stream
from webhook.api.core import ConfigMap, Secret
from webhook.api.kinds import kind_of_model
from webhook.api.shoots import Shoot
from webhook.cluster.errors import (
    ConflictError,
    NotFoundError,
    SilentWatchError,
    UnauthorizedError,
    UnreachableError,
    UnreadableError,
)
from webhook.cluster.live_reader import (
    ACCESS_CACHE_SECONDS,
    AccessCache,
    LiveReadError,
    read_live,
)
from webhook.cluster.requests import Selection, watch
from webhook.kube.meta import ObjectKey
from webhook.state.live_reads import AccessReview, LiveGet, LiveList

CONFIG_MAP = kind_of_model(ConfigMap)
KEY = ObjectKey("garden", "notes")
PATH = "/api/v1/namespaces/garden/configmaps"
ONE = f"{PATH}/notes"
NOTES = {"metadata": {"name": "notes", "namespace": "garden"}, "data": {"a": "b"}}

SHOOT_PATH = "/apis/core.gardener.cloud/v1beta1/namespaces/garden/shoots"
REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


async def test_every_verb_is_sent_as_the_server_expects_it() -> None:
    async with scripted() as (server, client):
        server.respond(ONE, *[respond_json(NOTES)] * 5)
        server.respond(PATH, respond_json(NOTES, 201))
        assert await client.get(CONFIG_MAP, KEY) == NOTES
        await client.create(CONFIG_MAP, KEY, NOTES, query={"dryRun": "All"})
        await client.update(CONFIG_MAP, KEY, NOTES)
        await client.patch(CONFIG_MAP, KEY, [{"op": "remove", "path": "/data"}])
        await client.apply(CONFIG_MAP, KEY, NOTES, manager="espalier")
        await client.delete(CONFIG_MAP, KEY, uid="u-1")
        sent = [
            (received.method, received.headers.get("Content-Type")) for received in server.received
        ]
        assert sent == [
            ("GET", None),
            ("POST", "application/json"),
            ("PUT", "application/json"),
            ("PATCH", "application/json-patch+json"),
            ("PATCH", "application/apply-patch+yaml"),
            ("DELETE", "application/json"),
        ]
        assert server.received[1].query == {"dryRun": "All"}
        assert {received.headers["Accept"] for received in server.received} == {"application/json"}
        assert json.loads(server.received[-1].body)["preconditions"] == {"uid": "u-1"}


async def test_names_and_queries_are_escaped() -> None:
    async with scripted() as (server, client):
        selection = Selection(CONFIG_MAP, "garden", "a in (b,c),d!=e+f", "metadata.name=x&y")
        server.respond(PATH, page(version="1"))
        await client.page(selection)
        assert server.received[0].query["labelSelector"] == "a in (b,c),d!=e+f"
        assert server.received[0].query["fieldSelector"] == "metadata.name=x&y"


async def test_failures_are_raised_as_their_reason() -> None:
    async with scripted() as (server, client):
        server.respond(ONE, fail(409, "Conflict", "modified"), fail(404, "NotFound"))
        with pytest.raises(ConflictError, match="modified"):
            await client.update(CONFIG_MAP, KEY, NOTES)
        with pytest.raises(NotFoundError):
            await client.get(CONFIG_MAP, KEY)


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(respond_text("<html>sign in</html>"), id="a page"),
        pytest.param(respond_text("ok", "text/plain"), id="plain text"),
        pytest.param(respond_text("{", "application/json"), id="half an object"),
        pytest.param(respond_text("[]", "application/json"), id="no object"),
        pytest.param(respond_text("<html/>", status=502), id="a proxy's failure"),
        pytest.param(respond_text("{}", "application/json", 301), id="a redirection"),
    ],
)
async def test_a_response_that_is_not_from_an_api_server_is_unreadable(act) -> None:
    async with scripted() as (server, client):
        server.respond(ONE, act)
        server.respond(PATH, act)
        with pytest.raises(UnreadableError):
            await client.get(CONFIG_MAP, KEY)
        with pytest.raises(UnreadableError):
            await client.page(Selection(CONFIG_MAP, "garden"))


async def test_credentials_that_are_refused_twice_are_an_error() -> None:
    async with scripted() as (server, client):
        server.respond(ONE, fail(401, "Unauthorized"), fail(401, "Unauthorized"))
        with pytest.raises(UnauthorizedError):
            await client.get(CONFIG_MAP, KEY)
        assert len(server.received) == 2


async def test_every_request_has_a_deadline() -> None:
    async with scripted() as (server, client):
        server.respond(ONE, stream(hang=True))
        with pytest.raises(UnreachableError, match="no answer in time"):
            await client.get(CONFIG_MAP, KEY, timeout=0.05)


async def test_a_server_that_is_not_there_is_unreachable() -> None:
    async with scripted() as (_, client):
        pass
    with pytest.raises(UnreachableError, match="not open"):
        await client.get(CONFIG_MAP, KEY)


async def test_a_silent_stream_is_distinguished_from_a_broken_one() -> None:
    request = watch(Selection(CONFIG_MAP, "garden"), "1", 60)
    async with scripted() as (server, client):
        server.respond(PATH, stream(hang=True), stream(cut=True))
        async with client.stream(request, opening=9, idle=0.05, total=60) as lines:
            with pytest.raises(SilentWatchError):
                await anext(lines)
        with pytest.raises(UnreachableError) as caught:
            async with client.stream(request, opening=9, idle=60, total=60) as lines:
                await anext(lines)
        assert not isinstance(caught.value, SilentWatchError)


async def test_an_error_raised_by_the_reader_of_a_stream_is_not_converted() -> None:
    request = watch(Selection(CONFIG_MAP, "garden"), "1", 60)
    async with scripted() as (server, client):
        server.respond(PATH, stream(hang=True))
        with pytest.raises(UnauthorizedError):
            async with client.stream(request, opening=9, idle=60, total=60):
                raise UnauthorizedError(401, "Unauthorized", "as an event")
        assert len(server.received) == 1


OAK = LiveGet(Shoot, ObjectKey("garden", "oak"))
MAY = AccessReview(
    *("ada", "u-1", ("staff",), (("scope", ("a",)),)),
    *("update", "core.gardener.cloud", "shoots", "binding", "garden", "oak"),
)


async def test_live_reads_run_concurrently() -> None:
    elm = LiveGet(Shoot, ObjectKey("garden", "elm"))
    async with scripted() as (server, client):
        server.respond(f"{SHOOT_PATH}/oak", respond_json({"metadata": {"name": "oak"}}))
        server.respond(f"{SHOOT_PATH}/elm", fail(404, "NotFound"))
        server.respond(REVIEWS, respond_json({"status": {"allowed": True}}, 201))
        answers = await read_live(client, [OAK, elm, MAY], 5)
        found = answers[OAK]
        assert isinstance(found, Shoot)
        assert found.name == "oak"
        assert answers[elm] is None
        assert answers[MAY] is True
        (review,) = [
            json.loads(received.body) for received in server.received if received.path == REVIEWS
        ]
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


async def test_a_live_list_reads_all_pages() -> None:
    domains = LiveList(Secret, "garden", "gardener.cloud/role", "default-domain")
    pages = [
        {"metadata": {"continue": "more"}, "items": [{"metadata": {"name": "one"}}]},
        {"metadata": {}, "items": [{"metadata": {"name": "two"}}]},
    ]
    async with scripted() as (server, client):
        server.respond("/api/v1/namespaces/garden/secrets", *map(respond_json, pages))
        found = (await read_live(client, [domains], 5))[domains]
        assert isinstance(found, tuple)
        assert [secret.name for secret in found] == ["one", "two"]
        assert server.received[0].query["labelSelector"] == "gardener.cloud/role=default-domain"


def test_permissions_are_cached_for_a_while_and_denials_never() -> None:
    clock = FakeClock()
    access = AccessCache(clock)
    other = MAY._replace(username="eve")
    access.update({MAY: True, other: False})
    assert (access.allows(MAY), access.allows(other), access.allows(OAK)) == (True, False, False)
    clock.pass_time(ACCESS_CACHE_SECONDS)
    assert not access.allows(MAY)


async def test_a_review_without_a_permission_is_a_denial() -> None:
    async with scripted() as (server, client):
        server.respond(REVIEWS, respond_json({"status": {"allowed": False, "denied": True}}, 201))
        assert await read_live(client, [MAY], 5) == {MAY: False}


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(fail(500, "InternalError"), id="an internal error"),
        pytest.param(fail(503, "ServiceUnavailable"), id="an aggregated API that is down"),
        pytest.param(fail(403, "Forbidden"), id="a missing permission"),
        pytest.param(fail(429, "TooManyRequests"), id="too many requests"),
        pytest.param(respond_text("<html/>", status=404), id="a proxy's 404"),
        pytest.param(
            respond_json({"metadata": {"name": "oak"}, "spec": 5}), id="a malformed object"
        ),
        pytest.param(stream(cut=True), id="a connection that breaks"),
        pytest.param(stream(hang=True), id="no answer in time"),
    ],
)
async def test_a_failed_live_read_is_an_error_and_no_absence(act) -> None:
    async with scripted() as (server, client):
        server.respond(f"{SHOOT_PATH}/oak", act)
        with pytest.raises(LiveReadError, match="the API server could not be read: "):
            await read_live(client, [OAK], 0.2)
