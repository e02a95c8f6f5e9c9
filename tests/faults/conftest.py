"""API servers for tests of whole servers: every kind is there, webhooks may be registered."""

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.planes import require_parts
from webhook.api.core import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from webhook.api.kinds import kind_of_model
from webhook.api.meta import ObjectKey
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.errors import NotFoundError
from webhook.planes.embedded import Embedded
from webhook.planes.kubernetes import Kubernetes

CRDS = Path(__file__).parents[2] / "manifests" / "crds"


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=["embedded", "real"])
async def garden(request, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Any]:
    """A server with all kinds, apart from others: webhooks that fail closed are hard to share."""
    directory = tmp_path_factory.mktemp(f"garden-{request.param}")
    plane: Embedded | Kubernetes = Embedded(directory)
    if request.param == "real":
        require_parts("etcd", "kubernetes")
        plane = Kubernetes(directory, durable=False)
    async with plane as server:
        await server.kubectl("apply", "--server-side", "-f", str(CRDS))
        await server.kubectl(
            "wait", "--for=condition=Established", "--timeout=120s", "crd", "--all"
        )
        yield server


@pytest.fixture
async def api(garden) -> AsyncIterator[Client]:
    """The administrator of the garden; what webhooks a test registered are gone after it."""
    async with Client(await config.load(str(garden.kubeconfig))) as client:
        yield client
        for model in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
            with suppress(NotFoundError):
                await client.delete(kind_of_model(model), ObjectKey("", "espalier"))
