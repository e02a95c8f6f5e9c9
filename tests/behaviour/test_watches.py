"""Watches: where they begin, which events they send, and how they end."""

import asyncio

import orjson
import pytest

from tests.behaviour.bad_requests import MERGE_PATCH
from tests.support.watches import events, take

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def path(namespace):
    """Secrets, because clusters create objects of other kinds in each namespace."""
    return f"/api/v1/namespaces/{namespace}/secrets"


async def send(session, method, path, code=(200, 201), **more):
    async with session.request(method, path, **more) as response:
        answer = await response.json()
        assert response.status in code, answer
    return answer


async def create(session, path, name, **metadata):
    obj = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, **metadata}}
    return await send(session, "POST", path, json=obj)


async def patch(session, path, change):
    return await send(session, "PATCH", path, json=change, headers={"Content-Type": MERGE_PATCH})


def reported(received):
    return [(event["type"], event["object"]["metadata"]["name"]) for event in received]


async def now(session, path):
    return (await send(session, "GET", path))["metadata"]["resourceVersion"]


async def test_a_watch_sends_the_events_after_a_version(session, path):
    version = await now(session, path)
    await create(session, path, "a")
    await patch(session, f"{path}/a", {"data": {"x": "MQ=="}})
    await send(session, "DELETE", f"{path}/a")
    received = await take(3, session, path, resourceVersion=version)
    assert reported(received) == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in received]
    assert versions == sorted(set(versions))
    assert received[2]["object"]["data"] == {"x": "MQ=="}
    assert received[0]["object"]["kind"] == "Secret"


async def test_a_write_without_a_change_sends_no_event(session, path):
    await create(session, path, "a")
    version = await now(session, path)
    before = await patch(session, f"{path}/a", {"metadata": {}})
    assert int(before["metadata"]["resourceVersion"]) <= int(version)
    await create(session, path, "b")
    assert reported(await take(1, session, path, resourceVersion=version)) == [("ADDED", "b")]


@pytest.mark.parametrize("version", [None, "0"])
async def test_a_watch_from_anywhere_begins_with_what_exists(session, path, version):
    await create(session, path, "a", labels={"own": ""})
    query = {"resourceVersion": version} if version else {}
    received = await take(1, session, path, labelSelector="own", **query)
    assert reported(received) == [("ADDED", "a")]


async def test_objects_enter_and_leave_a_selection(session, path):
    version = await now(session, path)
    await create(session, path, "a", labels={"in": "no"})
    await patch(session, f"{path}/a", {"metadata": {"labels": {"in": "yes"}}})
    await patch(session, f"{path}/a", {"data": {"x": "MQ=="}})
    left = await patch(session, f"{path}/a", {"metadata": {"labels": {"in": "no"}}})
    await create(session, path, "b", labels={"in": "yes"})
    received = await take(4, session, path, resourceVersion=version, labelSelector="in=yes")
    assert reported(received) == [
        ("ADDED", "a"),
        ("MODIFIED", "a"),
        ("DELETED", "a"),
        ("ADDED", "b"),
    ]
    gone = received[2]["object"]
    # An object that leaves the selection is sent as last seen, at the version of the change.
    assert gone["metadata"]["labels"] == {"in": "yes"}
    assert gone["metadata"]["resourceVersion"] == left["metadata"]["resourceVersion"]


async def test_one_object_can_be_watched_by_its_name(session, path):
    version = await now(session, path)
    await create(session, path, "a")
    await create(session, path, "b")
    received = await take(
        1, session, path, resourceVersion=version, fieldSelector="metadata.name=b"
    )
    assert reported(received) == [("ADDED", "b")]


async def test_the_path_of_an_object_is_never_watched(session, path):
    await create(session, path, "a")
    assert (await send(session, "GET", f"{path}/a", params={"watch": "1"}))["kind"] == "Secret"


async def test_initial_events_end_with_a_bookmark(session, path):
    await create(session, path, "a", labels={"own": ""})
    received = await take(
        2,
        session,
        path,
        labelSelector="own",
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
    )
    assert received[0]["type"] == "ADDED"
    assert received[1]["type"] == "BOOKMARK"
    bookmark = received[1]["object"]
    assert bookmark["kind"] == "Secret"
    assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert int(bookmark["metadata"]["resourceVersion"]) >= int(
        received[0]["object"]["metadata"]["resourceVersion"]
    )


async def test_a_watch_without_initial_events_begins_now(session, path):
    await create(session, path, "a", labels={"own": ""})
    query = {"sendInitialEvents": "false", "resourceVersionMatch": "NotOlderThan"}
    watch = asyncio.ensure_future(take(1, session, path, labelSelector="own", **query))
    while not watch.done():
        # The watch is live once it sends an event; until then more changes are made.
        await patch(
            session,
            f"{path}/a",
            {"metadata": {"annotations": {"x": str(asyncio.get_running_loop().time())}}},
        )
        await asyncio.wait([watch], timeout=0.2)
    assert reported(watch.result()) == [("MODIFIED", "a")]


async def test_a_watch_ends_when_its_time_is_over(session, path):
    version = await now(session, path)
    loop = asyncio.get_running_loop()
    begun = loop.time()
    received = [
        event async for event in events(session, path, resourceVersion=version, timeoutSeconds="1")
    ]
    assert [event for event in received if event["type"] != "BOOKMARK"] == []
    assert loop.time() - begun > 0.9


async def test_tables_are_watched_with_one_header(session, path):
    version = await now(session, path)
    await create(session, path, "a")
    await create(session, path, "b")
    accept = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
    params = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "90"}
    tables = []
    async with session.get(path, params=params, headers=accept) as response:
        async for line in response.content:
            event = orjson.loads(line)
            if event["type"] == "ADDED":
                tables.append(event["object"])
            if len(tables) == 2:
                break
    assert [table["kind"] for table in tables] == ["Table", "Table"]
    assert [bool(table["columnDefinitions"]) for table in tables] == [True, False]
    assert [table["rows"][0]["cells"][0] for table in tables] == ["a", "b"]


async def test_deleting_a_collection_sends_an_event_for_each_object(session, path):
    for name in ("a", "b", "c"):
        await create(session, path, name, labels={"own": name})
    version = await now(session, path)
    deleted = await send(session, "DELETE", path, params={"labelSelector": "own in (a,b)"})
    assert deleted["kind"] == "SecretList"
    assert sorted(item["metadata"]["name"] for item in deleted["items"]) == ["a", "b"]
    received = await take(2, session, path, resourceVersion=version)
    assert sorted(reported(received)) == [("DELETED", "a"), ("DELETED", "b")]
    left = await send(session, "GET", path, params={"labelSelector": "own"})
    assert [item["metadata"]["name"] for item in left["items"]] == ["c"]
