"""Espalier beside a real Gardener, under its generated account: what it adds, and nothing else."""

import asyncio
import json
from typing import Any

import pytest

from tests.behaviour.beside_gardener import (
    HERE,
    create,
    events,
    make_minimal_autoscaler,
    patch,
    placed,
    refused,
    reviews,
)
from tests.support.clocks import FakeClock
from tests.support.fake_cluster import FakeCluster
from tests.support.garden_cluster import ACCOUNT, make_set, make_shoot, ready_seed, unique
from tests.support.waits import eventually
from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.cluster import config
from webhook.cluster.client import Client
from webhook.cluster.errors import UnavailableError
from webhook.dev.planes.gardener import PROJECT_NAMESPACE
from webhook.dev.planes.gardenmanifests import CORE
from webhook.kube.meta import ObjectKey
from webhook.runtime.actions import Action, Create, Plan, WriteRefusal
from webhook.runtime.controller import Controller, RefusedError
from webhook.runtime.event_recorder import EventRecorder
from webhook.runtime.expectations import Expectations
from webhook.runtime.metrics import Metrics
from webhook.runtime.reconciler import Reconciler
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
    """Two pools of which Gardener validates only the first, because it has system components."""
    first = {"name": "system", "machine": {"type": "local"}, "minimum": 1, "maximum": 1}
    return {"provider": {"type": "local", "workers": [first, make_worker(maximum, *"abc")]}}


async def test_nothing_of_ours_can_stop_gardener(gardener):
    rules: set[tuple[str, str]] = set()
    for hooks in ("mutating", "validating"):
        found = await gardener.get(f"{hooks}webhookconfiguration", "espalier")
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
async def test_a_shoot_is_refused_by_rules_that_gardener_lacks(gardener, spec, field):
    reported = await refused(gardener, make_shoot(**spec))
    assert field in reported


async def test_what_gardener_refuses_itself_comes_from_gardener(gardener):
    reported = await refused(gardener, make_shoot(region="nowhere"))
    assert "espalier" not in reported


async def test_high_availability_never_goes_again(gardener):
    name = await create(gardener, make_shoot(annotations=MULTI_ZONE))
    done = await gardener.kubectl(
        *("annotate", "shoot", name, HERE, f"{names.HIGH_AVAILABILITY}-"), check=False
    )
    assert done.code != 0
    assert "multi-zone" in done.stderr


async def test_an_autoscaler_without_a_set_is_refused(gardener):
    reported = await refused(gardener, make_minimal_autoscaler("no-such-set"))
    assert "spec.scaleTargetRef.name" in reported


async def test_a_controller_is_registered_once_for_a_kind_and_type(gardener):
    # Gardener itself compares only the last type of each kind.
    taken, free = {"kind": "Worker", "type": "aws"}, {"kind": "Worker", "type": "x"}
    second = {
        "apiVersion": CORE,
        "kind": "ControllerRegistration",
        "metadata": {"name": unique("r")},
        "spec": {"resources": [taken, free]},
    }
    reported = await refused(gardener, second)
    assert "spec.resources[0]" in reported


async def test_updates_without_our_concerns_never_reach_us(gardener):
    name = await create(gardener, make_shoot(**make_pools(3)))
    before = await reviews(gardener)
    done = await gardener.kubectl("label", "shoot", name, HERE, "team=blue")
    assert "Warning" not in done.stderr
    await gardener.kubectl("annotate", "shoot", name, HERE, "team=blue")
    await patch(
        gardener,
        "shoot",
        name,
        HERE,
        "--subresource=status",
        status={"observedGeneration": 1},
    )
    assert await reviews(gardener) == before
    await patch(gardener, "shoot", name, HERE, spec={"purpose": "testing"})
    assert await reviews(gardener) > before


async def test_gardeners_scheduler_binds_without_asking_us(gardener):
    seed = unique("seed-")
    await ready_seed(gardener, seed)
    theirs = make_shoot(schedulerName="somebody-else", annotations=MULTI_ZONE)
    await create(gardener, theirs)
    ours = make_shoot(schedulerName="espalier", annotations=MULTI_ZONE)
    await create(gardener, ours, "none-such")
    before = await reviews(gardener)
    # One zone is too few for the twin annotation, but another scheduler places this shoot.
    binding = ("shoot", HERE, "--subresource=binding")
    await patch(gardener, *binding, theirs["metadata"]["name"], spec={"seedName": seed})
    assert await reviews(gardener) == before
    name = ours["metadata"]["name"]
    await patch(gardener, *binding, name, check=False, spec={"seedName": seed})
    assert await reviews(gardener) > before
    name = await create(gardener, make_shoot(), seed)
    await placed(gardener, name, seed)


async def test_our_scheduler_binds_through_the_subresource(gardener):
    seed = unique("seed-")
    await ready_seed(gardener, seed)
    name = await create(gardener, make_shoot(schedulerName="espalier"), seed)
    await placed(gardener, name, seed)
    stored = await gardener.get("shoot", name, HERE, "--show-managed-fields")
    entries = {
        (entry["manager"], entry.get("subresource", ""))
        for entry in stored["metadata"]["managedFields"]
    }
    assert ("espalier", "binding") in entries
    reported = await eventually(lambda: events(gardener, name, "SchedulingSuccessful"))
    assert seed in reported[0]


async def test_a_shoot_waits_for_a_seed_with_three_zones_and_gets_it(gardener):
    seed = unique("seed-")
    await ready_seed(gardener, f"{seed}-1", "ab")
    await gardener.kubectl("label", "seed", f"{seed}-1", f"test={seed}", "--overwrite")
    shoot = make_shoot(schedulerName="espalier", annotations=MULTI_ZONE)
    name = await create(gardener, shoot, seed)
    await eventually(lambda: events(gardener, name, "SchedulingFailed"))
    waiting = await gardener.shoot(name)
    assert waiting["status"]["lastOperation"]["state"] == "Pending"
    await ready_seed(gardener, f"{seed}-3", "abc")
    await gardener.kubectl("label", "seed", f"{seed}-3", f"test={seed}", "--overwrite")
    await placed(gardener, name, f"{seed}-3")


async def test_a_multi_zone_shoot_is_never_bound_to_a_seed_with_one_zone(gardener):
    seed = unique("seed-")
    await ready_seed(gardener, seed)
    shoot = make_shoot(schedulerName="espalier", annotations=MULTI_ZONE)
    name = await create(gardener, shoot, "none-such")
    binding = ("shoot", name, HERE, "--subresource=binding")
    reported = await patch(gardener, *binding, check=False, spec={"seedName": seed})
    assert "is not multi-zonal" in reported


async def test_the_last_slot_is_given_once(gardener):
    seed = unique("seed-")
    await ready_seed(gardener, seed, shoots=1)
    shoots = [make_shoot(schedulerName="espalier") for _ in range(3)]
    created = [await create(gardener, shoot, seed) for shoot in shoots]

    async def settled() -> list[str]:
        found = [await gardener.shoot(name) for name in created]
        bound = [shoot for shoot in found if shoot["spec"].get("seedName")]
        waiting = [shoot for shoot in found if shoot["status"].get("lastOperation")]
        return [*map(str, bound)] if bound and len({*map(str, bound + waiting)}) == 3 else []

    assert len(await eventually(settled)) == 1


async def test_a_move_that_gardener_refuses_is_reported_and_frees_the_slot(gardener):
    seed = unique("seed-")
    await ready_seed(gardener, f"{seed}-1")
    await gardener.kubectl("label", "seed", f"{seed}-1", f"test={seed}", "--overwrite")
    name = await create(gardener, make_shoot(schedulerName="espalier"), seed)
    await placed(gardener, name, f"{seed}-1")
    await gardener.kubectl("wait", "--for=jsonpath={.status.lastOperation.state}=Succeeded",
                         "--timeout=60s", f"shoot/{name}", HERE)  # fmt: skip
    await ready_seed(gardener, f"{seed}-3", "abc")
    await gardener.kubectl("label", "seed", f"{seed}-3", f"test={seed}", "--overwrite")
    twin = f"{names.HIGH_AVAILABILITY}={MULTI_ZONE[names.HIGH_AVAILABILITY]}"
    await gardener.kubectl("annotate", "shoot", name, HERE, twin)
    reported = await eventually(lambda: events(gardener, name, "SchedulingFailed"))
    assert f"refuses seed {seed}-3" in reported[0]
    assert (await gardener.shoot(name))["spec"]["seedName"] == f"{seed}-1"
    uid = (await gardener.shoot(name))["metadata"]["uid"]
    ledger = await gardener.get("configmap", f"espalier-ledger-{seed}-3", "-n", "espalier-system")
    assert uid not in ledger.get("data", {})


async def test_a_namespace_may_ask_for_our_scheduler(gardener):
    label = f"{names.SCHEDULER_NAMESPACE}=true"
    await gardener.kubectl("label", "namespace", PROJECT_NAMESPACE, label)
    try:
        await asyncio.sleep(1.0)  # gardener-apiserver has its own cache of namespaces
        ours = await create(gardener, make_shoot())
        theirs = await create(gardener, make_shoot(schedulerName="somebody-else"))
    finally:
        await gardener.kubectl("label", "namespace", PROJECT_NAMESPACE, f"{label[:-5]}-")
    assert (await gardener.shoot(ours))["spec"]["schedulerName"] == "espalier"
    assert (await gardener.shoot(theirs))["spec"]["schedulerName"] == "somebody-else"
    await asyncio.sleep(1.0)
    other = await create(gardener, make_shoot())
    assert (await gardener.shoot(other))["spec"]["schedulerName"] == "default-scheduler"


def creating(client: Client, draft: dict[str, Any], reported: list[str]) -> Reconciler:
    """A controller that creates one object, and records an Event if that is refused."""
    clock, metrics = FakeClock(), Metrics()
    cluster = FakeCluster(clock, ConfigMap)
    cluster.put(kind_of_model(ConfigMap), {"metadata": {"namespace": "garden", "name": "one"}})

    def record_refusal(refusal: WriteRefusal) -> list[Action]:
        reported.append(refusal.message)
        return []

    plan = Plan((Create(kind_of_model(ManagedSeed), draft),), refused=record_refusal)
    row = Controller("panic", ConfigMap, lambda _obj, _snapshot: plan)
    recorder = EventRecorder(cluster, "test", clock, metrics)
    writer = Writer(client, metrics)
    return Reconciler(row, cluster, writer, recorder, Expectations(cluster, clock))


async def test_a_panic_of_gardener_is_no_verdict(gardener):
    # Its plugin panics on a Shoot without a domain, which a Shoot without a seed has not.
    name = await create(gardener, make_shoot(namespace="garden"), "none-such")
    gardenlet = make_set(name, name, 0)["spec"]["template"]["spec"]
    draft = {
        "metadata": {"name": name, "namespace": "garden"},
        "spec": {"shoot": {"name": name}, **gardenlet},
    }
    wrong = {**draft, "spec": {"shoot": {"name": "none-such"}, **gardenlet}}
    reported: list[str] = []
    async with Client(await config.load(str(gardener.plane.kubeconfig))) as client:
        with pytest.raises(UnavailableError):
            await creating(client, draft, reported).reconcile(ObjectKey("garden", "one"))
        assert reported == []
        # The same code reports a refusal of the object itself.
        with pytest.raises(RefusedError):
            await creating(client, wrong, reported).reconcile(ObjectKey("garden", "one"))
    assert len(reported) == 1
    assert "none-such" in reported[0]


async def test_it_never_acts_as_an_administrator(gardener):
    account = ("--kubeconfig", str(gardener.directory / "kubeconfig"))
    known = json.loads((await gardener.kubectl(*account, "auth", "whoami", "-o", "json")).stdout)
    assert known["status"]["userInfo"]["username"] == ACCOUNT
    assert "system:masters" not in known["status"]["userInfo"]["groups"]
    for what in (
        "list secrets -A",
        "create clusterroles",
        "delete projects.core.gardener.cloud",
        "* * -A",
    ):
        done = await gardener.kubectl(*account, "auth", "can-i", *what.split(), check=False)
        assert done.stdout.strip() == "no", what
    # A server that has just started may treat any user as anonymous; that is not about us.
    reported = await gardener.read_log()
    assert [
        line for line in reported.splitlines() if f'is forbidden: User "{ACCOUNT}"' in line
    ] == []
