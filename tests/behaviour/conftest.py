"""The two servers under one name: what a test asks of `server` must hold on both."""

from uuid import uuid4

import pytest


@pytest.fixture(params=["embedded", "real"])
def server(request):
    return request.getfixturevalue(f"{request.param}_server")


@pytest.fixture
async def namespace(server):
    """A namespace of the test's own."""
    name = f"test-{uuid4().hex[:8]}"
    await server.kubectl("create", "-f", "-", input=make_namespace(name))
    yield name
    await server.kubectl("delete", "namespace", name, "--wait=false")


def make_namespace(name: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
