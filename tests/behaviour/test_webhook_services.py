"""Webhooks behind a Service, as far as possible without a cluster network."""

from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.scripted_webhooks import allow, serving

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
async def hooks(session, namespace, tmp_path):
    """Webhooks whose certificate is also for a Service in the test's namespace."""
    async with serving(session, tmp_path, f"hook.{namespace}.svc") as opened:
        yield opened


async def configured(session, hooks, namespace, spec: dict[str, Any], port: int) -> Any:
    """Put a webhook behind a Service; return the response to a write that it matches."""
    service = {"metadata": {"name": "hook"}, "spec": spec}
    path = f"/api/v1/namespaces/{namespace}/services"
    async with session.post(path, json=service) as response:
        assert response.status == 201, await response.text()
    hooks.on("/see", allow)
    reference = {"name": "hook", "namespace": namespace, "path": "/see", "port": port}
    client = {"service": reference, "caBundle": hooks.bundle}
    await hooks.configure("validating", hooks.hook("/see", clientConfig=client))
    concerned = {"metadata": {"name": "m", "labels": {"hook": hooks.label}}}
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    async with session.post(maps, json=concerned) as response:
        return response.status, (await response.json()).get("message")


async def test_a_service_with_a_name_outside_is_called_there(session, hooks, namespace):
    port = urlsplit(hooks.url).port
    spec = {"type": "ExternalName", "externalName": "localhost"}
    assert await configured(session, hooks, namespace, spec, port) == (201, None)
    assert len(hooks.requests("/see")) == 1


async def test_a_port_that_the_service_lacks_is_named(session, hooks, namespace):
    spec = {"ports": [{"port": 443}]}
    code, message = await configured(session, hooks, namespace, spec, 8443)
    assert code == 500
    assert message == (
        'Internal error occurred: failed calling webhook "see.hooks.example.com": failed to call '
        f'webhook: Post "https://hook.{namespace}.svc:8443/see?timeout=20s": no service port 8443 '
        'found for service "hook"'
    )
