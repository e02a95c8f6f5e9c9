"""Requests that need objects of their own: statuses, collections, unusual hosts, dying seeds."""

from collections.abc import Mapping
from typing import Any, Final

from tests.behaviour.comparison.base_objects import (
    BACKUP,
    SEEDMANAGEMENT,
    Base,
    defaulted,
    managed_seed,
    profile,
    shoot,
    store_until_accepted,
)
from tests.behaviour.comparison.field_values import REMOVED, TEMPLATE, Edits
from tests.behaviour.comparison.seed_changes import CONFIRMED
from tests.behaviour.comparison.verdicts import GardenerApi
from tests.support.garden_cluster import make_seed
from webhook.dev.planes.gardenmanifests import CORE, project
from webhook.kube.meta import Draft

CALM: Final = "garden-calm"
_IDENTITIES: Final = "security.gardener.cloud/v1alpha1"
_SETS: Final = f"/apis/{SEEDMANAGEMENT}/namespaces/garden/managedseedsets"
_MANAGED: Final = f"/apis/{SEEDMANAGEMENT}/namespaces/garden/managedseeds"
_HINTS: Final = {"featureGates": {"TopologyAwareHints": False}}
_PENDING: Final = {"name": "reported-2", "reason": "SeedNotReady", "since": "2026-01-01T00:00:00Z"}


def _identity(name: str) -> Draft:
    return {
        "apiVersion": _IDENTITIES,
        "kind": "WorkloadIdentity",
        "name": name,
        "namespace": "garden",
    }


EDGE_CASES: Final[Mapping[str, Edits]] = {
    "odd hosts": {"spec.shoot.name": ("ingress", "idle", "elder", "fresh")},
    "elder": {
        f"{TEMPLATE}.spec.settings.topologyAwareRouting": ({"enabled": True}, {"enabled": False})
    },
    "identified": {"spec.backup.credentialsRef": (_identity("known"), _identity("strange"))},
    "stranded": {
        "spec.purpose": ("testing",),
        "metadata.labels": ({"a": "c"},),
        "metadata.annotations[a]": ("b",),
        "metadata.annotations[confirmation.gardener.cloud/deletion]": ("true",),
    },
    "reported seed": {
        "status.clusterIdentity": ("other", REMOVED),
        "status.kubernetesVersion": ("1.34.0",),
    },
    "reported managed seed": {"status.observedGeneration": (-1, 0, 5)},
    "reported set": {
        "status.observedGeneration": (-1, 5),
        "status.replicas": (-1, 1, 2, 3),
        "status.readyReplicas": (-1, 2, 3),
        "status.currentReplicas": (-1, 2, 3),
        "status.updatedReplicas": (-1, 2, 3),
        "status.nextReplicaNumber": (-1, 2, 3, 4),
        "status.collisionCount": (-1, 0, 1, 2, REMOVED),
        "status.pendingReplica": (
            _PENDING,
            {**_PENDING, "name": "other-2"},
            {**_PENDING, "name": "reported"},
            {**_PENDING, "reason": "Tired"},
            {**_PENDING, "reason": ""},
            {**_PENDING, "retries": 0},
            {**_PENDING, "retries": -1},
        ),
    },
}
"""The changes to each of these bases."""


async def create_edge_cases(garden: GardenerApi) -> list[Base]:
    """Store the objects of these requests, and return their bases."""
    for body in (*_hosts(), *_identities(), *_calm()):
        await store_until_accepted(garden, body)
    stored = await store_until_accepted(garden, make_seed("backed", "abc", backup=BACKUP))
    odd = await defaulted(garden, managed_seed("fresh"))
    elder = await defaulted(garden, managed_seed("elder"))
    return [
        Base("odd hosts", odd, is_whole=False),
        Base("elder", elder, is_whole=False),
        Base("identified", stored, stored, is_whole=False),
        await _stranded(garden),
        *await _with_known_status(garden),
        *await _collections(garden),
    ]


def _hosts() -> list[Draft]:
    """Shoots that cannot become seeds, each for a different reason."""
    scaled: Draft = {"version": "1.34.3", "verticalPodAutoscaler": {"enabled": True}}
    addons = {"nginxIngress": {"enabled": True}}
    ingress = shoot("ingress", "garden", seedName="home", kubernetes=scaled, addons=addons)
    idle = shoot("idle", "garden", seedName="home", provider={"type": "local"})
    idle["spec"]["networking"] = {"services": "10.12.0.0/16"}
    del idle["spec"]["credentialsBindingName"]
    old = profile("elder")
    old["spec"]["kubernetes"]["versions"] = [{"version": "1.32.9"}]
    gates: Draft = {"kubeAPIServer": _HINTS, "kubeControllerManager": _HINTS, "kubeProxy": _HINTS}
    elder = shoot(
        *("elder", "garden"),
        seedName="home",
        cloudProfile={"kind": "CloudProfile", "name": "elder"},
        kubernetes={**scaled, **gates, "version": "1.32.9"},
    )
    return [old, ingress, idle, elder]


def _identities() -> list[Draft]:
    return [
        {
            "apiVersion": _IDENTITIES,
            "kind": "WorkloadIdentity",
            "metadata": {"name": name, "namespace": "garden"},
            "spec": {"audiences": ["tests"], "targetSystem": {"type": known_to}},
        }
        for name, known_to in (("known", "local"), ("strange", "aws"))
    ]


def _calm() -> list[Draft]:
    """A project whose shoots may all be deleted."""
    lonely = shoot("lonely", CALM, credentialsBindingName="calm")
    lonely["metadata"] |= CONFIRMED
    return [*(dict(each) for each in project("calm", CALM)), lonely]


async def _stranded(garden: GardenerApi) -> Base:
    """A shoot whose seed is being deleted, which Gardener does not allow to happen."""
    await store_until_accepted(garden, make_seed("doomed", "abc", backup=BACKUP))
    await store_until_accepted(garden, shoot("stranded", seedName="doomed"))
    await garden.mark_deleted(f"/apis/{CORE}/seeds/doomed", "/seeds/doomed")
    found = await garden.get(f"/apis/{CORE}/namespaces/garden-local/shoots/stranded")
    return Base("stranded", found, found, is_whole=False)


async def _with_known_status(garden: GardenerApi) -> list[Base]:
    """Objects with a status that requests change."""
    await store_until_accepted(garden, make_seed("reported", "abc"))
    template = fresh_set(await garden.get(f"{_SETS}/kept"), "reported")
    await store_until_accepted(garden, template)
    statuses: list[tuple[str, str, Draft]] = [
        ("reported seed", f"/apis/{CORE}/seeds/reported", {"clusterIdentity": "reported"}),
        ("reported managed seed", f"{_MANAGED}/quiet", {"observedGeneration": 1}),
        (
            "reported set",
            f"{_SETS}/reported",
            {"replicas": 2, "nextReplicaNumber": 3, "collisionCount": 1},
        ),
    ]
    found = []
    for name, path, status in statuses:
        body = await garden.get(path)
        body["status"] = {**body.get("status", {}), **status}
        reply = await garden.write(body, is_new=False, sub="status", dry_run=False)
        assert reply.status == 200, reply.body
        reported = reply.body
        found.append(Base(name, reported, reported, is_whole=False, subresource="status"))
    return found


def fresh_set(body: Draft, name: str) -> Draft:
    """Return the same set under another name."""
    metadata: dict[str, Any] = {"name": name, "namespace": body["metadata"]["namespace"]}
    return {**{key: body[key] for key in ("apiVersion", "kind", "spec")}, "metadata": metadata}


async def _collections(garden: GardenerApi) -> list[Base]:
    """One object of each kind, for requests that delete all of its kind in the namespace."""
    paths = {
        "seeds": f"/apis/{CORE}/seeds/home",
        "managed seeds": f"{_MANAGED}/quiet",
        "sets": f"{_SETS}/kept",
        "shoots of the garden": f"/apis/{CORE}/namespaces/garden/shoots/host",
        "shoots of a project": f"/apis/{CORE}/namespaces/garden-local/shoots/stored",
        "shoots that may go": f"/apis/{CORE}/namespaces/{CALM}/shoots/lonely",
    }
    found = [(name, await garden.get(path)) for name, path in paths.items()]
    return [Base(name, body, body, is_deletion=True, is_collection=True) for name, body in found]
