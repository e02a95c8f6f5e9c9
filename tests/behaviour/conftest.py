"""The two servers under one name: what a test asks of `server` must hold on both."""

import asyncio
from uuid import uuid4

import aiohttp
import pytest
import pytest_asyncio

from tests.behaviour.asking import prepare
from tests.behaviour.hooks import serving
from tests.behaviour.samples import make_namespace


@pytest.fixture(params=["embedded", "real"])
def server(request):
    return request.getfixturevalue(f"{request.param}_server")


@pytest.fixture
async def namespace(session):
    """A namespace of the test's own."""
    name = f"test-{uuid4().hex[:8]}"
    async with session.post("/api/v1/namespaces", json=make_namespace(name)) as response:
        assert response.status == 201, await response.text()
    yield name
    async with session.delete(f"/api/v1/namespaces/{name}") as response:
        assert response.status in (200, 202), await response.text()


@pytest.fixture
async def session(server):
    """Plain HTTP with the administrator's certificate."""
    context = await asyncio.to_thread(server.admin.context)
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(server.url, connector=connector) as opened:
        yield opened


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def places():
    """Namespaces and definitions that read-only tests share, one of each for a server."""
    return {}


@pytest.fixture
async def place(server, session, places):
    """A namespace with a custom resource and an object of each kind, which nobody changes."""
    if server.url not in places:
        places[server.url] = await prepare(session, f"p{uuid4().hex[:8]}")
    return places[server.url]


@pytest.fixture
async def hooks(session, tmp_path):
    """Webhooks of the test's own."""
    async with serving(session, tmp_path) as opened:
        yield opened
