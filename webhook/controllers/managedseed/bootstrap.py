"""The first access of a gardenlet to the garden: a bootstrap token or a ServiceAccount.

A gardenlet needs it once: it requests a certificate with it, and keeps its own kubeconfig in a
Secret of its cluster. While that Secret exists there is no bootstrap.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import msgspec

from webhook.api import names
from webhook.api.core import Secret, ServiceAccount
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.controllers.managedseed.seed_manifest import MANAGER
from webhook.controllers.managedseed.shoot_kinds import CLUSTER_ROLE_BINDING
from webhook.kube.meta import Draft, Object, ObjectKey
from webhook.kube.timestamps import TimestampError, format_time, parse_time
from webhook.runtime.actions import Action, Apply, Create, Delete, Patch
from webhook.state.snapshot import Snapshot

TOKEN: Final = "BootstrapToken"  # noqa: S105 - the name of a mechanism
SERVICE_ACCOUNT: Final = "ServiceAccount"

_SECRET: Final = kind_of_model(Secret)
_ACCOUNT: Final = kind_of_model(ServiceAccount)
_VALID: Final = timedelta(hours=24)
_SYSTEM: Final = "kube-system"
_BOOTSTRAPPERS: Final = "system:bootstrappers"
_ROLE: Final = "gardener.cloud:system:seed-bootstrapper"


class BootstrapAccess(NamedTuple):
    """What has to be written into the garden, and the kubeconfig that works afterwards."""

    actions: Sequence[Action] = ()
    kubeconfig: str | None = None
    waits_for: str = ""
    """What is missing before there is a kubeconfig."""


def is_enabled(managed_seed: ManagedSeed) -> bool:
    """Return whether a gardenlet gets its kubeconfig by a bootstrap."""
    return _mechanism(managed_seed) in (TOKEN, SERVICE_ACCOUNT)


def must_renew(managed_seed: ManagedSeed, seed: Seed | None, own: Object, now: datetime) -> bool:
    """Return whether a gardenlet must replace its own kubeconfig, which is in the Secret `own`.

    A Secret that is younger than the end of the certificate in the Seed's status has a new one.
    """
    operation = managed_seed.metadata.annotations.get(names.OPERATION)
    if operation == names.OPERATION_RENEW_KUBECONFIG:
        return True
    expires = _time(seed.status.client_certificate_expiration_timestamp if seed else None)
    created = _time(own.metadata.creation_timestamp)
    return expires is not None and expires < now and (created is None or created < expires)


def prepare(managed_seed: ManagedSeed, kubeconfig: str, snapshot: Snapshot) -> BootstrapAccess:
    """Prepare a gardenlet's first access to the garden by the mechanism of its ManagedSeed."""
    server, authority = snapshot.options.seeds.garden_server, snapshot.options.seeds.garden_ca
    if not server:
        return BootstrapAccess(waits_for="the garden's address is not set (seeds.gardenServer)")
    if _mechanism(managed_seed) == TOKEN:
        actions, token = _token(managed_seed, kubeconfig, snapshot)
    else:
        actions, token = _account(managed_seed, snapshot)
    if not token:
        return BootstrapAccess(actions, waits_for="the token of the bootstrap ServiceAccount")
    return BootstrapAccess(actions, _kubeconfig(server, authority, token))


def removals(managed_seed: ManagedSeed) -> Iterator[Delete]:
    """Delete a bootstrap ServiceAccount; bootstrap tokens expire."""
    if managed_seed.spec.gardenlet is None or _mechanism(managed_seed) != SERVICE_ACCOUNT:
        return
    key = _account_key(managed_seed)
    yield Delete(CLUSTER_ROLE_BINDING, ObjectKey("", key.name), "")
    yield Delete(_SECRET, key, "")
    yield Delete(_ACCOUNT, key, "")


def _mechanism(managed_seed: ManagedSeed) -> str:
    gardenlet = managed_seed.spec.gardenlet
    return (gardenlet.bootstrap if gardenlet is not None else None) or TOKEN


def _account_key(managed_seed: ManagedSeed) -> ObjectKey:
    return ObjectKey(managed_seed.namespace, f"gardenlet-bootstrap-{managed_seed.name}")


def _token(
    managed_seed: ManagedSeed, kubeconfig: str, snapshot: Snapshot
) -> tuple[Sequence[Action], str]:
    """Create a bootstrap token that is the same each time and cannot be guessed, or prolong it.

    It is derived from the Shoot's kubeconfig, which gives full access to the seed anyway.
    """
    digest = hmac.new(kubeconfig.encode(), managed_seed.uid.encode(), hashlib.sha256).hexdigest()
    identity, secret = digest[:6], digest[6:22]
    key = ObjectKey(_SYSTEM, f"bootstrap-token-{identity}")
    expiration = format_time(snapshot.taken_at + _VALID)
    found = snapshot.look_up(Secret, key)
    if found is not None:
        change = {"data": {"expiration": encode(expiration)}}
        prolong = Patch(_SECRET, key, change, found.uid, found.resource_version)
        is_expired = _has_expired(found, snapshot.taken_at)
        return (prolong,) if is_expired else (), f"{identity}.{secret}"
    data = {
        "token-id": identity,
        "token-secret": secret,
        "description": f"first contact of the gardenlet of ManagedSeed {managed_seed.key}",
        "expiration": expiration,
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": f"{_BOOTSTRAPPERS}:gardenlet",
    }
    body = {
        "metadata": {"name": key.name, "namespace": key.namespace},
        "type": "bootstrap.kubernetes.io/token",
        "data": {name: encode(value) for name, value in data.items()},
    }
    return (Create(_SECRET, body),), f"{identity}.{secret}"


def _has_expired(token: Secret, now: datetime) -> bool:
    """Return whether a token has expired; not every cluster deletes those that have."""
    try:
        text = base64.b64decode(token.data.get("expiration", ""), validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return True
    expiration = _time(text)
    return expiration is None or expiration < now


def _time(text: str | None) -> datetime | None:
    try:
        return parse_time(text or "")
    except TimestampError:
        return None


def _account(managed_seed: ManagedSeed, snapshot: Snapshot) -> tuple[Sequence[Action], str]:
    """Create a ServiceAccount and wait for the token that the cluster issues for it."""
    key = _account_key(managed_seed)
    found = snapshot.look_up(Secret, key)
    token = found.data.get("token", "") if found is not None else ""
    if token:
        return (), base64.b64decode(token).decode()
    metadata = {"name": key.name, "namespace": key.namespace}
    subject = {"kind": "ServiceAccount", "name": key.name, "namespace": key.namespace}
    role = {"apiGroup": CLUSTER_ROLE_BINDING.group, "kind": "ClusterRole", "name": _ROLE}
    secret = {
        "metadata": {
            **metadata,
            "annotations": {"kubernetes.io/service-account.name": key.name},
        },
        "type": "kubernetes.io/service-account-token",
    }
    binding = {"metadata": {"name": key.name}, "roleRef": role, "subjects": [subject]}
    return (
        apply(_ACCOUNT, key, {"metadata": metadata}),
        apply(CLUSTER_ROLE_BINDING, ObjectKey("", key.name), binding),
        apply(_SECRET, key, secret),
    ), ""


def apply(kind: Kind, key: ObjectKey, body: Draft, *, force: bool = True) -> Apply:
    """Return the server-side apply of an object of a ManagedSeed."""
    whole = {"apiVersion": kind.api_version, "kind": kind.name, **body}
    return Apply(kind, key, whole, force=force, manager=MANAGER)


def encode(text: str) -> str:
    """Encode a value as Secrets hold it."""
    return base64.b64encode(text.encode()).decode()


def _kubeconfig(server: str, authority: str, token: str) -> str:
    cluster: dict[str, Any] = {"server": server}
    if authority:
        cluster["certificate-authority-data"] = encode(authority)
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "garden",
        "clusters": [{"name": "garden", "cluster": cluster}],
        "users": [{"name": "gardenlet", "user": {"token": token}}],
        "contexts": [{"name": "garden", "context": {"cluster": "garden", "user": "gardenlet"}}],
    }
    return msgspec.yaml.encode(document).decode()
