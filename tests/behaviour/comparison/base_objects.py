"""A garden with an example for every rule, and the objects that requests start from."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.behaviour.comparison.field_values import pool
from tests.behaviour.comparison.verdicts import GardenerApi, fresh, open_garden, path_of
from tests.support.garden_cluster import make_seed
from webhook.dev.planes.gardener import PROJECT, PROJECT_NAMESPACE, Gardener
from webhook.dev.planes.gardenmanifests import CORE, DOMAIN, cloud_profile
from webhook.kube.meta import Draft

SEEDMANAGEMENT: Final = "seedmanagement.gardener.cloud/v1alpha1"
CREDENTIALS: Final = {"apiVersion": "v1", "kind": "Secret", "name": "dns", "namespace": "garden"}
BACKUP: Final = {"provider": "local", "region": "local", "credentialsRef": CREDENTIALS}
_LABELS: Final = {"set": "likeness"}


class Base(NamedTuple):
    """The start of a request: a new object, or a stored one."""

    name: str
    new: Draft
    old: Draft | None = None
    is_whole: bool = True
    """Whether every field is changed in turn, or only those of a rule."""
    subresource: str = ""
    is_deletion: bool = False
    is_collection: bool = False
    """Whether the request is about all objects of its kind in the namespace."""


@asynccontextmanager
async def open_fresh_garden(directory: Path) -> AsyncIterator[GardenerApi]:
    """Start gardener-apiserver without any controller or webhook."""
    plane = Gardener(directory, durable=False)
    idle = (plane.controller_manager, plane.gardener_controller_manager, plane.gardener_scheduler)
    plane.steps = [step for step in plane.steps if step not in idle]
    async with plane, open_garden(plane) as garden:
        yield garden


async def create_base_objects(garden: GardenerApi) -> list[Base]:
    """Store the objects that rules read, and return the bases."""
    project = await garden.get(f"/apis/{CORE}/projects/{PROJECT}")
    project["spec"]["tolerations"] = {"whitelist": [{"key": "welcome"}]}
    await garden.write(project, is_new=False, dry_run=False)
    for body in (profile(), _quota(), _binding(), *_seeds()):
        await store_until_accepted(garden, body)
    await _fill(garden, "full")
    for body in (shoot("neighbour", seedName="home"), *_garden_shoots()):
        await store_until_accepted(garden, body)
    hosted = shoot("guest", seedName="host")
    stored = [
        await store_until_accepted(garden, body)
        for body in (
            shoot("stored"),
            shoot("bound", seedName="home", controlPlane=tolerates("node")),
            shoot("zonal", seedName="home", controlPlane=tolerates("zone")),
            shoot("rationed", credentialsBindingName="rationed"),
            shoot("pinned", controlPlane={"zones": ["local-a"]}),
            make_seed("spare", "abc", backup=BACKUP, taints=[{"key": "a", "value": "b"}]),
            managed_seed("host"),
            _set("kept"),
        )
    ]
    unbound, bound, zonal, rationed, pinned, spare, managed, kept = stored
    await store_until_accepted(garden, hosted)
    new = [
        await defaulted(garden, body)
        for body in (
            shoot("new"),
            shoot("new", seedName="home"),
            shoot("new", credentialsBindingName="rationed"),
            make_seed("new", "abc", backup=BACKUP, taints=[{"key": "a", "value": "b"}]),
            make_seed("new"),
            managed_seed("fresh"),
            _set("new"),
        )
    ]
    home = await garden.get(f"/apis/{CORE}/seeds/home")
    registered = await garden.get(f"/apis/{CORE}/namespaces/garden/shoots/host")
    return [
        Base("shoot", new[0]),
        Base("shoot", unbound, unbound),
        Base("bound", bound, bound),
        Base("new bound", new[1], is_whole=False),
        Base("zonal", zonal, zonal, is_whole=False),
        Base("pinned", pinned, pinned, is_whole=False),
        Base("rationed", new[2], is_whole=False),
        Base("rationed", rationed, rationed, is_whole=False),
        Base("registered", registered, registered, is_whole=False),
        Base("seed", new[3]),
        Base("seed", spare, spare),
        Base("lone", new[4], is_whole=False),
        Base("used", home, home, is_whole=False),
        Base("managed seed", new[5]),
        Base("managed seed", managed, managed),
        Base("set", new[6]),
        Base("set", kept, kept),
    ]


async def store_until_accepted(garden: GardenerApi, body: Draft, *, dry_run: bool = False) -> Draft:
    """Store an object, again while Gardener's caches do not have what it refers to."""
    messages = ""
    try:
        async with asyncio.timeout(60):
            while True:
                reply = await garden.write(body, dry_run=dry_run)
                if reply.status == 201:
                    return reply.body
                messages = reply.body["message"]
                assert reply.status != 422, messages
                await asyncio.sleep(0.1)
    except TimeoutError:
        pytest.fail(f"Gardener does not take {body['kind']} {body['metadata']['name']}: {messages}")


async def defaulted(garden: GardenerApi, body: Draft) -> Draft:
    """Return a new object as Gardener would store it."""
    return fresh(await store_until_accepted(garden, body, dry_run=True))


async def _fill(garden: GardenerApi, name: str) -> None:
    body = make_seed(name)
    seed = await garden.get(f"{path_of(body)}/{name}")
    none = {"shoots": "0"}
    seed["status"] = {**seed.get("status", {}), "capacity": none, "allocatable": none}
    reply = await garden.write(seed, is_new=False, sub="status", dry_run=False)
    assert reply.status == 200, reply.body


def profile(name: str = "likeness") -> Draft:
    """A CloudProfile with something that each of its rules can refuse."""
    found: dict[str, Any] = dict(cloud_profile(name))
    spec = found["spec"]
    machine = {"cpu": "2", "gpu": "0", "memory": "8Gi"}
    spec["machineTypes"] = [
        {"name": "small", **machine},
        {"name": "large", **machine, "cpu": "8"},
        {"name": "scarce", **machine},
        {"name": "retired", **machine, "usable": False},
    ]
    spec["volumeTypes"] = [
        {"name": "standard", "class": "standard"},
        {"name": "fast", "class": "premium"},
        {"name": "rare", "class": "standard"},
        {"name": "withdrawn", "class": "standard", "usable": False},
    ]
    image = spec["machineImages"][0]
    image["versions"] = [{**image["versions"][0], "version": v} for v in ("1.0.0", "1.1.0")]
    lacks = {"unavailableMachineTypes": ["scarce"], "unavailableVolumeTypes": ["rare"]}
    spec["regions"][0]["zones"][0].update(lacks)
    spec["regions"].append({"name": "bare"})
    spec["limits"] = {"maxNodesTotal": 50}
    spec["controlPlane"] = {"allowZonePinning": True}
    return found


def _quota() -> Draft:
    return {
        "apiVersion": CORE,
        "kind": "Quota",
        "metadata": {"name": "ration", "namespace": PROJECT_NAMESPACE},
        "spec": {
            "scope": {"apiVersion": CORE, "kind": "Project"},
            "metrics": {"cpu": "20", "storage.standard": "1Ti", "loadbalancer": "2"},
            "clusterLifetimeDays": 30,
        },
    }


def _binding() -> Draft:
    secret = {"apiVersion": "v1", "kind": "Secret", "name": PROJECT, "namespace": PROJECT_NAMESPACE}
    return {
        "apiVersion": "security.gardener.cloud/v1alpha1",
        "kind": "CredentialsBinding",
        "metadata": {"name": "rationed", "namespace": PROJECT_NAMESPACE},
        "provider": {"type": "local"},
        "credentialsRef": secret,
        "quotas": [{"name": "ration", "namespace": PROJECT_NAMESPACE}],
    }


def _seeds() -> list[Draft]:
    dns = make_seed("x")["spec"]["dns"]
    default = {"type": "local", "domain": DOMAIN, "credentialsRef": CREDENTIALS}
    return [
        make_seed("home", "abc", backup=BACKUP, dns={**dns, "defaults": [default]}),
        make_seed("lone"),
        make_seed("tainted", "abc", taints=[{"key": "welcome"}]),
        make_seed("full", "abc"),
        make_seed("host", "abc"),
    ]


def tolerates(what: str) -> Draft:
    """The control plane of a shoot with a failure tolerance."""
    return {"highAvailability": {"failureTolerance": {"type": what}}}


def shoot(name: str, namespace: str = PROJECT_NAMESPACE, **spec: Any) -> Draft:
    """A Shoot with two pools, one of them without system components."""
    labels: dict[str, Any] = {"labels": {"a": "b"}, "annotations": {"c": "d"}}
    pools = [
        pool("one", "abc", 3, priority=5, **labels, taints=[{"key": "t", "effect": "NoSchedule"}]),
        pool("two", "ab", 2, allow=False),
    ]
    return {
        "apiVersion": CORE,
        "kind": "Shoot",
        "metadata": {"name": name, "namespace": namespace, "labels": {"a": "b"}},
        "spec": {
            "cloudProfile": {"kind": "CloudProfile", "name": "likeness"},
            "credentialsBindingName": PROJECT if namespace == PROJECT_NAMESPACE else namespace,
            "region": "local",
            "kubernetes": {"version": "1.34.3"},
            "networking": {
                "type": "calico",
                "nodes": "10.10.0.0/16",
                "pods": "10.11.0.0/16",
                "services": "10.12.0.0/16",
            },
            "provider": {"type": "local", "workers": pools},
            **spec,
        },
    }


def _garden_shoots() -> list[Draft]:
    autoscaled = {"version": "1.34.3", "verticalPodAutoscaler": {"enabled": True}}
    fit = {"seedName": "home", "kubernetes": autoscaled}
    unfit = {"version": "1.34.3", "verticalPodAutoscaler": {"enabled": False}}
    return [
        shoot("host", "garden", **fit),
        shoot("fresh", "garden", **fit),
        shoot("free", "garden", **fit),
        shoot("unfit", "garden", seedName="home", kubernetes=unfit),
    ]


def managed_seed(name: str) -> Draft:
    """A ManagedSeed with defaults for nearly everything."""
    internal = {"type": "local", "domain": "internal.test", "credentialsRef": CREDENTIALS}
    config = {
        "apiVersion": "gardenlet.config.gardener.cloud/v1alpha1",
        "kind": "GardenletConfiguration",
        "seedConfig": {"spec": {"dns": {"internal": internal}, "taints": [{"key": "a"}]}},
    }
    return {
        "apiVersion": SEEDMANAGEMENT,
        "kind": "ManagedSeed",
        "metadata": {"name": name, "namespace": "garden"},
        "spec": {"shoot": {"name": name}, "gardenlet": {"config": config}},
    }


def _set(name: str) -> Draft:
    template = managed_seed("x")["spec"]
    config = template["gardenlet"]["config"]
    config["seedConfig"]["metadata"] = {"labels": _LABELS}
    replica = shoot("x", "garden")["spec"]
    replica["dns"] = {"domain": "replica-name.example.org", "providers": []}
    return {
        "apiVersion": SEEDMANAGEMENT,
        "kind": "ManagedSeedSet",
        "metadata": {"name": name, "namespace": "garden"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": _LABELS},
            "template": {
                "metadata": {"labels": _LABELS},
                "spec": {"gardenlet": template["gardenlet"]},
            },
            "shootTemplate": {"metadata": {"labels": _LABELS}, "spec": replica},
        },
    }
