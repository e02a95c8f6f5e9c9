"""Objects that live the same life, one with Espalier in the garden and one without."""

import json
from functools import partial
from typing import Any, Final

from tests.gardening import SEEDS, Beside, make_seed, make_set, make_shoot, ready_seed
from tests.waiting import eventually
from webhook.api import names
from webhook.planes.registration import DOMAIN, cloud_profile, project

KINDS: Final = {
    "seed": "",
    "cloudprofile": "",
    "project": "",
    "shoot": "garden-local",
    "managedseed": "garden",
    "managedseedset": "garden",
}
"""What is compared, and where it is."""

OF_THE_MOMENT: Final = frozenset(
    {
        *("uid", "resourceVersion", "managedFields", "generation", "observedGeneration"),
        *("creationTimestamp", "lastTransitionTime", "lastUpdateTime", "lastActivityTimestamp"),
        # A gardenlet's own name, Gardener's dice, and how many seeds there were when it failed.
        *("id", "timeWindow", "description"),
    }
)
ROLLED: Final = "rolled"
NOWHERE: Final = {"matchLabels": {"nobody": "has-this"}}


def make(name: str) -> list[dict[str, Any]]:
    """Make one object of each kind, and what they need."""
    domain = {"domain": f"{name}.garden.{DOMAIN}"}
    base = make_shoot(name, "garden", dns=domain, seedSelector=NOWHERE)
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
        make_shoot(name, seedSelector=NOWHERE),
        base,
        managed,
        {**template, "metadata": {**template["metadata"], "name": name}},
    ]


async def live(beside: Beside, name: str) -> None:
    """Create one of each kind and change them as people do."""
    for draft in make(name):
        await eventually(partial(_creates, beside, draft))
    for kind, namespace in KINDS.items():
        where = ("-n", namespace) if namespace else ()
        await beside.kubectl("label", kind, name, *where, "team=blue")
    purpose = json.dumps({"spec": {"purpose": "development"}})
    here = ("-n", "garden-local")
    await beside.kubectl("patch", "shoot", name, *here, "--type=merge", "-p", purpose)


async def _creates(beside: Beside, draft: dict[str, Any]) -> bool:
    """Create an object; Gardener's admission hears of what it needs a moment later."""
    done = await beside.kubectl("create", "-f", "-", input=draft, check=False)
    assert done.code == 0 or "not found" in done.stderr, done.stderr
    return done.code == 0


async def roll(beside: Beside) -> str:
    """Have Gardener make a set of one, and Espalier roll it."""
    await ready_seed(beside, f"{ROLLED}-parent")
    draft = make_set(ROLLED, f"{ROLLED}-parent", 1, **{names.ROLLOUT: "true"})
    await beside.kubectl("create", "-f", "-", input=draft)
    await eventually(lambda: _is_recorded(beside), 120)
    pool = "/spec/shootTemplate/spec/provider/workers/0/labels"
    change = json.dumps([{"op": "add", "path": pool, "value": {"rolled": "yes"}}])
    where = ("managedseedset", ROLLED, "-n", "garden", "--type=json", "-p", change)
    await beside.kubectl("patch", *where)
    await eventually(lambda: _is_rolled(beside), 120)
    return ROLLED


async def _is_recorded(beside: Beside) -> bool:
    found = await beside.get("managedseedset", ROLLED, "-n", "garden")
    status = found.get("status") or {}
    return status.get("readyReplicas") == 1 and bool(status.get("currentRevision"))


async def _is_rolled(beside: Beside) -> bool:
    shoot = await beside.shoot(f"{ROLLED}-0", "garden")
    return bool(shoot["spec"]["provider"]["workers"][0].get("labels"))


async def check_left(beside: Beside, name: str) -> None:
    """A replica that was rolled keeps what it got, and nothing tells that it was we."""
    for kind in ("shoot", "managedseed", "seed"):
        where = () if kind == "seed" else ("-n", "garden")
        metadata = (await beside.get(kind, f"{name}-0", *where))["metadata"]
        written = {*(metadata.get("labels") or ()), *(metadata.get("annotations") or ())}
        written |= {*(metadata.get("finalizers") or ())}
        assert names.CONTROLLER_REVISION_HASH not in written
        # The played gardenlet signs its Seed by itself, as one that we deploy does.
        assert [key for key in written - {names.GARDENLET_APPLIED} if "espalier" in key] == []
    assert await _is_rolled(beside)


async def are_equal(beside: Beside, met: str, new: str) -> bool:
    """Compare two of each kind; controllers of Gardener's may still write on the younger one."""
    return not await differences(beside, met, new)


async def differences(beside: Beside, met: str, new: str) -> list[tuple[Any, Any]]:
    """Give the pairs that are not equal, without what depends on name and moment."""
    found = []
    for kind, namespace in KINDS.items():
        where = ("-n", namespace) if namespace else ()
        one, other = [await beside.get(kind, name, *where) for name in (met, new)]
        pair = _lasting(one, met), _lasting(other, new)
        if pair[0] != pair[1]:
            found.append(pair)
    return found


def _lasting(raw: dict[str, Any], name: str) -> Any:
    """What does not depend on the name or the moment."""
    if raw["kind"] == "Seed":
        # Whether its gardenlet lives is told by the clock.
        (raw.get("status") or {}).pop("conditions", None)
    return json.loads(json.dumps(_without(raw)).replace(name, "NAME"))


def _without(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without(each) for key, each in value.items() if key not in OF_THE_MOMENT}
    return [_without(each) for each in value] if isinstance(value, list) else value
