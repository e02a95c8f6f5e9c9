"""The credentials of a managed seed: copies of its Shoot's Secrets, owned by the ManagedSeed."""

import base64
import binascii
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from webhook.api import names
from webhook.api.core import Secret
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.projects import CredentialsBinding, SecretBinding
from webhook.api.seeds import SeedSpec
from webhook.api.shoots import Shoot
from webhook.controllers.managedseed.seed_manifest import MANAGER
from webhook.kube.meta import Draft, ObjectKey
from webhook.runtime.actions import Action, Apply, Delete
from webhook.state.snapshot import Snapshot

KUBECONFIG: Final = "kubeconfig"
_KIND: Final = kind_of_model(Secret)
_OWNER: Final = kind_of_model(ManagedSeed)
_SECRET: Final = "Secret"  # noqa: S105 - the name of a kind


class Copy(NamedTuple):
    """A Secret that a seed refers to, and the Secret that it is copied from."""

    target: ObjectKey
    source: ObjectKey | None
    only: str = ""
    """The only key that is copied; all keys if empty."""


def kubeconfig_key(managed_seed: ManagedSeed, shoot: Shoot) -> ObjectKey:
    """Return the key of the Secret with a Shoot's kubeconfig."""
    return ObjectKey(managed_seed.namespace, f"{shoot.name}.{KUBECONFIG}")


def read_kubeconfig(secret: Secret | None) -> str | None:
    """Read the kubeconfig from its Secret; None if there is none or it cannot be decoded."""
    try:
        data = secret.data.get(KUBECONFIG, "") if secret is not None else ""
        return base64.b64decode(data, validate=True).decode() or None
    except (binascii.Error, UnicodeDecodeError):
        return None


def copies(
    managed_seed: ManagedSeed, spec: SeedSpec, shoot: Shoot, snapshot: Snapshot
) -> Iterator[Copy]:
    """List the Secrets that a Seed refers to and that can be copied from its Shoot."""
    if spec.secret_ref is not None and spec.secret_ref.name:
        target = _key(managed_seed, spec.secret_ref.namespace, spec.secret_ref.name)
        yield Copy(target, kubeconfig_key(managed_seed, shoot), KUBECONFIG)
    backup = spec.backup
    if backup is None or backup.provider not in ("", shoot.spec.provider.type):
        return
    credentials = backup_key(managed_seed, spec)
    if credentials is not None:
        yield Copy(credentials, _credentials(shoot, snapshot))


def backup_key(managed_seed: ManagedSeed, spec: SeedSpec) -> ObjectKey | None:
    """Return the key of a seed's backup credentials; None if they are not in a Secret."""
    backup = spec.backup
    reference = (backup.secret_ref or backup.credentials_ref) if backup is not None else None
    kind = getattr(reference, "kind", _SECRET)
    if reference is None or not reference.name or kind not in ("", _SECRET):
        return None
    return _key(managed_seed, reference.namespace, reference.name)


def write(copy: Copy, managed_seed: ManagedSeed, snapshot: Snapshot) -> Iterator[Action]:
    """Update a copy; a Secret of another owner is used as it is."""
    source = snapshot.look_up(Secret, copy.source) if copy.source is not None else None
    target = snapshot.look_up(Secret, copy.target)
    if source is None or (target is not None and not is_ours(target, managed_seed)):
        return
    data = source.data
    if copy.only:
        data = {key: value for key, value in data.items() if key == copy.only}
    if target is None or dict(target.data) != dict(data):
        yield _apply(copy.target, data, managed_seed)


def remove(target: ObjectKey, managed_seed: ManagedSeed, snapshot: Snapshot) -> Iterator[Action]:
    """Delete a copy, unless it has another owner."""
    found = snapshot.look_up(Secret, target)
    if found is not None and is_ours(found, managed_seed):
        yield Delete(_KIND, target, found.uid)


def is_ours(secret: Secret, managed_seed: ManagedSeed) -> bool:
    """Return whether a Secret is owned by a ManagedSeed; in other namespaces by its annotation."""
    if secret.metadata.annotations.get(names.MANAGED_SEED) == str(managed_seed.key):
        return True
    return any(each.uid == managed_seed.uid for each in secret.metadata.owner_references)


def _key(managed_seed: ManagedSeed, namespace: str, name: str) -> ObjectKey:
    return ObjectKey(namespace or managed_seed.namespace, name)


def _credentials(shoot: Shoot, snapshot: Snapshot) -> ObjectKey | None:
    """Find the Secret with a Shoot's infrastructure credentials."""
    spec = shoot.spec
    if spec.credentials_binding_name:
        key = ObjectKey(shoot.namespace, spec.credentials_binding_name)
        bound = snapshot.get(CredentialsBinding, key)
        reference = bound.credentials_ref if bound is not None else None
        if reference is None or reference.kind != _SECRET:
            return None
        return ObjectKey(reference.namespace or shoot.namespace, reference.name)
    binding = snapshot.get(SecretBinding, ObjectKey(shoot.namespace, spec.secret_binding_name))
    if binding is None:
        return None
    return ObjectKey(binding.secret_ref.namespace or shoot.namespace, binding.secret_ref.name)


def _apply(key: ObjectKey, data: Mapping[str, str], managed_seed: ManagedSeed) -> Apply:
    metadata: Draft = {"name": key.name, "namespace": key.namespace}
    metadata["annotations"] = {names.MANAGED_SEED: str(managed_seed.key)}
    owner = {
        "apiVersion": _OWNER.api_version,
        "kind": _OWNER.name,
        "name": managed_seed.name,
        "uid": managed_seed.uid,
    }
    if key.namespace == managed_seed.namespace:
        metadata["ownerReferences"] = [owner]
    body = {
        "apiVersion": _KIND.api_version,
        "kind": _KIND.name,
        "metadata": metadata,
        "type": "Opaque",
        "data": dict(data),
    }
    return Apply(_KIND, key, body, manager=MANAGER)
