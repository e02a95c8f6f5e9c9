"""seed.spec: a seed that can work, and keeps what it was built with."""

from collections.abc import Iterator
from typing import Final

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import in_use, operations, seed_spec
from webhook.admission.rules.seed_spec import Manner
from webhook.api import identifiers, names
from webhook.api.meta import ObjectKey
from webhook.api.projects import WorkloadIdentity
from webhook.api.seeds import Seed, SeedBackup
from webhook.state.snapshot import Snapshot

_OPERATIONS: Final = (
    "renew-garden-access-secrets",
    "reconcile",
    "renew-kubeconfig",
    "renew-workload-identity-tokens",
)


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Judge the spec, and on update also what may no longer change."""
    seed, old = request.object_as(Seed), request.old_as(Seed)
    manner = Manner(is_strict=snapshot.options.admission.strict_seeds)
    for error in identifiers.dns1123_label_errors(request.key.name) if old is None else ():
        yield Finding.invalid("metadata.name", request.key.name, error)
    yield from operations.judge(seed.metadata, old.metadata if old else None, _OPERATIONS)
    yield from seed_spec.judge(seed.spec, "spec", manner)
    yield from _identity(seed.spec.backup, snapshot)
    if old is not None:
        yield from seed_spec.judge_change(old.spec, seed.spec, "spec")
        yield from _kept(old, seed, snapshot)


def _identity(backup: SeedBackup | None, snapshot: Snapshot) -> Iterator[Finding]:
    """Refuse an identity that another provider knows; only a Gardener has any."""
    reference = backup.credentials_ref if backup is not None else None
    if backup is None or reference is None or reference.kind != WorkloadIdentity.__name__:
        return
    if snapshot.watches(WorkloadIdentity):
        key = ObjectKey(reference.namespace, reference.name)
        identity = snapshot.get(WorkloadIdentity, key)
        if identity is not None and identity.spec.target_system.type != backup.provider:
            yield Finding.denied(
                f"WorkloadIdentity {key} is known to {identity.spec.target_system.type}, the "
                f"backups are kept by {backup.provider}",
                "spec.backup.credentialsRef",
            )


def _kept(old: Seed, new: Seed, snapshot: Snapshot) -> Iterator[Finding]:
    label = names.SELF_HOSTED_SHOOT
    if label in old.metadata.labels and label not in new.metadata.labels:
        yield Finding.denied("cannot be removed, put it back", f"metadata.labels[{label}]")
    yield from in_use.domains(old.spec.dns, new.spec.dns, new.name, "spec.dns", snapshot)
