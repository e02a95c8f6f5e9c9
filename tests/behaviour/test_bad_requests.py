"""Bad input gets the same Status from both servers."""

import orjson
import pytest

from tests.behaviour.asking import ask, normalise
from tests.behaviour.bad_requests import (
    APPLY_PATCH,
    BAD_REQUESTS,
    DEPTH,
    JSON_PATCH,
    MERGE_PATCH,
    nested,
)
from tests.behaviour.records import Record
from webhook.planes.kubernetes import Kubernetes

pytestmark = pytest.mark.timeout(300)
JSON = "application/json"
RECORD = Record("bad_requests")


@pytest.mark.parametrize("bad", [pytest.param(bad, id=bad.id) for bad in BAD_REQUESTS])
async def test_bad_request(server, session, place, bad):
    answer = normalise(await ask(session, bad, place), place)
    assert answer["code"] >= 400
    RECORD.check(bad.id, answer, is_real=isinstance(server, Kubernetes))


def test_every_bad_request_is_recorded():
    assert RECORD.keys == {bad.id for bad in BAD_REQUESTS}
    assert len(BAD_REQUESTS) >= 60


@pytest.mark.parametrize("depth", [300, 1_200])
async def test_what_is_nested_beyond_reason_is_kept(session, place, depth):
    """Created, read, listed, printed, watched, changed by every kind of patch, and deleted."""
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
        # Others read what is here with less patience.
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
    """An unknown field of a built-in kind is dropped, so that the decoder alone judges."""
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
    """The bookkeeping of its fields is nested deeper than an object itself.

    A real server answers as is written here, but keeps the second object as well, and then cannot
    list the resource any more: it is not asked.
    """
    if isinstance(server, Kubernetes):
        return
    path = f"/apis/{place.group}/v1/namespaces/{place.namespace}/widgets"
    found, text = await _send(session, "POST", path, _deep_widget(place, depth))
    assert found == status
    here = f"{path}/deep-{depth}"
    if status == 500:
        assert orjson.loads(text)["message"] == "invalid character '{' exceeded max depth"
        assert (await _send(session, "GET", here))[0] == 404
    else:
        assert (await _send(session, "DELETE", here))[0] == 200


def _deep_widget(place, depth, value=1):
    head = f'{{"apiVersion":"{place.group}/v1","kind":"Widget","metadata":{{"name":"deep-{depth}"}}'
    free = nested(depth, inside=b"%d" % value)
    return head.encode() + b',"spec":{"size":"small","free":' + free + b"}}"


async def _send(session, method, path, body=None, kind=JSON, *, accept=JSON):
    headers = {"Content-Type": kind, "Accept": accept}
    async with session.request(method, path, data=body, headers=headers) as response:
        return response.status, await response.read()
