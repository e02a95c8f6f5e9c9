"""seed.spec: the spec of a seed is valid, and immutable fields stay."""

from collections.abc import Iterator
from typing import Final

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import hosted_shoots, operations, seed_spec
from webhook.admission.rules.seed_spec import SeedValidationOptions
from webhook.api import names
from webhook.api.projects import WorkloadIdentity
from webhook.api.seeds import Seed, SeedBackup
from webhook.kube import identifiers
from webhook.kube.meta import ObjectKey
from webhook.state.snapshot import Snapshot

_OPERATIONS: Final = (
    "renew-garden-access-secrets",
    "reconcile",
    "renew-kubeconfig",
    "renew-workload-identity-tokens",
)


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Validate the spec, and on update the fields that must not change."""
    seed, old = request.object_as(Seed), request.old_as(Seed)
    options = SeedValidationOptions(is_strict=snapshot.options.admission.strict_seeds)
    for error in identifiers.dns1123_label_errors(request.key.name) if old is None else ():
        yield Finding.invalid("metadata.name", request.key.name, error)
    yield from operations.validate(seed.metadata, old.metadata if old else None, _OPERATIONS)
    yield from seed_spec.validate(seed.spec, "spec", options)
    yield from _validate_identity(seed.spec.backup, snapshot)
    if old is not None:
        yield from seed_spec.validate_update(old.spec, seed.spec, "spec")
        yield from _validate_update(old, seed, snapshot)


def _validate_identity(backup: SeedBackup | None, snapshot: Snapshot) -> Iterator[Finding]:
    """Reject a WorkloadIdentity of another provider; only Gardener serves the kind."""
    reference = backup.credentials_ref if backup is not None else None
    if backup is None or reference is None or reference.kind != WorkloadIdentity.__name__:
        return
    if snapshot.watches(WorkloadIdentity):
        key = ObjectKey(reference.namespace, reference.name)
        identity = snapshot.get(WorkloadIdentity, key)
        if identity is not None and identity.spec.target_system.type != backup.provider:
            yield Finding.denied(
                f"WorkloadIdentity {key} is for {identity.spec.target_system.type}, "
                f"but the provider of the backups is {backup.provider}",
                "spec.backup.credentialsRef",
            )


def _validate_update(old: Seed, new: Seed, snapshot: Snapshot) -> Iterator[Finding]:
    label = names.SELF_HOSTED_SHOOT
    if label in old.metadata.labels and label not in new.metadata.labels:
        yield Finding.denied("cannot be removed, put it back", f"metadata.labels[{label}]")
    yield from hosted_shoots.validate_domains(
        old.spec.dns, new.spec.dns, new.name, "spec.dns", snapshot
    )
