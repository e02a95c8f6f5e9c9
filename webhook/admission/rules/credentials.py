"""References to credentials, as strict operators want them: complete, and to what has some."""

from collections.abc import Iterator
from typing import Final

from webhook.admission.decision import NOT_SUPPORTED, Finding
from webhook.api import identifiers
from webhook.api.meta import ObjectReference

_SUPPORTED: Final = {
    ("v1", "Secret"),
    ("security.gardener.cloud/v1alpha1", "WorkloadIdentity"),
}


def judge(reference: ObjectReference | None, base: str) -> Iterator[Finding]:
    """Refuse a reference with a part missing or malformed; one that is absent lacks them all."""
    found = reference or ObjectReference()
    for value, part in (
        (found.api_version, "apiVersion"),
        (found.kind, "kind"),
        (found.name, "name"),
        (found.namespace, "namespace"),
    ):
        if not value:
            yield Finding.required(f"{base}.{part}", "must not be empty")
    for value, part in ((found.name, "name"), (found.namespace, "namespace")):
        for error in identifiers.subdomain_errors(value) if value else ():
            yield Finding.invalid(f"{base}.{part}", value, error)
    if (found.api_version, found.kind) not in _SUPPORTED:
        written = f"{found.api_version}/{found.kind}"
        yield Finding(base, "name a Secret or a WorkloadIdentity", NOT_SUPPORTED, written)
