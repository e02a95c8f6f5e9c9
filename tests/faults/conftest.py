"""API servers for tests of whole servers: all kinds are defined, webhooks may be registered."""

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.support.control_planes import kubernetes
from webhook.api.core import MutatingWebhookConfiguration, ValidatingWebhookConfiguration
from webhook.api.kinds import kind_of_model
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.errors import NotFoundError
from webhook.dev.planes.embedded import Embedded
from webhook.kube.meta import ObjectKey

CRDS = Path(__file__).parents[2] / "manifests" / "crds"


@pytest_asyncio.fixture(scope="session", loop_scope="session", params=["embedded", "real"])
async def garden(request, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Any]:
    """A separate server with all kinds, because webhooks that fail closed cannot be shared."""
    directory = tmp_path_factory.mktemp(f"garden-{request.param}")
    started: Any = kubernetes if request.param == "real" else Embedded
    async with started(directory) as server:
        await server.kubectl("apply", "--server-side", "-f", str(CRDS))
        await server.kubectl(
            "wait", "--for=condition=Established", "--timeout=120s", "crd", "--all"
        )
        yield server


@pytest.fixture
async def api(garden) -> AsyncIterator[Client]:
    """The administrator of the garden; webhooks that a test registered are removed after it."""
    async with Client(await config.load(str(garden.kubeconfig))) as client:
        yield client
        for model in (MutatingWebhookConfiguration, ValidatingWebhookConfiguration):
            with suppress(NotFoundError):
                await client.delete(kind_of_model(model), ObjectKey("", "espalier"))
