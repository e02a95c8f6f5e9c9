"""The objects of a replica, rendered from a revision of the set's templates."""

from typing import Any, Final

from webhook.api import names
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.shoots import Shoot
from webhook.controllers.managedseedset.revisions import owner_reference
from webhook.domain.sets import rollout
from webhook.domain.sets.replicas import ReplicaObject
from webhook.kube.meta import Draft, ObjectKey, Raw
from webhook.runtime.actions import Apply, Patch

MANAGER: Final = "espalier-managedseedset"
"""The field manager of replicas: apply removes what a revision drops and keeps others' fields."""

SHOOT: Final = kind_of_model(Shoot)
MANAGED_SEED: Final = kind_of_model(ManagedSeed)


def shoot(owner: ManagedSeedSet, name: str, revision: str, data: Raw, *, new: bool) -> Apply:
    """Apply a replica's Shoot."""
    template = rollout.render_template(_template(data, "shootTemplate"), name)
    return _apply(SHOOT, owner, name, revision, template, new=new)


def managed_seed(owner: ManagedSeedSet, name: str, revision: str, data: Raw, *, new: bool) -> Apply:
    """Apply a replica's ManagedSeed, which registers the Shoot of the same name."""
    template = rollout.render_template(_template(data, "template"), name)
    template["spec"] = {**(template.get("spec") or {}), "shoot": {"name": name}}
    return _apply(MANAGED_SEED, owner, name, revision, template, new=new)


def patch_metadata(obj: ReplicaObject, metadata: Draft) -> Patch:
    """Patch the metadata of one of a replica's objects."""
    kind = SHOOT if isinstance(obj, Shoot) else MANAGED_SEED
    return Patch(kind, obj.key, {"metadata": metadata}, obj.uid, obj.resource_version)


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
    # Without force, a new replica conflicts with an object of its name that exists already.
    key = ObjectKey(owner.namespace, name)
    return Apply(kind, key, body, force=not new, manager=MANAGER)
