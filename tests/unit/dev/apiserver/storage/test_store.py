"""The store keeps objects with group commit, one resourceVersion and a log of changes."""

import asyncio
import sqlite3

import pytest

from webhook.dev.apiserver.storage.collection import DELETED, ExpiredError
from webhook.dev.apiserver.storage.store import StaleError, StorageError, Store


def fields(_, obj):
    return {"metadata.name": obj["metadata"]["name"]}


def make(name, namespace="ns", **more):
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, **more}


@pytest.fixture
async def store(tmp_path):
    opened = Store(tmp_path / "store.db", fields)
    await opened.open()
    yield opened
    await opened.close()


async def test_the_resource_version_counts_all_writes(store):
    maps, secrets = store.collection("configmaps"), store.collection("secrets")
    first = await store.put(maps, make("a"), None)
    second = await store.put(secrets, make("a"), None)
    assert (first.rv, second.rv, store.rv) == (1, 2, 2)
    assert first.decode()["metadata"]["resourceVersion"] == "1"


async def test_a_write_over_another_state_is_stale(store):
    maps = store.collection("configmaps")
    first = await store.put(maps, make("a"), None)
    await store.put(maps, make("a", data={"x": "1"}), first)
    with pytest.raises(StaleError):
        await store.put(maps, make("a"), first)
    with pytest.raises(StaleError):
        await store.put(maps, make("a"), None)
    with pytest.raises(StaleError):
        await store.remove(maps, first)


async def test_a_pending_write_is_visible_to_writers_only(store):
    maps = store.collection("configmaps")
    task = asyncio.ensure_future(store.put(maps, make("a"), None))
    await asyncio.sleep(0)
    assert maps.head("ns/a") is not None
    assert maps.entries == {}
    await task
    assert list(maps.entries) == ["ns/a"]


async def test_of_concurrent_writes_to_one_name_one_succeeds(store):
    maps = store.collection("configmaps")
    writes = [store.put(maps, make("a"), None) for _ in range(10)]
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert sum(isinstance(outcome, StaleError) for outcome in outcomes) == 9


async def test_objects_survive_a_restart(tmp_path):
    store = Store(tmp_path / "store.db", fields)
    await store.open()
    maps = store.collection("configmaps")
    kept = await store.put(maps, make("a", data={"x": "1"}), None)
    gone = await store.put(maps, make("b"), None)
    await store.remove(maps, gone)
    await store.close()
    again = Store(tmp_path / "store.db", fields)
    await again.open()
    assert [entry.data for entry in again.collection("configmaps").current("")] == [kept.data]
    assert again.rv == 3
    await again.close()


async def test_a_second_server_on_the_same_folder_fails(store, tmp_path):
    await store.put(store.collection("configmaps"), make("a"), None)
    second = Store(tmp_path / "store.db", fields)
    with pytest.raises(sqlite3.OperationalError, match="locked"):
        await second.open()


async def test_a_failed_write_leaves_nothing_behind(store):
    maps = store.collection("configmaps")
    store._database.execute("DROP TABLE objects")
    with pytest.raises(StorageError):
        await store.put(maps, make("a"), None)
    assert maps.head("ns/a") is None
    assert maps.entries == {}


async def test_listeners_receive_changes_in_order(store):
    maps = store.collection("configmaps")
    received = []
    maps.listeners.add(lambda change: received.append((change.rv, change.type)))
    entry = await store.put(maps, make("a"), None)
    entry = await store.put(maps, make("a", data={}), entry)
    tombstone = await store.remove(maps, entry)
    assert received == [(1, "ADDED"), (2, "MODIFIED"), (3, DELETED)]
    assert tombstone.decode()["metadata"]["resourceVersion"] == "3"


async def test_past_versions_can_be_listed(store):
    maps = store.collection("configmaps")
    first = await store.put(maps, make("a"), None)
    second = await store.put(maps, make("b"), None)
    await store.remove(maps, first)
    await store.put(maps, make("b", data={"x": "1"}), second)
    await store.put(maps, make("c"), None)
    names = {rv: [entry.name for entry in maps.list_at(rv, "")] for rv in range(1, 6)}
    assert names == {1: ["a"], 2: ["a", "b"], 3: ["b"], 4: ["b"], 5: ["b", "c"]}
    assert [entry.rv for entry in maps.list_at(3, "")] == [2]


async def test_old_changes_are_compacted(tmp_path):
    store = Store(tmp_path / "store.db", fields, history=2)
    await store.open()
    maps = store.collection("configmaps")
    for name in "abcd":
        await store.put(maps, make(name), None)
    with pytest.raises(ExpiredError):
        list(maps.list_at(1, ""))
    assert len(list(maps.list_at(2, ""))) == 2
    await store.close()


async def test_lists_are_limited_to_their_namespace(store):
    maps = store.collection("configmaps")
    for namespace in ("a", "a-b", "ab"):
        await store.put(maps, make("x", namespace), None)
    assert [entry.namespace for entry in maps.current("a")] == ["a"]
    assert [entry.key for entry in maps.current("")] == ["a-b/x", "a/x", "ab/x"]


async def test_the_api_version_is_replaced_in_the_bytes(store):
    entry = await store.put(store.collection("configmaps"), make("a"), None)
    assert entry.as_version(b"v1") == entry.data
    other = entry.as_version(b"example.com/v2")
    assert other == entry.data.replace(b'"v1"', b'"example.com/v2"', 1)
    assert entry.without_type_meta().startswith(b'{"metadata":')
