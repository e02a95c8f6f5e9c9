"""Both servers answer bad input with the same Status."""

import orjson
import pytest

from tests.behaviour.bad_fields import (
    BAD_FIELDS,
    BOUNDS,
    RULES_WITH_COST,
    bad_rule,
    rule_with_bounds,
)
from tests.behaviour.bad_requests import (
    APPLY_PATCH,
    BAD_REQUESTS,
    DEPTH,
    JSON_PATCH,
    MERGE_PATCH,
    deployment,
    nested,
)
from tests.behaviour.http_requests import normalise, send_bad_request
from tests.behaviour.recorded_answers import Record
from webhook.dev.planes.kubernetes import Kubernetes

pytestmark = pytest.mark.timeout(300)
JSON = "application/json"
RECORD = Record("bad_requests")
FIELDS_RECORD = Record("bad_fields")
COST_RECORD = Record("rule_costs")


@pytest.mark.parametrize("bad", [pytest.param(bad, id=bad.id) for bad in BAD_REQUESTS])
async def test_bad_request(server, session, place, bad):
    answer = normalise(await send_bad_request(session, bad, place), place)
    assert answer["code"] >= 400
    RECORD.check(bad.id, answer, is_real=isinstance(server, Kubernetes))


@pytest.mark.parametrize("bad", [pytest.param(bad, id=bad.id) for bad in BAD_FIELDS])
async def test_an_object_with_a_bad_field(server, session, place, bad):
    answer = normalise(await send_bad_request(session, bad, place), place)
    assert answer["code"] in (403, 422)
    FIELDS_RECORD.check(bad.id, answer, is_real=isinstance(server, Kubernetes))


@pytest.mark.parametrize("rule", RULES_WITH_COST)
async def test_a_rule_is_refused_from_the_same_cost_on(server, session, place, rule):
    codes = [
        (await send_bad_request(session, rule_with_bounds(rule, *bounds), place))["code"]
        for bounds in BOUNDS
    ]
    COST_RECORD.check(rule, codes, is_real=isinstance(server, Kubernetes))


@pytest.mark.parametrize(
    ("requests", "record"), [(BAD_REQUESTS, RECORD), (BAD_FIELDS, FIELDS_RECORD)]
)
def test_every_bad_request_is_recorded(requests, record):
    assert record.keys == {bad.id for bad in requests}
    assert len({bad.id for bad in requests}) == len(requests)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        pytest.param({"replicas": 2, "readyReplicas": 1}, 200, id="possible numbers"),
        pytest.param({"replicas": -1}, 422, id="a negative number"),
        pytest.param({"replicas": 1, "readyReplicas": 2}, 422, id="more ready than there are"),
        pytest.param({"replicas": 1, "availableReplicas": 1}, 422, id="available and not ready"),
    ],
)
async def test_the_status_of_a_deployment(session, place, status, code):
    path = f"/apis/apps/v1/namespaces/{place.namespace}/deployments"
    body = {**deployment(replicas=0, paused=True), "metadata": {"generateName": "status-"}}
    _, text = await _send(session, "POST", path, orjson.dumps(body))
    here = f"{path}/{orjson.loads(text)['metadata']['name']}/status"
    patch = orjson.dumps({"status": status})
    assert (await _send(session, "PATCH", here, patch, MERGE_PATCH))[0] == code


async def test_a_client_without_a_name_is_the_unknown_manager(session, place):
    path = f"/api/v1/namespaces/{place.namespace}/configmaps"
    body = {"metadata": {"generateName": "manager-"}, "data": {"a": "b"}}
    async with session.post(path, json=body, headers={"User-Agent": ""}) as response:
        created = await response.json()
    assert [each["manager"] for each in created["metadata"]["managedFields"]] == ["unknown"]


@pytest.mark.parametrize("depth", [300, 1_200])
async def test_what_is_nested_beyond_reason_is_kept(session, place, depth):
    """Create, read, list, print, watch, patch in every way, and delete a deeply nested object."""
    await _compile_a_rule(session, place)
    path = f"/apis/{place.group}/v1/namespaces/{place.namespace}/widgets"
    here = f"{path}/deep-{depth}"
    try:
        status, text = await _send(session, "POST", path, _deep_widget(place, depth))
        assert status == 201
        for where, accept in (
            (here, JSON),
            (path, JSON),
            (path, "application/json;as=Table;v=v1;g=meta.k8s.io"),
            (f"{path}?watch=1&timeoutSeconds=1", JSON),
        ):
            status, text = await _send(session, "GET", where, accept=accept)
            assert status == 200
            assert text.count(b'"f:a":') == depth
        for value, kind in ((2, MERGE_PATCH), (3, JSON_PATCH), (4, APPLY_PATCH)):
            free = nested(depth, inside=b"%d" % value)
            body = {
                MERGE_PATCH: b'{"spec":{"free":' + free + b"}}",
                JSON_PATCH: b'[{"op":"add","path":"/spec/free","value":' + free + b"}]",
                APPLY_PATCH: _deep_widget(place, depth, value),
            }[kind]
            where = f"{here}?fieldManager=me&force=true" if kind == APPLY_PATCH else here
            status, text = await _send(session, "PATCH", where, body, kind)
            assert status == 200
            assert free in text
        status, _ = await _send(session, "PUT", here, text.replace(b'"a":4}', b'"a":5}'))
        assert status == 200
    finally:
        # Other clients decode this list with lower limits.
        status, _ = await _send(session, "DELETE", here)
    assert status == 200


@pytest.mark.parametrize(
    ("depth", "status"),
    [
        pytest.param(DEPTH, 201, id="as deep as decoders go"),
        pytest.param(DEPTH + 1, 400, id="one level deeper"),
    ],
)
async def test_how_deep_an_object_may_be_nested(session, place, depth, status):
    """An unknown field of a built-in kind is dropped, so only the decoder refuses it."""
    await _compile_a_rule(session, place)
    path = f"/api/v1/namespaces/{place.namespace}/configmaps"
    unknown = nested(depth - 1)
    body = b'{"metadata":{"name":"edge-%d"},"unknown":%b}' % (depth, unknown)
    assert (await _send(session, "POST", path, body))[0] == status


@pytest.mark.parametrize(
    ("depth", "status"),
    [
        pytest.param(DEPTH - 7, 201, id="what can be read again is kept"),
        pytest.param(DEPTH - 6, 500, id="what could not be read again is not"),
    ],
)
async def test_how_deep_a_kept_object_may_be_nested(server, session, place, depth, status):
    """The managed fields of an object are nested deeper than the object itself.

    A real server answers as is written here, but also stores the second object and then cannot list
    the resource any more, so this is not sent to it.
    """
    if isinstance(server, Kubernetes):
        return
    await _compile_a_rule(session, place)
    path = f"/apis/{place.group}/v1/namespaces/{place.namespace}/widgets"
    found, text = await _send(session, "POST", path, _deep_widget(place, depth))
    assert found == status
    here = f"{path}/deep-{depth}"
    if status == 500:
        assert orjson.loads(text)["message"] == "invalid character '{' exceeded max depth"
        assert (await _send(session, "GET", here))[0] == 404
    else:
        assert (await _send(session, "DELETE", here))[0] == 200


async def _compile_a_rule(session, place):
    """Compile a validation rule first, since CEL's library changes limits of the process."""
    answer = await send_bad_request(session, bad_rule("a rule", "self.size >"), place)
    assert answer["code"] == 422


def _deep_widget(place, depth, value=1):
    head = f'{{"apiVersion":"{place.group}/v1","kind":"Widget","metadata":{{"name":"deep-{depth}"}}'
    free = nested(depth, inside=b"%d" % value)
    return head.encode() + b',"spec":{"size":"small","free":' + free + b"}}"


async def _send(session, method, path, body=None, kind=JSON, *, accept=JSON):
    headers = {"Content-Type": kind, "Accept": accept}
    async with session.request(method, path, data=body, headers=headers) as response:
        return response.status, await response.read()
