"""The webhooks of the webhook configurations, in the order of their calls."""

import base64
from dataclasses import dataclass
from typing import Final

from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.storage.collection import Collection
from webhook.kube import selectors
from webhook.kube.meta import Raw
from webhook.kube.selectors import LabelSelector

MUTATING: Final = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
VALIDATING: Final = "validatingwebhookconfigurations.admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True, eq=False)
class Webhook:
    """A webhook of a configuration; compared by identity."""

    name: str
    rules: tuple[Raw, ...]
    namespace_selector: LabelSelector
    object_selector: LabelSelector
    conditions: tuple[Raw, ...]
    equivalent: bool
    ignore_failure: bool
    timeout: int
    reinvoke: bool
    supports_dry_run: bool
    review_versions: tuple[str, ...]
    url: str
    service: Raw | None
    ca_bundle: bytes


def from_object(webhook: Raw) -> Webhook:
    """Parse a webhook, which has been defaulted and validated."""
    client = webhook["clientConfig"]
    return Webhook(
        name=webhook["name"],
        rules=tuple(webhook.get("rules") or ()),
        namespace_selector=selectors.from_object(webhook.get("namespaceSelector") or {}),
        object_selector=selectors.from_object(webhook.get("objectSelector") or {}),
        conditions=tuple(webhook.get("matchConditions") or ()),
        equivalent=webhook.get("matchPolicy") != "Exact",
        ignore_failure=webhook.get("failurePolicy") == "Ignore",
        timeout=webhook.get("timeoutSeconds") or 10,
        reinvoke=webhook.get("reinvocationPolicy") == "IfNeeded",
        supports_dry_run=webhook.get("sideEffects") in ("None", "NoneOnDryRun"),
        review_versions=tuple(webhook.get("admissionReviewVersions") or ()),
        url=client.get("url") or "",
        service=client.get("service"),
        ca_bundle=base64.b64decode(client.get("caBundle") or ""),
    )


class WebhookSource:
    """The webhooks of one kind of configuration, parsed again whenever a configuration changes."""

    def __init__(self, core: Core, storage: str) -> None:
        self._collection: Collection = core.store.collection(storage)
        self._parsed: dict[str, tuple[int, tuple[Webhook, ...]]] = {}

    def webhooks(self) -> list[Webhook]:
        """Return the webhooks: configurations by name, webhooks in the order of each."""
        found: list[Webhook] = []
        for entry in self._collection.current(""):
            known = self._parsed.get(entry.key)
            if known is None or known[0] != entry.rv:
                webhooks = entry.decode().get("webhooks") or ()
                known = (entry.rv, tuple(map(from_object, webhooks)))
                self._parsed[entry.key] = known
            found += known[1]
        return found
