"""Patches that add a finalizer to an object or remove it."""

from webhook.api.kinds import Kind
from webhook.kube.meta import Object
from webhook.runtime.actions import Patch


def add_finalizer(kind: Kind, obj: Object, finalizer: str) -> Patch:
    """Add a finalizer, unless another writer changed the object meanwhile."""
    return _set(kind, obj, [*obj.metadata.finalizers, finalizer], obj.resource_version)


def remove_finalizer(
    kind: Kind, obj: Object, finalizer: str, *, any_version: bool = False
) -> Patch:
    """Remove a finalizer; `any_version` allows that the object has changed."""
    kept = [name for name in obj.metadata.finalizers if name != finalizer]
    return _set(kind, obj, kept, "" if any_version else obj.resource_version)


def _set(kind: Kind, obj: Object, finalizers: list[str], version: str) -> Patch:
    return Patch(kind, obj.key, {"metadata": {"finalizers": finalizers}}, obj.uid, version)
