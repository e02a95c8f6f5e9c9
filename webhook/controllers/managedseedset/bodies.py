"""The objects of a replica, as a revision of the set's templates asks for them."""

from typing import Any, Final

from webhook.api import names
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Draft, ObjectKey, Raw
from webhook.api.shoots import Shoot
from webhook.controllers.managedseedset.revisions import owner_reference
from webhook.domain import rollout
from webhook.runtime.actions import Apply

MANAGER: Final = "espalier-managedseedset"
"""The field manager of replicas: what a revision drops goes, what others own stays."""

SHOOT: Final = kind_of_model(Shoot)
MANAGED_SEED: Final = kind_of_model(ManagedSeed)


def shoot(owner: ManagedSeedSet, name: str, revision: str, data: Raw, *, new: bool) -> Apply:
    """Write a replica's Shoot."""
    template = rollout.fill_in(_template(data, "shootTemplate"), name)
    return _apply(SHOOT, owner, name, revision, template, new=new)


def managed_seed(owner: ManagedSeedSet, name: str, revision: str, data: Raw, *, new: bool) -> Apply:
    """Write a replica's ManagedSeed, which registers the Shoot of the same name."""
    template = rollout.fill_in(_template(data, "template"), name)
    template["spec"] = {**(template.get("spec") or {}), "shoot": {"name": name}}
    return _apply(MANAGED_SEED, owner, name, revision, template, new=new)


def _template(data: Raw, name: str) -> Any:
    return (data.get("spec") or {}).get(name) or {}


def _apply(
    kind: Kind, owner: ManagedSeedSet, name: str, revision: str, template: Draft, *, new: bool
) -> Apply:
    given = template.get("metadata") or {}
    metadata: Draft = {
        "name": name,
        "namespace": owner.namespace,
        "labels": {**(given.get("labels") or {}), names.CONTROLLER_REVISION_HASH: revision},
        "ownerReferences": [owner_reference(owner)],
    }
    if annotations := given.get("annotations"):
        metadata["annotations"] = annotations
    body = {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "metadata": metadata,
        "spec": template.get("spec") or {},
    }
    # A new replica takes nothing from an object that is there already and that we do not know of.
    key = ObjectKey(owner.namespace, name)
    return Apply(kind, key, body, force=not new, manager=MANAGER)
