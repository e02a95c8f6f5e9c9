"""Pairs of objects with the same history, one with Espalier in the garden and one without."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import itemgetter
from typing import Any, Final

from tests.support.garden_cluster import (
    SEEDS,
    GardenCluster,
    make_seed,
    make_set,
    make_shoot,
    ready_seed,
)
from tests.support.waits import eventually
from webhook.api import names
from webhook.dev.planes.gardenmanifests import DOMAIN, cloud_profile, project

KINDS: Final = {
    "seed": "",
    "cloudprofile": "",
    "project": "",
    "shoot": "garden-local",
    "managedseed": "garden",
    "managedseedset": "garden",
}
"""The kinds that are compared, and their namespaces."""

PLACED: Final = "-on"
"""The suffix of the name of a shoot that gardener-scheduler placed on the seed."""

LEFT_OUT: Final = (
    (r"metadata\.(resourceVersion|managedFields.*)", "when it was written, and by whom"),
    (r"metadata\.generation|status\.observedGeneration", "how often it was written"),
    (r"metadata\.creationTimestamp", "when it was made"),
    (r"status\.(lastOperation|conditions\[\d+\])\.lastUpdateTime", "when that happened"),
    (r"status\.conditions\[\d+\]\.lastTransitionTime", "when that happened"),
    (r"status\.lastActivityTimestamp", "when something happened in the project"),
)
"""Paths that differ between objects that Espalier never met, and why."""

COUNTED: Final = re.compile(r"(?<=of the )\d+(?= seeds )")
"""The number of seeds in gardener-scheduler's message when none fits."""

_OPENING: Final = datetime.now(UTC) + timedelta(hours=12)
CALM: Final = {
    "timeWindow": {
        "begin": f"{_OPENING:%H%M}00+0000",
        "end": f"{_OPENING + timedelta(hours=1):%H%M}00+0000",
    }
}
"""A maintenance window at another time of the day.

Gardener chooses a random one for shoots without it, and annotates shoots whose window is open.
"""

ROLLED: Final = "rolled"
NOWHERE: Final = {"matchLabels": {"nobody": "has-this"}}


def make(name: str) -> list[dict[str, Any]]:
    """Create one object of each kind, and what they need."""
    domain = {"domain": f"{name}.garden.{DOMAIN}"}
    base = make_shoot(name, "garden", dns=domain, seedSelector=NOWHERE, maintenance=CALM)
    template = make_set(f"{name}-set", name, 0)
    gardenlet = template["spec"]["template"]["spec"]["gardenlet"]
    managed = {
        "apiVersion": SEEDS,
        "kind": "ManagedSeed",
        "metadata": {"name": name, "namespace": "garden"},
        "spec": {"shoot": {"name": name}, "gardenlet": gardenlet},
    }
    return [
        make_seed(name),
        dict(cloud_profile(name)),
        *map(dict, project(name, f"garden-{name}")),
        make_shoot(name, seedSelector=NOWHERE, maintenance=CALM),
        make_shoot(name + PLACED, seedSelector={"matchLabels": {"test": name}}, maintenance=CALM),
        base,
        managed,
        {**template, "metadata": {**template["metadata"], "name": name}},
    ]


async def live(gardener: GardenCluster, name: str) -> None:
    """Create one object of each kind and change them as users do."""
    for draft in make(name):
        await eventually(partial(_creates, gardener, draft))
    for kind, namespace in KINDS.items():
        where = ("-n", namespace) if namespace else ()
        await gardener.kubectl("label", kind, name, *where, "team=blue")
    await eventually(partial(_is_healthy, gardener, name + PLACED), 60)
    purpose = json.dumps({"spec": {"purpose": "development"}})
    here = ("-n", "garden-local")
    await gardener.kubectl("patch", "shoot", name, *here, "--type=merge", "-p", purpose)


async def _is_healthy(gardener: GardenCluster, name: str) -> bool:
    labels = (await gardener.shoot(name))["metadata"].get("labels") or {}
    return labels.get(names.SHOOT_STATUS) == "healthy"


async def _creates(gardener: GardenCluster, draft: dict[str, Any]) -> bool:
    """Create an object; Gardener's admission learns with a delay of what it needs."""
    done = await gardener.kubectl("create", "-f", "-", input=draft, check=False)
    assert done.code == 0 or "not found" in done.stderr, done.stderr
    return done.code == 0


async def roll(gardener: GardenCluster) -> str:
    """Let Gardener create a set of one, and Espalier roll it."""
    await ready_seed(gardener, f"{ROLLED}-parent")
    draft = make_set(ROLLED, f"{ROLLED}-parent", 1, **{names.ROLLOUT: "true"})
    await gardener.kubectl("create", "-f", "-", input=draft)
    await eventually(lambda: _is_recorded(gardener), 120)
    pool = "/spec/shootTemplate/spec/provider/workers/0/labels"
    change = json.dumps([{"op": "add", "path": pool, "value": {"rolled": "yes"}}])
    where = ("managedseedset", ROLLED, "-n", "garden", "--type=json", "-p", change)
    await gardener.kubectl("patch", *where)
    await eventually(lambda: _is_rolled(gardener), 120)
    return ROLLED


async def _is_recorded(gardener: GardenCluster) -> bool:
    found = await gardener.get("managedseedset", ROLLED, "-n", "garden")
    status = found.get("status") or {}
    return status.get("readyReplicas") == 1 and bool(status.get("currentRevision"))


async def _is_rolled(gardener: GardenCluster) -> bool:
    shoot = await gardener.shoot(f"{ROLLED}-0", "garden")
    return bool(shoot["spec"]["provider"]["workers"][0].get("labels"))


async def check_left(gardener: GardenCluster, name: str) -> None:
    """Check that a rolled replica keeps its spec and shows no trace of Espalier."""
    for kind in ("shoot", "managedseed", "seed"):
        where = () if kind == "seed" else ("-n", "garden")
        metadata = (await gardener.get(kind, f"{name}-0", *where))["metadata"]
        written = {*(metadata.get("labels") or ()), *(metadata.get("annotations") or ())}
        written |= {*(metadata.get("finalizers") or ())}
        assert names.CONTROLLER_REVISION_HASH not in written
        # The simulated gardenlet signs its own writes of its Seed, as a deployed one does.
        assert [key for key in written - {names.GARDENLET_APPLIED} if "espalier" in key] == []
    assert await _is_rolled(gardener)


async def are_equal(gardener: GardenCluster, met: str, new: str) -> bool:
    """Compare two objects of each kind; Gardener's controllers may still write the newer one."""
    return not await differences(gardener, met, new)


async def differences(gardener: GardenCluster, met: str, new: str) -> list[tuple[str, Any, Any]]:
    """Return the differences, except those that depend on name and time."""
    found: list[tuple[str, Any, Any]] = []
    for kind, namespace, suffix in things():
        where = ("-n", namespace) if namespace else ()
        one, other = [
            flat(await gardener.get(kind, name + suffix, *where), name) for name in (met, new)
        ]
        paths = sorted({*one, *other})
        found += [
            (f"{kind}{suffix} {path}", one.get(path), other.get(path))
            for path in paths
            if one.get(path) != other.get(path)
        ]
    return found


def things() -> Iterator[tuple[str, str, str]]:
    """Return what is compared: kind, namespace, and the suffix of the name."""
    for kind, namespace in KINDS.items():
        yield kind, namespace, ""
    yield "shoot", KINDS["shoot"], PLACED


def flat(raw: dict[str, Any], name: str) -> dict[str, Any]:
    """Return an object as paths and values, without what depends on its name and time."""
    text = json.dumps(raw).replace(name, "NAME").replace(raw["metadata"]["uid"], "UID")
    lasting = json.loads(COUNTED.sub("N", text))
    # Several controllers write them, in any order.
    lasting["metadata"].get("finalizers", []).sort()
    lasting.get("status", {}).get("conditions", []).sort(key=itemgetter("type"))
    found = dict(_flatten("", lasting))
    return {path: value for path, value in found.items() if not _is_left_out(path)}


def _is_left_out(path: str) -> bool:
    return any(re.fullmatch(pattern, path) for pattern, _reason in LEFT_OUT)


def _flatten(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for key, each in value.items():
            yield from _flatten(f"{path}.{key}" if path else key, each)
    elif isinstance(value, list) and value:
        for index, each in enumerate(value):
            yield from _flatten(f"{path}[{index}]", each)
    else:
        yield path, value
