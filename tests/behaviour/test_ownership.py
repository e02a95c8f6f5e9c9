"""Server-side apply and who owns which field, on both servers."""

import json

import pytest

pytestmark = pytest.mark.timeout(300)
APPLY = "application/apply-patch+yaml"


@pytest.fixture
def maps(namespace):
    return f"/api/v1/namespaces/{namespace}/configmaps"


def config_map(**more):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, **more}


async def send(session, method, path, obj, content_type="application/json", **query):
    headers = {"Content-Type": content_type}
    async with session.request(
        method, path, data=json.dumps(obj), params=query, headers=headers
    ) as response:
        return response.status, await response.json()


async def apply(session, maps, obj, manager="ssa", **query):
    return await send(session, "PATCH", f"{maps}/m", obj, APPLY, fieldManager=manager, **query)


def owned(obj):
    entries = obj["metadata"].get("managedFields", [])
    return {(one["manager"], one["operation"]): one["fieldsV1"] for one in entries}


async def test_apply_creates_and_owns_what_it_names(session, maps):
    code, made = await apply(session, maps, config_map(data={"a": "1"}))
    assert code == 201
    assert owned(made) == {("ssa", "Apply"): {"f:data": {"f:a": {}}}}


async def test_a_conflict_names_owner_and_field(session, maps):
    await send(session, "POST", maps, config_map(data={"a": "1"}), fieldManager="ann")
    code, body = await apply(session, maps, config_map(data={"a": "2"}))
    assert code == 409
    assert body["message"] == (
        'Apply failed with 1 conflict: conflict with "ann" using v1: .data.a'
    )
    assert body["details"]["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "ann" using v1',
            "field": ".data.a",
        }
    ]


async def test_force_takes_a_field_and_equal_values_are_shared(session, maps):
    await send(session, "POST", maps, config_map(data={"a": "1", "b": "1"}), fieldManager="ann")
    code, made = await apply(session, maps, config_map(data={"a": "2", "b": "1"}), force="true")
    assert (code, made["data"]) == (200, {"a": "2", "b": "1"})
    assert owned(made) == {
        ("ann", "Update"): {"f:data": {".": {}, "f:b": {}}},
        ("ssa", "Apply"): {"f:data": {"f:a": {}, "f:b": {}}},
    }


async def test_dropped_fields_go_unless_another_applier_has_them(session, maps):
    await apply(session, maps, config_map(data={"a": "1", "b": "1", "c": "1"}))
    await apply(session, maps, config_map(data={"b": "1"}), "other")
    _, made = await apply(session, maps, config_map(data={"c": "1"}))
    assert made["data"] == {"b": "1", "c": "1"}


async def test_applying_the_same_again_writes_nothing(session, maps):
    _, first = await apply(session, maps, config_map(data={"a": "1"}))
    _, second = await apply(session, maps, config_map(data={"a": "1"}))
    assert second == first


async def test_list_items_of_custom_resources_are_merged_by_key(session, place):
    path = f"/apis/{place.group}/v1/namespaces/{place.namespace}/widgets/exists"

    def widget(*parts):
        return {
            "apiVersion": f"{place.group}/v1",
            "kind": "Widget",
            "metadata": {"name": "exists"},
            "spec": {"parts": list(parts)},
        }

    query = {"fieldManager": "ssa", "dryRun": "All"}
    code, made = await send(
        session, "PATCH", path, widget({"name": "x", "count": 1}), APPLY, **query
    )
    assert code == 200
    fields = owned(made)["ssa", "Apply"]["f:spec"]["f:parts"]
    assert fields == {'k:{"name":"x"}': {".": {}, "f:count": {}, "f:name": {}}}


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        pytest.param(
            {"foo": 1},
            500,
            "failed to create typed patch object ({ns}/m; /v1, Kind=ConfigMap): "
            ".foo: field not declared in schema",
            id="an unknown field",
        ),
        pytest.param(
            {"data": {"a": 1}},
            500,
            "failed to create typed patch object ({ns}/m; /v1, Kind=ConfigMap): "
            ".data.a: expected string, got &value.valueUnstructured{{Value:1}}",
            id="a value of another type",
        ),
        pytest.param(
            {"metadata": {"name": "m", "managedFields": [{}]}},
            400,
            "metadata.managedFields must be nil",
            id="managed fields",
        ),
    ],
)
async def test_configurations_that_do_not_fit(session, maps, change, code, message):
    status, body = await apply(session, maps, {**config_map(), **change})
    assert (status, body["message"]) == (code, message.format(ns=""))


async def test_kubectl_applies_on_the_server_side_over_its_own_annotation(server, namespace):
    await server.kubectl("apply", "-n", namespace, "-f", "-", input=config_map(data={"a": "1"}))
    done = await server.kubectl(
        "apply", "-n", namespace, "--server-side", "-f", "-", input=config_map(data={"a": "2"})
    )
    assert "serverside-applied" in done.stdout
    other = await server.kubectl(
        *("apply", "-n", namespace, "--server-side", "--field-manager=x", "-f", "-"),
        input=config_map(data={"a": "3"}),
        check=False,
    )
    assert 'conflict with "kubectl": .data.a' in other.stderr
