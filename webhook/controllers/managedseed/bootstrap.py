"""How a gardenlet first reaches the garden: a bootstrap token, a ServiceAccount, or nothing."""

import base64
import hashlib
import hmac
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

import msgspec

from webhook.api.core import Secret, ServiceAccount
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Draft, Object, ObjectKey
from webhook.api.timestamps import format_time
from webhook.controllers.managedseed.seed import MANAGER
from webhook.runtime.actions import Action, Apply, Create, Delete
from webhook.state.snapshot import Snapshot

TOKEN: Final = "BootstrapToken"  # noqa: S105 - the name of a mechanism
SERVICE_ACCOUNT: Final = "ServiceAccount"

_SECRET: Final = kind_of_model(Secret)
_ACCOUNT: Final = kind_of_model(ServiceAccount)
_VALID: Final = timedelta(hours=24)
_SYSTEM: Final = "kube-system"
_BOOTSTRAPPERS: Final = "system:bootstrappers"
_ROLE: Final = "gardener.cloud:system:seed-bootstrapper"
CLUSTER_ROLE_BINDING: Final = Kind(
    group="rbac.authorization.k8s.io",
    version="v1",
    name="ClusterRoleBinding",
    plural="clusterrolebindings",
    model=Object,
    origin="kubernetes",
    namespaced=False,
    status=False,
)


class Contact(NamedTuple):
    """What has to be written into the garden, and the kubeconfig that then works."""

    actions: Sequence[Action] = ()
    kubeconfig: str | None = None
    waits_for: str = ""
    """What is still missing before there is a kubeconfig."""


def prepare(managed_seed: ManagedSeed, kubeconfig: str, snapshot: Snapshot) -> Contact:
    """Prepare a gardenlet's first contact with the garden as its ManagedSeed asks for it."""
    gardenlet = managed_seed.spec.gardenlet
    mechanism = (gardenlet.bootstrap if gardenlet is not None else None) or TOKEN
    if mechanism not in (TOKEN, SERVICE_ACCOUNT):
        return Contact()
    server, authority = snapshot.options.seeds.garden_server, snapshot.options.seeds.garden_ca
    if not server:
        return Contact(waits_for="the garden's address is not set (seeds.gardenServer)")
    if mechanism == TOKEN:
        actions, token = _token(managed_seed, kubeconfig, snapshot)
    else:
        actions, token = _account(managed_seed, snapshot)
    if not token:
        return Contact(actions, waits_for="the token of the bootstrap ServiceAccount")
    return Contact(actions, _kubeconfig(server, authority, token))


def removals(managed_seed: ManagedSeed) -> Iterator[Delete]:
    """Take a bootstrap ServiceAccount back; bootstrap tokens expire by themselves."""
    gardenlet = managed_seed.spec.gardenlet
    if gardenlet is None or gardenlet.bootstrap != SERVICE_ACCOUNT:
        return
    key = _account_key(managed_seed)
    yield Delete(CLUSTER_ROLE_BINDING, ObjectKey("", key.name), "")
    yield Delete(_SECRET, key, "")
    yield Delete(_ACCOUNT, key, "")


def _account_key(managed_seed: ManagedSeed) -> ObjectKey:
    return ObjectKey(managed_seed.namespace, f"gardenlet-bootstrap-{managed_seed.name}")


def _token(
    managed_seed: ManagedSeed, kubeconfig: str, snapshot: Snapshot
) -> tuple[Sequence[Action], str]:
    """Make a bootstrap token that is the same each time and that nobody can guess.

    It is derived from the Shoot's kubeconfig: whoever has that could take the seed over anyway.
    """
    digest = hmac.new(kubeconfig.encode(), managed_seed.uid.encode(), hashlib.sha256).hexdigest()
    identity, secret = digest[:6], digest[6:22]
    key = ObjectKey(_SYSTEM, f"bootstrap-token-{identity}")
    if snapshot.look_up(Secret, key) is not None:
        return (), f"{identity}.{secret}"
    data = {
        "token-id": identity,
        "token-secret": secret,
        "description": f"first contact of the gardenlet of ManagedSeed {managed_seed.key}",
        "expiration": format_time(snapshot.taken_at + _VALID),
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


def _account(managed_seed: ManagedSeed, snapshot: Snapshot) -> tuple[Sequence[Action], str]:
    """Make a ServiceAccount whose token the cluster issues, and wait for that token."""
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
    """Write an object of a ManagedSeed by server-side apply."""
    whole = {"apiVersion": kind.api_version, "kind": kind.name, **body}
    return Apply(kind, key, whole, force=force, manager=MANAGER)


def encode(text: str) -> str:
    """Write a value as Secrets hold it."""
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
