"""Requests that need a stage of their own: statuses, collections, odd hosts and doomed seeds."""

from collections.abc import Mapping
from typing import Any, Final

from tests.behaviour.bases import (
    BACKUP,
    SEEDMANAGEMENT,
    Base,
    defaulted,
    insist,
    managed_seed,
    profile,
    shoot,
)
from tests.behaviour.edits import REMOVED, TEMPLATE, Edits
from tests.behaviour.judges import Garden
from tests.behaviour.moves import CONFIRMED
from tests.gardening import make_seed
from webhook.api.meta import Draft
from webhook.planes.registration import CORE, project

CALM: Final = "garden-calm"
_IDENTITIES: Final = "security.gardener.cloud/v1alpha1"
_SETS: Final = f"/apis/{SEEDMANAGEMENT}/namespaces/garden/managedseedsets"
_MANAGED: Final = f"/apis/{SEEDMANAGEMENT}/namespaces/garden/managedseeds"
_HINTS: Final = {"featureGates": {"TopologyAwareHints": False}}
_PENDING: Final = {"name": "told-2", "reason": "SeedNotReady", "since": "2026-01-01T00:00:00Z"}


def _identity(name: str) -> Draft:
    return {
        "apiVersion": _IDENTITIES,
        "kind": "WorkloadIdentity",
        "name": name,
        "namespace": "garden",
    }


CORNERS: Final[Mapping[str, Edits]] = {
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
    "told seed": {
        "status.clusterIdentity": ("other", REMOVED),
        "status.kubernetesVersion": ("1.34.0",),
    },
    "told managed seed": {"status.observedGeneration": (-1, 0, 5)},
    "told set": {
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
            {**_PENDING, "name": "told"},
            {**_PENDING, "reason": "Tired"},
            {**_PENDING, "reason": ""},
            {**_PENDING, "retries": 0},
            {**_PENDING, "retries": -1},
        ),
    },
}
"""What is changed in each of these."""


async def furnish_corners(garden: Garden) -> list[Base]:
    """Store what such requests are about, and give their bases."""
    for body in (*_hosts(), *_identities(), *_calm()):
        await insist(garden, body)
    stored = await insist(garden, make_seed("backed", "abc", backup=BACKUP))
    odd = await defaulted(garden, managed_seed("fresh"))
    elder = await defaulted(garden, managed_seed("elder"))
    return [
        Base("odd hosts", odd, is_whole=False),
        Base("elder", elder, is_whole=False),
        Base("identified", stored, stored, is_whole=False),
        await _stranded(garden),
        *await _told(garden),
        *await _collections(garden),
    ]


def _hosts() -> list[Draft]:
    """Shoots that no seed can be made of, each for a reason of its own."""
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
    """A project whose shoots may all go."""
    lonely = shoot("lonely", CALM, credentialsBindingName="calm")
    lonely["metadata"] |= CONFIRMED
    return [*(dict(each) for each in project("calm", CALM)), lonely]


async def _stranded(garden: Garden) -> Base:
    """A shoot whose seed is being deleted, which Gardener would never let begin."""
    await insist(garden, make_seed("doomed", "abc", backup=BACKUP))
    await insist(garden, shoot("stranded", seedName="doomed"))
    await garden.send_off(f"/apis/{CORE}/seeds/doomed", "/seeds/doomed")
    found = await garden.get(f"/apis/{CORE}/namespaces/garden-local/shoots/stranded")
    return Base("stranded", found, found, is_whole=False)


async def _told(garden: Garden) -> list[Base]:
    """Objects of which something is known, to be told otherwise."""
    await insist(garden, make_seed("told", "abc"))
    template = fresh_set(await garden.get(f"{_SETS}/kept"), "told")
    await insist(garden, template)
    statuses: list[tuple[str, str, Draft]] = [
        ("told seed", f"/apis/{CORE}/seeds/told", {"clusterIdentity": "told"}),
        ("told managed seed", f"{_MANAGED}/quiet", {"observedGeneration": 1}),
        (
            "told set",
            f"{_SETS}/told",
            {"replicas": 2, "nextReplicaNumber": 3, "collisionCount": 1},
        ),
    ]
    found = []
    for name, path, status in statuses:
        body = await garden.get(path)
        body["status"] = {**body.get("status", {}), **status}
        reply = await garden.write(body, is_new=False, sub="status", dry_run=False)
        assert reply.status == 200, reply.body
        told = reply.body
        found.append(Base(name, told, told, is_whole=False, subresource="status"))
    return found


def fresh_set(body: Draft, name: str) -> Draft:
    """Give the same set under another name."""
    metadata: dict[str, Any] = {"name": name, "namespace": body["metadata"]["namespace"]}
    return {**{key: body[key] for key in ("apiVersion", "kind", "spec")}, "metadata": metadata}


async def _collections(garden: Garden) -> list[Base]:
    """One of each kind, with whom all in its namespace shall go."""
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
