"""The configured webhooks, in the order in which they are called."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from webhook.api import selectors
from webhook.api.selectors import LabelSelector
from webhook.apiserver.collection import Collection
from webhook.apiserver.core import Core

MUTATING: Final = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
VALIDATING: Final = "validatingwebhookconfigurations.admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True, eq=False)
class Hook:
    """One webhook of a configuration; two are the same only if they are the same object."""

    name: str
    rules: tuple[Mapping[str, Any], ...]
    namespace_selector: LabelSelector
    object_selector: LabelSelector
    conditions: tuple[Mapping[str, Any], ...]
    equivalent: bool
    ignore_failure: bool
    timeout: int
    reinvoke: bool
    supports_dry_run: bool
    review_versions: tuple[str, ...]
    url: str
    service: Mapping[str, Any] | None
    ca_bundle: bytes


def from_object(webhook: Mapping[str, Any]) -> Hook:
    """Read one webhook; the API server has filled in and judged it before."""
    client = webhook["clientConfig"]
    return Hook(
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


class Hooks:
    """The webhooks of one kind of configuration, read again whenever a configuration changes."""

    def __init__(self, core: Core, storage: str) -> None:
        self._collection: Collection = core.store.collection(storage)
        self._read: dict[str, tuple[int, tuple[Hook, ...]]] = {}

    def all(self) -> list[Hook]:
        """List them: configurations by name, webhooks as they stand in each."""
        found: list[Hook] = []
        for entry in self._collection.current(""):
            known = self._read.get(entry.key)
            if known is None or known[0] != entry.rv:
                webhooks = entry.decode().get("webhooks") or ()
                known = (entry.rv, tuple(map(from_object, webhooks)))
                self._read[entry.key] = known
            found += known[1]
        return found
