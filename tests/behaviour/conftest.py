"""The API servers under one fixture, `server`: a test that uses it must pass on all of them.

Tests about Gardener's kinds also run on a third one, a real Gardener with Espalier in it.
"""

import asyncio
from pathlib import Path
from uuid import uuid4

import aiohttp
import pytest
import pytest_asyncio

from tests.behaviour.gardener_selection import COLLECTED, SERVER, is_about_gardeners_kinds, reason
from tests.behaviour.http_requests import prepare
from tests.behaviour.sample_objects import make_namespace
from tests.support.scripted_webhooks import serving
from webhook.dev.planes.gardener import Gardener


def pytest_generate_tests(metafunc):
    marks = metafunc.definition.iter_markers("parametrize")
    is_chosen = any(mark.args[:1] == ("server",) for mark in marks)
    if "server" in metafunc.fixturenames and not is_chosen:
        path = Path(metafunc.module.__file__)
        servers = ["embedded", "real"]
        if is_about_gardeners_kinds(path) and not reason(path, metafunc.function.__name__):
            servers.append(SERVER)
        metafunc.parametrize("server", servers, indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    config.stash[COLLECTED] = [*items]


@pytest.fixture
def server(request):
    return request.getfixturevalue(f"{request.param}_server")


@pytest.fixture
def espalier(request, server):
    """Espalier as it is installed beside a real Gardener; None on other servers."""
    return request.getfixturevalue("gardener") if isinstance(server, Gardener) else None


@pytest.fixture
async def namespace(session):
    """A namespace for the test."""
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
    """Namespaces and CRDs that read-only tests share, one of each for a server."""
    return {}


@pytest.fixture
async def place(server, session, places):
    """A namespace with a custom resource and an object of each kind, which no test changes."""
    if server.url not in places:
        places[server.url] = await prepare(session, f"p{uuid4().hex[:8]}")
    return places[server.url]


@pytest.fixture
async def hooks(session, tmp_path):
    """Scripted webhooks for the test."""
    async with serving(session, tmp_path) as opened:
        yield opened
