"""Bad input gets the same Status from both servers."""

import pytest

from tests.behaviour.asking import ask, normalise
from tests.behaviour.bad_requests import BAD_REQUESTS
from tests.behaviour.records import Record
from webhook.planes.kubernetes import Kubernetes

pytestmark = pytest.mark.timeout(60)
RECORD = Record("bad_requests")


@pytest.mark.parametrize("bad", [pytest.param(bad, id=bad.id) for bad in BAD_REQUESTS])
async def test_bad_request(server, session, place, bad):
    answer = normalise(await ask(session, bad, place), place)
    assert answer["code"] >= 400
    RECORD.check(bad.id, answer, is_real=isinstance(server, Kubernetes))


def test_every_bad_request_is_recorded():
    assert RECORD.keys == {bad.id for bad in BAD_REQUESTS}
    assert len(BAD_REQUESTS) >= 60


@pytest.mark.parametrize("depth", [300, 3_000])
async def test_what_is_nested_beyond_reason_is_kept_or_refused(server, session, place, depth):
    """Where a real server takes it, the embedded one says that it does not, and goes on."""
    free: str = '{"a":' * depth + "1" + "}" * depth
    metadata = f'{{"name":"deep-{depth}"}}'
    kind = f'"apiVersion":"{place.group}/v1","kind":"Widget"'
    body = f'{{{kind},"metadata":{metadata},"spec":{{"size":"small","free":{free}}}}}'
    path = f"/apis/{place.group}/v1/namespaces/{place.namespace}/widgets"
    headers = {"Content-Type": "application/json"}
    async with session.post(path, data=body, headers=headers) as response:
        answer = await response.text()
    if isinstance(server, Kubernetes):
        assert response.status == 201
        # Others read what is here with less patience.
        async with session.delete(f"{path}/deep-{depth}") as response:
            assert response.status == 200
    else:
        assert response.status == 400
        assert "nested too deeply" in answer
    async with session.get(f"{path}/exists") as response:
        assert response.status == 200
