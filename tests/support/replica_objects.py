"""Builders of the replicas of the set `leaf` as Structs."""

from typing import Any

from tests.support.landscape_objects import make_seed, read
from tests.support.set_objects import LABELS, make_set
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.shoots import Shoot
from webhook.kube.meta import Draft

OURS = {"kind": "ManagedSeedSet", "name": "leaf", "uid": "set-uid", "controller": True}
THEIRS = {"kind": "ManagedSeedSet", "name": "leaf", "uid": "an-earlier-set", "controller": True}


def make_owner(**metadata: Any) -> ManagedSeedSet:
    body = make_set()
    body["metadata"] |= {"uid": "set-uid", **metadata}
    return read(ManagedSeedSet, body)


def make_metadata(name: str, owner: Draft | None, labels: Draft | None, **more: Any) -> Draft:
    return {
        "name": name,
        "namespace": "garden",
        "uid": f"uid-{name}",
        "labels": LABELS if labels is None else labels,
        "ownerReferences": [owner] if owner else [],
        **more,
    }


def make_shoot(
    name: str = "leaf-0", owner: Draft | None = OURS, labels: Draft | None = None, **more: Any
) -> Shoot:
    status = more.pop("status", {})
    return read(Shoot, {"metadata": make_metadata(name, owner, labels, **more), "status": status})


def make_managed_seed(
    name: str = "leaf-0", owner: Draft | None = OURS, labels: Draft | None = None, **more: Any
) -> ManagedSeed:
    status, shoot = more.pop("status", {}), more.pop("shoot", name)
    metadata = make_metadata(name, owner, labels, **more)
    return read(
        ManagedSeed, {"metadata": metadata, "spec": {"shoot": {"name": shoot}}, "status": status}
    )


def ready_seed() -> Any:
    seed = {"type": "SeedSystemComponentsHealthy", "status": "True"}
    found = make_seed("leaf-0")
    conditions = [*({"type": c.type, "status": c.status} for c in found.status.conditions), seed]
    return read(type(found), {"metadata": {"name": "leaf-0"}, "status": {"conditions": conditions}})
