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
