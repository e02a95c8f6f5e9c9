"""History is limited: both servers answer 410 for versions that are too old.

The servers of this module are its own: they are restarted, and the real one is compacted.
"""

import asyncio
from contextlib import asynccontextmanager

import aiohttp
import orjson
import pytest

from tests.behaviour.bad_requests import config_map
from tests.behaviour.http_requests import Place, normalise
from tests.behaviour.recorded_answers import Record
from tests.support.control_planes import require_parts
from tests.support.watches import take
from webhook.dev.planes.certificates import Keyring, client_context
from webhook.dev.planes.embedded import Embedded
from webhook.dev.planes.kubernetes import Kubernetes

pytestmark = pytest.mark.timeout(300)
RECORD = Record("forgotten")
MAPS = "/api/v1/namespaces/default/configmaps"


@pytest.fixture(params=["embedded", "real"])
async def own_server(request, tmp_path):
    if request.param == "real":
        require_parts("etcd", "kubernetes")
        async with Kubernetes(tmp_path, durable=False) as server:
            yield server
    else:
        async with Embedded(tmp_path) as server:
            yield server


@asynccontextmanager
async def connected(server):
    context = await asyncio.to_thread(server.admin.context)
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(server.url, connector=connector) as session:
        yield session


async def compact(server, version):
    """Compact a real server's etcd, as it does by itself every five minutes."""
    keyring = Keyring(server.etcd.directory / "pki", "etcd")
    context = client_context(keyring.files.certificate, keyring.client("client", "apiserver"))
    connector = aiohttp.TCPConnector(ssl=context)
    async with (
        aiohttp.ClientSession(server.etcd.url, connector=connector) as session,
        session.post("/v3/kv/compaction", data=orjson.dumps({"revision": version})) as response,
    ):
        assert response.status == 200, await response.text()


async def fetch(session, **query):
    async with session.get(MAPS, params=query) as response:
        return {"code": response.status, "body": await response.json()}


async def test_versions_that_are_too_old_are_gone(own_server):
    async with connected(own_server) as session:
        for name in ("a", "b", "c"):
            await session.post(MAPS, json=config_map(name, metadata={"labels": {"own": ""}}))
        page = (await fetch(session, limit="1", labelSelector="own"))["body"]
        version = page["metadata"]["resourceVersion"]
        await session.post(MAPS, json=config_map("d", metadata={"labels": {"own": ""}}))
        latest = (await fetch(session))["body"]["metadata"]["resourceVersion"]
    if isinstance(own_server, Kubernetes):
        await compact(own_server, latest)
    await own_server.apiserver.restart()
    async with connected(own_server) as session:
        query = {"limit": "1", "labelSelector": "own", "continue": page["metadata"]["continue"]}
        continued = await fetch(session, **query)
        exact = await fetch(session, resourceVersion=version, resourceVersionMatch="Exact")
        watched = await take(1, session, MAPS, resourceVersion=version)
        # The response has a token with which the rest can be read, at the current version.
        token = continued["body"]["metadata"].pop("continue")
        rest = (await fetch(session, labelSelector="own", **{"continue": token}))["body"]
    place = Place("default", "example.com")
    is_real = isinstance(own_server, Kubernetes)
    for name, answer in (
        ("a continued list", continued),
        ("a list of a version", exact),
        ("a watch", {"code": 200, "body": watched[0]}),
    ):
        shown = normalise(orjson.loads(orjson.dumps(answer).replace(version.encode(), b"0")), place)
        RECORD.check(name, shown, is_real=is_real)
    assert [item["metadata"]["name"] for item in rest["items"]] == ["b", "c", "d"]
