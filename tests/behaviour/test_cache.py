"""The cache on real and embedded servers: its content equals theirs."""

import asyncio
import random
from collections.abc import AsyncIterator

import msgspec
import pytest
from typing_extensions import override

from tests.support.waits import eventually
from tests.support.widgets import (
    DEFINITIONS,
    Widget,
    following,
    install,
    make_kind,
    make_widget,
    talking,
    uninstall,
)
from webhook.api.core import ConfigMap, Namespace
from webhook.api.kinds import Kind, kind_of_model
from webhook.cluster import requests
from webhook.cluster.cache import Cache
from webhook.cluster.client import Client
from webhook.cluster.errors import (
    AlreadyExistsError,
    ConflictError,
    GoneError,
    InvalidError,
    NotFoundError,
    ThrottledError,
)
from webhook.cluster.requests import ApiRequest, Selection
from webhook.cluster.watch_events import Bookmark, WatchEvent, decode
from webhook.kube.meta import ObjectKey
from webhook.kube.resource_versions import covers
from webhook.state.live_reads import AccessReview, LiveGet

CONFIG_MAP = kind_of_model(ConfigMap)
SECONDS = {"opening": 60.0, "idle": 60.0, "total": 90.0}

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
async def client(server) -> AsyncIterator[Client]:
    async with talking(server) as client:
        yield client


@pytest.fixture
async def kind(client) -> AsyncIterator[Kind]:
    kind = make_kind()
    await install(client, kind)
    yield kind
    await uninstall(client, kind)


def sizes(cache: Cache) -> dict[str, int]:
    return {widget.name: widget.spec.size for widget in cache.state.store(Widget).list()}


async def test_writes_reach_the_cache_and_its_listeners(client, kind, namespace) -> None:
    reported = []
    await client.create(kind, ObjectKey(namespace, ""), make_widget("before"))
    async with following(client, kind) as cache:
        cache.add_listener(Widget, lambda old, new: reported.append((old, new)))
        assert sizes(cache) == {"before": 1}
        key = ObjectKey(namespace, "oak")
        created = await client.create(kind, key, make_widget("oak"))
        await cache.wait_seen(Widget, created["metadata"]["resourceVersion"])
        assert sizes(cache) == {"before": 1, "oak": 1}
        patched = await client.patch(kind, key, {"spec": {"size": 2}})
        await cache.wait_seen(Widget, patched["metadata"]["resourceVersion"])
        shown = cache.snapshot().get(Widget, key)
        assert shown is not None
        assert shown.spec.size == 2
        assert shown.uid == created["metadata"]["uid"]
        await client.delete(kind, key, uid=shown.uid)
        await eventually(lambda: sizes(cache) == {"before": 1})
        assert [(bool(old), bool(new)) for old, new in reported] == [
            *((False, True), (False, True), (True, True), (True, False))
        ]
        assert reported[-1][0] is shown


async def test_a_streamed_list_is_offered(client, kind, namespace) -> None:
    for name in ("oak", "elm"):
        await client.create(kind, ObjectKey(namespace, ""), make_widget(name))
    request = requests.stream_list(Selection(kind), 30)
    async with client.stream(request, **SECONDS) as lines:
        events = [decode(await anext(lines)) for _ in range(3)]
    assert all(isinstance(event, WatchEvent) for event in events[:2])
    assert isinstance(events[2], Bookmark)
    assert events[2].ends_list


class WithoutStreams(Client):
    """A client whose server refuses to stream lists, as those before Kubernetes 1.32 do."""

    @override
    def stream(self, request: ApiRequest, *, opening: float, idle: float, total: float):
        if "sendInitialEvents" in request.query:
            raise InvalidError(422, "Invalid", "sendInitialEvents is forbidden")
        return super().stream(request, opening=opening, idle=idle, total=total)


async def test_streams_and_pages_show_the_same(client, kind, namespace) -> None:
    names = [f"w-{number:03}" for number in range(520)]
    await create_all(client, kind, namespace, names)
    async with following(client, kind) as streamed:
        pass
    async with WithoutStreams(client._access) as old, following(old, kind) as paged:
        assert sizes(paged) == sizes(streamed) == dict.fromkeys(names, 1)
        await client.create(kind, ObjectKey(namespace, ""), make_widget("later"))
        await eventually(lambda: "later" in sizes(paged))
    first = await client.page(Selection(kind))
    assert (len(first.items), bool(first.token)) == (250, True)


async def create_all(client: Client, kind: Kind, namespace: str, names: list[str]) -> None:
    waiting = iter(names)

    async def write() -> None:
        for name in waiting:
            await client.create(kind, ObjectKey(namespace, ""), make_widget(name))

    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(write())


async def test_bookmarks_come_before_a_watch_ends(client, kind, namespace) -> None:
    before = await client.page(Selection(kind))
    await client.create(CONFIG_MAP, ObjectKey(namespace, ""), {"metadata": {"name": "other"}})
    # A consistent list makes the server send a bookmark for this kind, too.
    after = await client.page(Selection(kind))
    request = requests.watch(Selection(kind), before.version, 5)

    async def are_reported() -> bool:
        async with client.stream(request, **SECONDS) as lines:
            events = [decode(line) async for line in lines]
        marks = [event.version for event in events if isinstance(event, Bookmark)]
        assert len(marks) == len(events)
        return bool(marks) and covers(marks[-1], after.version)

    await eventually(are_reported)


async def test_a_kind_comes_and_goes_with_its_definition(client, namespace) -> None:
    kind = make_kind()
    reported = []
    async with following(client, DEFINITIONS, kind_of_model(Namespace), kind) as cache:
        snapshot = cache.snapshot()
        assert (snapshot.serves(Widget), snapshot.is_stale(Widget)) == (False, False)
        assert snapshot.get(Namespace, ObjectKey("", namespace)) is not None
        cache.add_listener(Widget, lambda old, new: reported.append((old, new)))
        await install(client, kind)
        await client.create(kind, ObjectKey(namespace, ""), make_widget("oak"))
        await eventually(lambda: sizes(cache) == {"oak": 1})
        assert cache.snapshot().serves(Widget)
        await uninstall(client, kind)
        await eventually(lambda: not cache.snapshot().serves(Widget), 90)
        assert sizes(cache) == {}
        assert [new is None for _, new in reported] == [False, True]


async def test_an_object_that_does_not_decode_is_listed_until_it_is_repaired(
    client, kind, namespace
) -> None:
    await client.create(kind, ObjectKey(namespace, ""), make_widget("bad", size="huge"))
    await client.create(kind, ObjectKey(namespace, ""), make_widget("good"))
    async with following(client, kind) as cache:
        key = ObjectKey(namespace, "bad")
        assert sizes(cache) == {"good": 1}
        (fault,) = cache.snapshot().malformed(Widget)[key]
        assert fault.path == "spec.size"
        await client.patch(kind, key, {"spec": {"size": 3}})
        await eventually(lambda: sizes(cache) == {"good": 1, "bad": 3})
        assert cache.snapshot().malformed(Widget) == {}
        await client.patch(kind, key, {"spec": []})
        await eventually(lambda: sizes(cache) == {"good": 1})


@pytest.mark.parametrize("server", ["real"], indirect=True)  # the embedded one nests less
async def test_an_object_nested_without_end_hides_no_other(client, kind, namespace) -> None:
    body = requests.create(kind, ObjectKey(namespace, ""), make_widget("deep")).body or b""
    body = body.replace(b'"size":1', b'"size":' + b"[" * 3000 + b"]" * 3000)
    path = requests.path_of(kind, namespace)
    await client.send(ApiRequest("POST", path, {}, body))
    await client.create(kind, ObjectKey(namespace, ""), make_widget("oak"))
    async with WithoutStreams(client._access) as old:
        for each in (client, old):
            async with following(each, kind) as cache:
                assert sizes(cache) == {"oak": 1}
                assert [*cache.snapshot().malformed(Widget)] == [ObjectKey(namespace, "deep")]


async def test_bookkeeping_is_not_kept(server, client, namespace) -> None:
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "notes"}}
    await server.kubectl("apply", "-n", namespace, "-f", "-", input=document | {"data": {"a": "b"}})
    async with following(client, Selection(CONFIG_MAP, namespace)) as cache:
        raw = cache.snapshot().raw(ConfigMap, ObjectKey(namespace, "notes"))
        assert raw is not None
        assert raw["data"] == {"a": "b"}
        assert "managedFields" not in raw["metadata"]
        assert not raw["metadata"].get("annotations")
        # What is stored can be written back unchanged.
        raw["data"]["a"] = "c"
        await client.update(CONFIG_MAP, ObjectKey(namespace, "notes"), raw)
        with pytest.raises(ConflictError):
            await client.update(CONFIG_MAP, ObjectKey(namespace, "notes"), raw)


async def test_every_write_is_carried_out_as_meant(client, kind, namespace) -> None:
    key = ObjectKey(namespace, "oak")
    await client.create(kind, key, make_widget("dry"), query={"dryRun": "All"})
    created = await client.create(kind, key, make_widget("oak"))
    with pytest.raises(AlreadyExistsError):
        await client.create(kind, key, make_widget("oak"))
    await client.patch(kind, key, [{"op": "replace", "path": "/spec/size", "value": 5}])
    painted = make_widget("oak") | {"spec": {"colour": "red"}}
    after = await client.apply(kind, key, painted, manager="painter")
    assert after["spec"] == {"size": 5, "colour": "red"}
    with pytest.raises(ConflictError):
        await client.delete(kind, key, uid="somebody-else")
    await client.delete(kind, key, uid=created["metadata"]["uid"])
    with pytest.raises(NotFoundError):
        await client.get(kind, key)
    with pytest.raises(NotFoundError):
        await client.get(kind, ObjectKey(namespace, "dry"))


async def test_questions_are_answered_live(client, namespace) -> None:
    await client.create(CONFIG_MAP, ObjectKey(namespace, ""), {"metadata": {"name": "notes"}})
    there, absent = (LiveGet(ConfigMap, ObjectKey(namespace, name)) for name in ("notes", "none"))
    may, may_not = (
        AccessReview("ada", "", groups, (), "delete", "", "secrets", "", namespace, "any")
        for groups in (("system:masters",), ("system:authenticated",))
    )
    async with following(client, Selection(CONFIG_MAP, namespace)) as cache:
        live_results = await cache.read_live([there, absent, may, may_not], 60)
    found = live_results[there]
    assert isinstance(found, ConfigMap)
    assert found.name == "notes"
    assert live_results[absent] is None
    assert (live_results[may], live_results[may_not]) == (True, False)


async def test_after_any_mix_of_writes_memory_and_server_agree(client, kind, namespace) -> None:
    chance = random.Random(7)
    names = [f"w-{number}" for number in range(12)]

    async def write() -> None:
        for _ in range(40):
            key = ObjectKey(namespace, chance.choice(names))
            try:
                match chance.choice(("create", "patch", "delete")):
                    case "create":
                        await client.create(kind, key, make_widget(key.name))
                    case "patch":
                        await client.patch(kind, key, {"spec": {"size": chance.randrange(99)}})
                    case _:
                        await client.delete(kind, key)
            except (AlreadyExistsError, ConflictError, NotFoundError):
                continue

    async with following(client, kind) as cache:
        async with asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(write())
        page = await client.page(Selection(kind))
        marker = await client.create(kind, ObjectKey(namespace, ""), make_widget("end"))
        await cache.wait_seen(Widget, marker["metadata"]["resourceVersion"])
        listed = {str(decode_name(item)) for item in page.items}
        shown = {
            f"{widget.name}@{widget.resource_version}"
            for widget in cache.state.store(Widget).list()
            if widget.name != "end"
        }
        assert shown == listed


def decode_name(item) -> str:
    metadata = msgspec.json.decode(item)["metadata"]
    return f"{metadata['name']}@{metadata['resourceVersion']}"


async def test_a_version_from_before_all_history_is_gone(real_server) -> None:
    # Created here and not by the fixture: the embedded server keeps all of its recent history.
    async with talking(real_server) as client:
        kind = make_kind()
        await install(client, kind)
        request = requests.watch(Selection(kind), "1", 30)

        async def watch_once() -> None:
            """Wait until a new kind is in the watch cache."""
            while True:
                try:
                    async with client.stream(request, **SECONDS) as lines:
                        decode(await anext(lines))
                except ThrottledError:
                    await asyncio.sleep(0.2)
                else:
                    return

        with pytest.raises(GoneError):
            await watch_once()
        await uninstall(client, kind)
