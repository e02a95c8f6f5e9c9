"""A real API server takes every definition that is generated, and serves it."""

import pytest

from tests.documents import manifests
from webhook.api.crds import crd, definable

pytestmark = pytest.mark.timeout(180)


async def test_a_real_server_establishes_every_kind(real_server):
    kinds = list(definable(beside_gardener=False))
    items = [crd(kind, beside_gardener=False) for kind in kinds]
    definitions = {"apiVersion": "v1", "kind": "List", "items": items}
    applied = await real_server.kubectl("apply", "--server-side", "-f", "-", input=definitions)
    assert "Warning" not in applied.stderr
    resources = [f"crd/{kind.resource}" for kind in kinds]
    await real_server.kubectl("wait", "--for=condition=Established", "--timeout=60s", *resources)
    for condition in ("NonStructuralSchema", "Terminating"):
        path = f'{{range .items[*]}}{{.status.conditions[?(@.type=="{condition}")].message}}{{end}}'
        told = await real_server.kubectl("get", "crds", "-o", f"jsonpath={path}")
        assert told.stdout == ""
    for kind in kinds:
        listed = await real_server.kubectl(
            "get", f"{kind.plural}.{kind.version}.{kind.group}", "-A"
        )
        assert listed.stderr.strip() == "No resources found"
    await _take_the_documents(real_server)
    await real_server.kubectl("delete", "--wait=false", *resources)


async def _take_the_documents(real_server) -> None:
    """Send every example of the documents, with unknown fields forbidden."""
    examples = [manifest for _, manifest in manifests()]
    namespaces = {example["metadata"].get("namespace", "default") for example in examples}
    for namespace in namespaces - {"default"}:
        await real_server.kubectl("create", "namespace", namespace)
    applied = await real_server.kubectl(
        "apply", "--dry-run=server", "--validate=strict", "-f", "-",
        input={"apiVersion": "v1", "kind": "List", "items": examples},
    )  # fmt: skip
    assert len(applied.stdout.splitlines()) == len(examples)
    await real_server.kubectl("delete", "namespace", "--wait=false", *namespaces - {"default"})
