"""Admission requests for the tests of webhooks."""

from dataclasses import replace
from typing import Any

from webhook.dev.apiserver.webhooks.matching import AdmissionRequest, VersionedResource

V1 = VersionedResource("apps", "v1", "deployments", "apps", "v1", "Deployment")
V2 = replace(V1, version="v2", kind_version="v2")


def make_request(**changes: Any) -> AdmissionRequest:
    """Return a request to create a Deployment, with some fields changed."""
    request = AdmissionRequest(
        resource=V1,
        equivalents=(V2,),
        subresource="",
        operation="CREATE",
        name="d",
        namespace="n",
        obj={"metadata": {"labels": {"a": "b"}}},
        old=None,
        options={},
        user={},
        dry_run=False,
        namespaced=True,
    )
    return replace(request, **changes)
