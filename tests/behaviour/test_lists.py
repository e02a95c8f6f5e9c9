"""Lists: pages, selectors, and the version of the content."""

import pytest

from tests.behaviour.bad_requests import config_map
from tests.support.waits import eventually

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
async def maps(session, namespace):
    """Five ConfigMaps, every other one labelled odd."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    for number in range(1, 6):
        labels = {"number": str(number), **({"odd": ""} if number % 2 else {})}
        obj = config_map(f"m{number}", metadata={"labels": labels})
        async with session.post(path, json=obj) as response:
            assert response.status == 201
    return path


async def fetch(session, path, code=200, **query):
    async with session.get(path, params=query) as response:
        answer = await response.json()
        assert response.status == code, answer
    return answer


def names(listed):
    return [
        item["metadata"]["name"] for item in listed["items"] if item["metadata"]["name"][0] == "m"
    ]


async def test_items_of_built_in_lists_do_not_repeat_their_kind(session, maps):
    listed = await fetch(session, maps)
    assert (listed["kind"], listed["apiVersion"]) == ("ConfigMapList", "v1")
    assert all("kind" not in item and "apiVersion" not in item for item in listed["items"])


async def test_items_of_custom_lists_have_their_kind(session, place):
    path = f"/apis/{place.group}/v1/namespaces/{place.namespace}/widgets"
    listed = await fetch(session, path)
    assert (listed["kind"], listed["apiVersion"]) == ("WidgetList", f"{place.group}/v1")
    assert listed["items"][0]["kind"] == "Widget"


async def test_pages_show_one_moment(session, maps):
    selected = {"labelSelector": "number"}
    first = await fetch(session, maps, limit="2", **selected)
    version = first["metadata"]["resourceVersion"]
    assert names(first) == ["m1", "m2"]
    await session.delete(f"{maps}/m4")
    await session.post(maps, json=config_map("m6", metadata={"labels": {"number": "6"}}))
    second = await fetch(
        session, maps, limit="2", **{"continue": first["metadata"]["continue"]}, **selected
    )
    assert names(second) == ["m3", "m4"]
    assert second["metadata"]["resourceVersion"] == version
    third = await fetch(
        session, maps, limit="2", **{"continue": second["metadata"]["continue"]}, **selected
    )
    assert names(third) == ["m5"]
    assert "continue" not in third["metadata"]


async def test_a_page_has_the_number_of_remaining_items(session, maps):
    async def is_reported():
        """Compare with a whole list; a cluster may create objects of its own in between."""
        everything = await fetch(session, maps)
        page = await fetch(session, maps, limit="1")
        return page["metadata"]["remainingItemCount"] == len(everything["items"]) - 1

    await eventually(is_reported, 10)
    selected = await fetch(session, maps, limit="1", labelSelector="odd")
    assert "remainingItemCount" not in selected["metadata"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        pytest.param({"labelSelector": "odd"}, ["m1", "m3", "m5"], id="a label exists"),
        pytest.param({"labelSelector": "!odd,number"}, ["m2", "m4"], id="a label is absent"),
        pytest.param({"labelSelector": "number in (2,3)"}, ["m2", "m3"], id="a set"),
        pytest.param({"labelSelector": "number notin (2,3),odd"}, ["m1", "m5"], id="not in a set"),
        pytest.param({"labelSelector": "number=4"}, ["m4"], id="a value"),
        pytest.param({"labelSelector": "number>3"}, ["m4", "m5"], id="greater"),
        pytest.param({"fieldSelector": "metadata.name=m2"}, ["m2"], id="a name"),
        pytest.param(
            {"fieldSelector": "metadata.name!=m2", "labelSelector": "!odd,number"},
            ["m4"],
            id="another name",
        ),
    ],
)
async def test_selectors(session, maps, query, found):
    assert names(await fetch(session, maps, **query)) == found


async def test_custom_resources_are_selected_by_name(session, place):
    path = f"/apis/{place.group}/v1/widgets"
    listed = await fetch(session, path, fieldSelector=f"metadata.namespace={place.namespace}")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["exists"]
    assert (await fetch(session, path, fieldSelector="metadata.name=other"))["items"] == []


async def test_a_list_of_exactly_one_version(session, maps):
    before = await fetch(session, maps)
    version = before["metadata"]["resourceVersion"]
    await session.delete(f"{maps}/m1")
    exact = await fetch(session, maps, resourceVersion=version, resourceVersionMatch="Exact")
    assert exact["metadata"]["resourceVersion"] == version
    assert names(exact) == names(before)


@pytest.mark.parametrize("version", ["0", "past"])
async def test_a_list_not_older_than_a_version(session, maps, version):
    listed = await fetch(session, maps)
    wanted = listed["metadata"]["resourceVersion"] if version == "past" else version
    newer = await fetch(session, maps, resourceVersion=wanted, resourceVersionMatch="NotOlderThan")
    assert names(newer) == names(listed)
    assert int(newer["metadata"]["resourceVersion"]) >= int(wanted)


async def test_a_list_newer_than_the_server_is_refused_after_a_while(session, maps):
    answer = await fetch(session, maps, 504, resourceVersion="9999999999")
    assert answer["reason"] == "Timeout"
    assert answer["details"]["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]
    assert answer["message"].startswith("Timeout: Too large resource version: 9999999999, current:")


async def test_only_metadata(session, maps):
    accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
    async with session.get(maps, headers={"Accept": accept}) as response:
        listed = await response.json()
    assert listed["kind"] == "PartialObjectMetadataList"
    assert {tuple(sorted(item)) for item in listed["items"]} == {("metadata",)} or {
        item["kind"] for item in listed["items"]
    } == {"PartialObjectMetadata"}


async def test_tables_of_custom_resources(session, place):
    path = f"/apis/{place.group}/v1/namespaces/{place.namespace}/widgets"
    accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
    async with session.get(path, headers={"Accept": accept}) as response:
        table = await response.json()
    columns = [(column["name"], column["type"]) for column in table["columnDefinitions"]]
    assert columns == [("Name", "string"), ("Size", "string"), ("Replicas", "integer")]
    assert [row["cells"] for row in table["rows"]] == [["exists", "small", 1]]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"
