"""Espalier beside a real Gardener, under its generated account: what it adds, and nothing more."""

import asyncio
import json
from typing import Any

import pytest

from tests.behaviour.beside import (
    HERE,
    create,
    events,
    make_autoscaler,
    patch,
    placed,
    refused,
    reviews,
)
from tests.clocks import FakeClock
from tests.gardening import ACCOUNT, make_set, make_shoot, ready_seed, unique
from tests.unit.runtime.world import World
from tests.waiting import eventually
from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import ObjectKey
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.errors import UnavailableError
from webhook.planes.gardener import PROJECT_NAMESPACE
from webhook.planes.registration import CORE
from webhook.runtime.actions import Action, Create, Plan, Refusal
from webhook.runtime.expectations import Expectations
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import Reconciler
from webhook.runtime.recorder import Recorder
from webhook.runtime.rows import Controller, RefusedError
from webhook.runtime.writer import Writer

pytestmark = pytest.mark.timeout(180)

SEEDS = "seedmanagement.gardener.cloud"
NODE = {"controlPlane": {"highAvailability": {"failureTolerance": {"type": "node"}}}}
MULTI_ZONE = {names.HIGH_AVAILABILITY: '{"enabled":true,"type":"multi-zone"}'}


def make_worker(maximum: int, *zones: str) -> dict[str, Any]:
    return {
        "name": "pool",
        "machine": {"type": "local"},
        "minimum": 1,
        "maximum": maximum,
        "zones": [f"local-{zone}" for zone in zones],
        "systemComponents": {"allow": False},
    }


def make_pools(maximum: int) -> dict[str, Any]:
    """Two pools of which Gardener judges only the first, because it carries system components."""
    first = {"name": "system", "machine": {"type": "local"}, "minimum": 1, "maximum": 1}
    return {"provider": {"type": "local", "workers": [first, make_worker(maximum, *"abc")]}}


async def test_nothing_of_ours_can_stop_gardener(beside):
    rules: set[tuple[str, str]] = set()
    for hooks in ("mutating", "validating"):
        found = await beside.get(f"{hooks}webhookconfiguration", "espalier")
        for webhook in found["webhooks"]:
            assert webhook["failurePolicy"] == "Ignore"
            for rule in webhook["rules"]:
                operations = ",".join(rule["operations"])
                rules |= {
                    (operations, f"{each}.{rule['apiGroups'][0]}") for each in rule["resources"]
                }
    deletions = {resource for operations, resource in rules if "DELETE" in operations}
    assert deletions == set()
    assert not any(resource.startswith(("projects", "quotas", "secret")) for _, resource in rules)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param(make_pools(2), "spec.provider.workers[1].maximum", id="every pool's maximum"),
        pytest.param(
            {"annotations": {names.HIGH_AVAILABILITY: "multi-zone"}},
            f"metadata.annotations[{names.HIGH_AVAILABILITY}]",
            id="a twin that is no JSON of the field",
        ),
        pytest.param(
            {"annotations": {names.HIGH_AVAILABILITY: '{"enabled":true,"type":"galaxy"}'}},
            f"metadata.annotations[{names.HIGH_AVAILABILITY}].type",
            id="a twin with a value that the field does not allow",
        ),
        pytest.param(
            {"annotations": MULTI_ZONE, **NODE},
            f"metadata.annotations[{names.HIGH_AVAILABILITY}]",
            id="a twin against Gardener's own field",
        ),
        pytest.param(
            {"annotations": {names.REGION_AFFINITY: "maybe"}},
            f"metadata.annotations[{names.REGION_AFFINITY}]",
            id="an unknown region affinity",
        ),
        pytest.param(
            {"annotations": {names.SIZING_STRATEGY: "Greedy"}},
            f"metadata.annotations[{names.SIZING_STRATEGY}]",
            id="an unknown sizing strategy",
        ),
    ],
)  # fmt: skip
async def test_a_shoot_is_refused_by_rules_that_gardener_lacks(beside, spec, field):
    told = await refused(beside, make_shoot(**spec))
    assert field in told


async def test_what_gardener_refuses_itself_comes_from_gardener(beside):
    told = await refused(beside, make_shoot(region="nowhere"))
    assert "espalier" not in told


async def test_high_availability_never_goes_again(beside):
    name = await create(beside, make_shoot(annotations=MULTI_ZONE))
    done = await beside.kubectl(
        *("annotate", "shoot", name, HERE, f"{names.HIGH_AVAILABILITY}-"), check=False
    )
    assert done.code != 0
    assert "multi-zone" in done.stderr


async def test_an_autoscaler_without_a_set_is_refused(beside):
    told = await refused(beside, make_autoscaler("no-such-set"))
    assert "spec.scaleTargetRef.name" in told


async def test_a_controller_is_registered_once_for_a_kind_and_type(beside):
    # Gardener itself compares only the last type of each kind.
    taken, free = {"kind": "Worker", "type": "aws"}, {"kind": "Worker", "type": "x"}
    second = {
        "apiVersion": CORE,
        "kind": "ControllerRegistration",
        "metadata": {"name": unique("r")},
        "spec": {"resources": [taken, free]},
    }
    told = await refused(beside, second)
    assert "spec.resources[0]" in told


async def test_updates_without_our_concerns_never_reach_us(beside):
    name = await create(beside, make_shoot(**make_pools(3)))
    before = await reviews(beside)
    done = await beside.kubectl("label", "shoot", name, HERE, "team=blue")
    assert "Warning" not in done.stderr
    await beside.kubectl("annotate", "shoot", name, HERE, "team=blue")
    await patch(
        beside, "shoot", name, HERE, "--subresource=status", status={"observedGeneration": 1}
    )
    assert await reviews(beside) == before
    await patch(beside, "shoot", name, HERE, spec={"purpose": "testing"})
    assert await reviews(beside) > before


async def test_gardeners_scheduler_binds_without_asking_us(beside):
    seed = unique("seed-")
    await ready_seed(beside, seed)
    theirs = make_shoot(schedulerName="somebody-else", annotations=MULTI_ZONE)
    await create(beside, theirs)
    ours = make_shoot(schedulerName="espalier", annotations=MULTI_ZONE)
    await create(beside, ours, "none-such")
    before = await reviews(beside)
    # One zone is too few for what its twin asks for, but not for us to say.
    binding = ("shoot", HERE, "--subresource=binding")
    await patch(beside, *binding, theirs["metadata"]["name"], spec={"seedName": seed})
    assert await reviews(beside) == before
    name = ours["metadata"]["name"]
    await patch(beside, *binding, name, check=False, spec={"seedName": seed})
    assert await reviews(beside) > before
    name = await create(beside, make_shoot(), seed)
    await placed(beside, name, seed)


async def test_our_scheduler_binds_through_the_subresource(beside):
    seed = unique("seed-")
    await ready_seed(beside, seed)
    name = await create(beside, make_shoot(schedulerName="espalier"), seed)
    await placed(beside, name, seed)
    stored = await beside.get("shoot", name, HERE, "--show-managed-fields")
    entries = {
        (entry["manager"], entry.get("subresource", ""))
        for entry in stored["metadata"]["managedFields"]
    }
    assert ("espalier", "binding") in entries
    told = await eventually(lambda: events(beside, name, "SchedulingSuccessful"))
    assert seed in told[0]


async def test_a_shoot_waits_for_a_seed_with_three_zones_and_gets_it(beside):
    seed = unique("seed-")
    await ready_seed(beside, f"{seed}-1", "ab")
    await beside.kubectl("label", "seed", f"{seed}-1", f"test={seed}", "--overwrite")
    shoot = make_shoot(schedulerName="espalier", annotations=MULTI_ZONE)
    name = await create(beside, shoot, seed)
    await eventually(lambda: events(beside, name, "SchedulingFailed"))
    waiting = await beside.shoot(name)
    assert waiting["status"]["lastOperation"]["state"] == "Pending"
    await ready_seed(beside, f"{seed}-3", "abc")
    await beside.kubectl("label", "seed", f"{seed}-3", f"test={seed}", "--overwrite")
    await placed(beside, name, f"{seed}-3")


async def test_nobody_puts_our_multi_zone_shoot_on_a_seed_with_one_zone(beside):
    seed = unique("seed-")
    await ready_seed(beside, seed)
    shoot = make_shoot(schedulerName="espalier", annotations=MULTI_ZONE)
    name = await create(beside, shoot, "none-such")
    binding = ("shoot", name, HERE, "--subresource=binding")
    told = await patch(beside, *binding, check=False, spec={"seedName": seed})
    assert "is not multi-zonal" in told


async def test_the_last_slot_is_given_once(beside):
    seed = unique("seed-")
    await ready_seed(beside, seed, shoots=1)
    shoots = [make_shoot(schedulerName="espalier") for _ in range(3)]
    created = [await create(beside, shoot, seed) for shoot in shoots]

    async def settled() -> list[str]:
        found = [await beside.shoot(name) for name in created]
        bound = [shoot for shoot in found if shoot["spec"].get("seedName")]
        waiting = [shoot for shoot in found if shoot["status"].get("lastOperation")]
        return [*map(str, bound)] if bound and len({*map(str, bound + waiting)}) == 3 else []

    assert len(await eventually(settled)) == 1


async def test_a_move_that_gardener_refuses_is_told_and_frees_the_slot(beside):
    seed = unique("seed-")
    await ready_seed(beside, f"{seed}-1")
    await beside.kubectl("label", "seed", f"{seed}-1", f"test={seed}", "--overwrite")
    name = await create(beside, make_shoot(schedulerName="espalier"), seed)
    await placed(beside, name, f"{seed}-1")
    await beside.kubectl("wait", "--for=jsonpath={.status.lastOperation.state}=Succeeded",
                         "--timeout=60s", f"shoot/{name}", HERE)  # fmt: skip
    await ready_seed(beside, f"{seed}-3", "abc")
    await beside.kubectl("label", "seed", f"{seed}-3", f"test={seed}", "--overwrite")
    twin = f"{names.HIGH_AVAILABILITY}={MULTI_ZONE[names.HIGH_AVAILABILITY]}"
    await beside.kubectl("annotate", "shoot", name, HERE, twin)
    told = await eventually(lambda: events(beside, name, "SchedulingFailed"))
    assert f"refuses seed {seed}-3" in told[0]
    assert (await beside.shoot(name))["spec"]["seedName"] == f"{seed}-1"
    uid = (await beside.shoot(name))["metadata"]["uid"]
    ledger = await beside.get("configmap", f"espalier-ledger-{seed}-3", "-n", "espalier-system")
    assert uid not in ledger.get("data", {})


async def test_a_namespace_may_ask_for_our_scheduler(beside):
    label = f"{names.SCHEDULER_NAMESPACE}=true"
    await beside.kubectl("label", "namespace", PROJECT_NAMESPACE, label)
    try:
        await asyncio.sleep(1.0)  # gardener-apiserver's own cache of namespaces
        ours = await create(beside, make_shoot())
        theirs = await create(beside, make_shoot(schedulerName="somebody-else"))
    finally:
        await beside.kubectl("label", "namespace", PROJECT_NAMESPACE, f"{label[:-5]}-")
    assert (await beside.shoot(ours))["spec"]["schedulerName"] == "espalier"
    assert (await beside.shoot(theirs))["spec"]["schedulerName"] == "somebody-else"
    await asyncio.sleep(1.0)
    other = await create(beside, make_shoot())
    assert (await beside.shoot(other))["spec"]["schedulerName"] == "default-scheduler"


def creating(client: Client, draft: dict[str, Any], told: list[str]) -> Reconciler:
    """A controller of ours that makes one object, and tells people if that is refused."""
    clock, metrics = FakeClock(), Metrics()
    world = World(clock, ConfigMap)
    world.put(kind_of_model(ConfigMap), {"metadata": {"namespace": "garden", "name": "one"}})

    def tell(refusal: Refusal) -> list[Action]:
        told.append(refusal.message)
        return []

    plan = Plan((Create(kind_of_model(ManagedSeed), draft),), refused=tell)
    row = Controller("panic", ConfigMap, lambda _obj, _snapshot: plan)
    recorder = Recorder(world, "test", clock, metrics)
    writer = Writer(client, metrics)
    return Reconciler(row, world, writer, recorder, Expectations(world, clock))


async def test_a_panic_of_gardener_is_no_verdict(beside):
    # Its plugin falls over a Shoot without a domain, which one has that has no seed.
    name = await create(beside, make_shoot(namespace="garden"), "none-such")
    gardenlet = make_set(name, name, 0)["spec"]["template"]["spec"]
    draft = {
        "metadata": {"name": name, "namespace": "garden"},
        "spec": {"shoot": {"name": name}, **gardenlet},
    }
    wrong = {**draft, "spec": {"shoot": {"name": "none-such"}, **gardenlet}}
    told: list[str] = []
    async with Client(await config.load(str(beside.directory / "kubeconfig"))) as client:
        with pytest.raises(UnavailableError):
            await creating(client, draft, told).reconcile(ObjectKey("garden", "one"))
        assert told == []
        # A word on the object itself is told to people, by the same code.
        with pytest.raises(RefusedError):
            await creating(client, wrong, told).reconcile(ObjectKey("garden", "one"))
    assert len(told) == 1
    assert "none-such" in told[0]


async def test_it_never_acts_as_an_administrator(beside):
    account = ("--kubeconfig", str(beside.directory / "kubeconfig"))
    known = json.loads((await beside.kubectl(*account, "auth", "whoami", "-o", "json")).stdout)
    assert known["status"]["userInfo"]["username"] == ACCOUNT
    assert "system:masters" not in known["status"]["userInfo"]["groups"]
    for what in (
        "list secrets -A",
        "create clusterroles",
        "delete projects.core.gardener.cloud",
        "* * -A",
    ):
        done = await beside.kubectl(*account, "auth", "can-i", *what.split(), check=False)
        assert done.stdout.strip() == "no", what
    # A server that has just started may take anybody for a stranger; that is not about us.
    told = await beside.said()
    assert [line for line in told.splitlines() if f'is forbidden: User "{ACCOUNT}"' in line] == []
