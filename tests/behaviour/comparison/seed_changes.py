"""Shoots that get a seed, change it, or are deleted: the objects that requests start from."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

from tests.behaviour.comparison.base_objects import (
    BACKUP,
    CREDENTIALS,
    Base,
    defaulted,
    managed_seed,
    profile,
    shoot,
    store_until_accepted,
    tolerates,
)
from tests.behaviour.comparison.field_values import REMOVED, Edits
from tests.behaviour.comparison.verdicts import GardenerApi, Reply
from tests.support.garden_cluster import make_seed
from webhook.dev.planes.gardener import PROJECT
from webhook.dev.planes.gardenmanifests import CORE, DOMAIN, project
from webhook.kube.meta import Draft

DELETIONS: Final = "garden-going"
CONFIRMED: Final[Draft] = {"annotations": {"confirmation.gardener.cloud/deletion": "true"}}
_SELF_HOSTED: Final = "seed.gardener.cloud/self-hosted-shoot-cluster"
_CHOICES: Final = ("home", "lone", "tainted", "full", "leaving", "nothing")
_PINNED: Final[Edits] = {"spec.controlPlane": ({"zones": ["local-a"]}, {"zones": []}, REMOVED)}
_OURS: Final[Draft] = {"schedulerName": "espalier"}
MOVES: Final[Mapping[str, Edits]] = {
    "unbound": {"spec.seedName": (*_CHOICES, ""), "spec.purpose": ("testing",)},
    "unbound-zonal": {"spec.seedName": ("home", "lone", "labelled")},
    "unbound-choosy": {"spec.seedName": ("home", "twin")},
    "unbound-fussy": {"spec.seedName": ("home", "twin")},
    "unbound-pinned": {"spec.seedName": ("home", "faraway")},
    "ours": {"spec.seedName": ("home", "lone")},
    "ours-zonal": {"spec.seedName": ("home", "lone", "labelled")},
    "ours-pinned": {"spec.seedName": ("home", "faraway")},
    "movable": {"spec.seedName": ("twin", "foreign", "plain", *_CHOICES[1:], REMOVED)},
    "moved": {"spec.purpose": ("testing",), "metadata.labels": ({"moved": "yes"},)},
    "single": {
        "spec.controlPlane": (tolerates("node"), tolerates("zone")),
    },
    "asleep": {
        "spec.controlPlane": (tolerates("node"), tolerates("zone")),
        "spec.hibernation": ({"enabled": False},),
    },
    "self-hosted": {"metadata.labels": ({"test": "own"}, {_SELF_HOSTED: "true", "test": "own"})},
    "on its way": {
        "spec.purpose": ("testing",),
        "spec.hibernation": ({"enabled": True},),
        "metadata.annotations": ({"a": "b"},),
    },
    "held": {"metadata.finalizers": (REMOVED, ["gardener", "example.org/mine"])},
    "unpinned": _PINNED,
    "housed": {"metadata.namespace": (DELETIONS, "default")},
    "unnamed": {"metadata.generateName": ("eleven-let-", "twelve-lett-")},
    "exposed": {
        "spec.exposureClassName": ("nothing", REMOVED),
        "spec.seedSelector": ({"matchLabels": {"test": "home"}}, {"matchLabels": {"test": "x"}}),
        "spec.tolerations": ([{"key": "welcome"}],),
        "spec.purpose": ("testing",),
    },
    "new choosy": {"spec.seedName": ("home", "twin", REMOVED)},
}
"""The changes to each of these bases, besides the table of field values."""


async def create_seed_changes(garden: GardenerApi) -> list[Base]:
    """Store these objects, and return the bases of their requests."""
    for body in (*_profiles(), *_seeds(), _class(), *_projects()):
        await store_until_accepted(garden, body)
    await _delete_held(garden, make_seed("leaving"))
    await _delete_held(
        garden, {"apiVersion": CORE, "kind": "Project", "metadata": {"name": "going"}}
    )
    gone = shoot("new", seedName="leaving")
    await _until(partial(garden.write, gone), 403)
    return [
        *await _bindings(garden),
        *await _moves(garden),
        *await _others(garden),
        *await _deletions(garden),
    ]


async def _bindings(garden: GardenerApi) -> list[Base]:
    stored = [
        await store_until_accepted(garden, body)
        for body in (
            shoot("unbound"),
            shoot("unbound-zonal", controlPlane=tolerates("zone")),
            shoot("unbound-choosy", cloudProfile={"kind": "CloudProfile", "name": "choosy"}),
            shoot("unbound-fussy", seedSelector={"matchLabels": {"test": "home"}}),
            shoot("unbound-pinned", controlPlane={"zones": ["local-a"]}),
            shoot("ours", **_OURS),
            shoot("ours-zonal", controlPlane=tolerates("zone"), **_OURS),
            shoot("ours-pinned", controlPlane={"zones": ["local-a"]}, **_OURS),
        )
    ]
    return [
        Base(body["metadata"]["name"], body, body, is_whole=False, subresource="binding")
        for body in stored
    ]


async def _moves(garden: GardenerApi) -> list[Base]:
    """Shoots with a seed in their status, at several stages of a move."""
    movable = await store_until_accepted(garden, shoot("movable", seedName="home"))
    single = await store_until_accepted(garden, shoot("single", seedName="lone"))
    asleep = await store_until_accepted(
        garden, shoot("asleep", seedName="home", hibernation={"enabled": True})
    )
    arriving = await _with_status(
        garden, "arriving", {**_operation("Reconcile", "Succeeded"), "seedName": "twin"}
    )
    leaving = await _with_status(garden, "migrating", _operation("Migrate", "Processing"))
    restored = await _with_status(garden, "restoring", _operation("Restore", "Processing"))
    settled = await _with_status(garden, "settled", _operation("Restore", "Succeeded"))
    held = await _with_status(
        garden, "held", {**_operation("Reconcile", "Succeeded"), "technicalID": "t"}
    )
    held = await _hold(garden, held)
    free = await _hold(garden, await store_until_accepted(garden, shoot("unheld")))
    moved = {**movable, "spec": {**movable["spec"], "seedName": "twin"}}
    return [
        Base("movable", movable, movable, is_whole=False, subresource="binding"),
        Base("moved", moved, movable, is_whole=False, subresource="binding"),
        Base("single", single, single, is_whole=False),
        Base("asleep", asleep, asleep, is_whole=False),
        *(
            Base("on its way", body, body, is_whole=False)
            for body in (arriving, leaving, restored, settled)
        ),
        Base("movable", leaving, leaving, is_whole=False, subresource="binding"),
        Base("held", held, held, is_whole=False),
        Base("held", free, free, is_whole=False),
    ]


async def _others(garden: GardenerApi) -> list[Base]:
    plain = await defaulted(garden, shoot("new"))
    unpinned: Draft = {"cloudProfile": {"kind": "CloudProfile", "name": "unpinned"}}
    stored = await store_until_accepted(garden, shoot("unpinned", **unpinned))
    unnamed = {**plain, "metadata": {**plain["metadata"], "generateName": "gen-"}}
    del unnamed["metadata"]["name"]
    own = make_seed("own", "abc")
    own["metadata"]["labels"][_SELF_HOSTED] = "true"
    self_hosted = await store_until_accepted(garden, own)
    exposed = {**plain, "spec": {**plain["spec"], "exposureClassName": "open"}}
    await _until(partial(garden.write, exposed), 201)
    choosy = await defaulted(
        garden,
        shoot("new", cloudProfile={"kind": "CloudProfile", "name": "choosy"}, seedName="home"),
    )
    return [
        Base("unpinned", await defaulted(garden, shoot("new", **unpinned)), is_whole=False),
        Base("unpinned", stored, stored, is_whole=False),
        Base("housed", plain, is_whole=False),
        Base("unnamed", unnamed, is_whole=False),
        Base("exposed", exposed, is_whole=False),
        Base("self-hosted", self_hosted, self_hosted, is_whole=False),
        Base("new choosy", choosy, is_whole=False),
    ]


async def _deletions(garden: GardenerApi) -> list[Base]:
    """Objects of each kind that may be deleted, and objects that may not."""
    doomed = shoot("doomed")
    doomed["metadata"] |= CONFIRMED
    autoscaled = {"version": "1.34.3", "verticalPodAutoscaler": {"enabled": True}}
    quiet = shoot("quiet", "garden", seedName="home", kubernetes=autoscaled)
    quiet["metadata"] |= CONFIRMED
    found = [
        await store_until_accepted(garden, body)
        for body in (doomed, shoot("unconfirmed"), quiet, managed_seed("quiet"))
    ]
    places = (
        f"/apis/{CORE}/seeds/home",
        f"/apis/{CORE}/seeds/twin",
        "/apis/seedmanagement.gardener.cloud/v1alpha1/namespaces/garden/managedseeds/host",
        "/apis/seedmanagement.gardener.cloud/v1alpha1/namespaces/garden/managedseedsets/kept",
    )
    found += [await garden.get(place) for place in places]
    return [Base(each["metadata"]["name"], each, each, is_deletion=True) for each in found]


def _operation(kind: str, state: str) -> Draft:
    now = "2026-01-01T00:00:00Z"
    done = {"description": "d", "lastUpdateTime": now, "progress": 50}
    return {"lastOperation": {"type": kind, "state": state, **done}, "seedName": "home"}


async def _with_status(garden: GardenerApi, name: str, status: Draft) -> Draft:
    body = await store_until_accepted(garden, shoot(name, seedName="home"))
    body["status"] = {**body.get("status", {}), **status}
    reply = await garden.write(body, is_new=False, sub="status", dry_run=False)
    assert reply.status == 200, reply.body
    return reply.body


async def _hold(garden: GardenerApi, body: Draft) -> Draft:
    body["metadata"]["finalizers"] = ["gardener"]
    reply = await garden.write(body, is_new=False, dry_run=False)
    assert reply.status == 200, reply.body
    return reply.body


async def _delete_held(garden: GardenerApi, body: Draft) -> None:
    """Delete an object that a finalizer keeps, again while Gardener's caches refuse it."""
    await _until(partial(garden.delete, body, dry_run=False), 200)


async def _until(send: Callable[[], Awaitable[Reply]], *wanted: int) -> None:
    """Repeat a request until its response shows the effect of the last write."""
    async with asyncio.timeout(90):
        while True:
            if (await send()).status in wanted:
                return
            await asyncio.sleep(0.1)


def _profiles() -> list[Draft]:
    unpinned, choosy = profile("unpinned"), profile("choosy")
    del unpinned["spec"]["controlPlane"]
    choosy["spec"]["seedSelector"] = {"matchLabels": {"test": "home"}, "providerTypes": ["*"]}
    return [unpinned, choosy]


def _seeds() -> list[Draft]:
    dns = make_seed("x")["spec"]["dns"]
    default = {"type": "local", "domain": DOMAIN, "credentialsRef": CREDENTIALS}
    served = {**dns, "defaults": [default]}
    other = {**served, "internal": {**dns["internal"], "domain": "elsewhere.test"}}
    leaving = make_seed("leaving", "abc", backup=BACKUP, dns=served)
    leaving["metadata"]["finalizers"] = ["example.org/test"]
    labelled = make_seed("labelled", "abc", backup=BACKUP, dns=served)
    labelled["metadata"]["labels"]["seed.gardener.cloud/multi-zonal"] = "false"
    return [
        make_seed("twin", "abc", backup=BACKUP, dns=served),
        make_seed("foreign", "abc", backup=BACKUP, dns=other),
        make_seed("plain", "abc", backup=BACKUP),
        make_seed("faraway", "d"),
        labelled,
        leaving,
    ]


def _class() -> Draft:
    return {
        "apiVersion": CORE,
        "kind": "ExposureClass",
        "metadata": {"name": "open"},
        "handler": "open",
        "scheduling": {
            "seedSelector": {"matchLabels": {"test": "home"}},
            "tolerations": [{"key": "welcome"}],
        },
    }


def _projects() -> list[Draft]:
    """A project that will be deleted, and credentials in it and in a namespace without one."""
    namespace, going, secret, binding = (dict(each) for each in project("going", DELETIONS))
    going["metadata"] = {"name": "going", "finalizers": ["example.org/test"], **CONFIRMED}
    bindings = [
        {**binding, "metadata": {"name": PROJECT, "namespace": place}}
        for place in (DELETIONS, "default")
    ]
    return [namespace, going, secret, *bindings]
