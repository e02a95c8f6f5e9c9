"""The demo landscape as a real Gardener takes it: today's bindings, registered types."""

from collections.abc import Iterable, Iterator
from typing import Final

from webhook.api import names
from webhook.api.meta import Draft
from webhook.cli.dev.demo import CORE, PROJECTS, PROVIDERS

_LEFT_TO_GARDENER: Final = f"garden-{PROJECTS[-1]}"
"""The one project whose shoots gardener-scheduler places, to compare with."""


def adapt(drafts: Iterable[Draft]) -> Iterator[Draft]:
    """Rewrite the demo for a Gardener, which refuses types that no controller is registered for."""
    yield {
        "apiVersion": CORE,
        "kind": "ControllerRegistration",
        "metadata": {"name": "demo-dns"},
        "spec": {
            "deployment": {"deploymentRefs": [{"name": "local"}]},
            "resources": [{"kind": "DNSRecord", "type": each.name} for each in PROVIDERS],
        },
    }
    for draft in drafts:
        match draft["kind"]:
            case "SecretBinding":
                yield _credentials_binding(draft)
            case "Shoot":
                yield _shoot(draft)
            case _:
                yield draft


def _credentials_binding(draft: Draft) -> Draft:
    reference = {"apiVersion": "v1", "kind": "Secret", **draft["secretRef"]}
    return {
        "apiVersion": "security.gardener.cloud/v1alpha1",
        "kind": "CredentialsBinding",
        "metadata": draft["metadata"],
        "provider": draft["provider"],
        "credentialsRef": reference,
        "quotas": draft["quotas"],
    }


def _shoot(draft: Draft) -> Draft:
    spec = {**draft["spec"]}
    spec["credentialsBindingName"] = spec.pop("secretBindingName")
    if draft["metadata"]["namespace"] != _LEFT_TO_GARDENER:
        spec["schedulerName"] = names.SCHEDULER_NAME
    return {**draft, "spec": spec}
