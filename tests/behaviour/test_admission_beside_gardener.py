"""Each policy of the closed list is tested on a real Gardener, or a table states why it is not."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.behaviour.beside_gardener import (
    HERE,
    create,
    events,
    make_minimal_autoscaler,
    patch,
    placed,
    refused,
    verdicts,
)
from tests.support.garden_cluster import SEEDS, make_set, make_shoot, ready_seed, unique
from tests.support.waits import eventually
from webhook.api import names
from webhook.dev.planes.gardenmanifests import CORE, DOMAIN

pytestmark = pytest.mark.timeout(180)

DOCS: Final = Path(__file__).parents[2] / "docs" / "gardener.md"
DRY: Final = ("create", "--dry-run=server")
GARDEN: Final = "--namespace=garden"
MANAGER: Final = (
    "--as=system:serviceaccount:garden:gardener-controller-manager",
    "--as-group=system:masters",
)
"""Gardener's account, with an administrator's permissions as in the tests."""
MULTI_ZONE: Final = '{"enabled":true,"type":"multi-zone"}'
SHOOT: Final = "spec.shootTemplate."
SEED: Final = "spec.template.spec.gardenlet.config.seedConfig."
LABEL: Final = f"metadata.labels[{names.MULTI_ZONAL}]"


class Refusal(NamedTuple):
    """A refused request, the policy that refuses it, and the error message."""

    policy: str
    draft: dict[str, Any]
    reported: str


def twin(name: str) -> str:
    return f"metadata.annotations[{name}]"


def make_pools(maximum: int) -> dict[str, Any]:
    """Two pools of which Gardener validates only the first, because it has system components."""
    first = {"name": "system", "machine": {"type": "local"}, "minimum": 1, "maximum": 1}
    more = {"systemComponents": {"allow": False}, "zones": ["local-a", "local-b", "local-c"]}
    second = {**first, "name": "pool", "maximum": maximum, **more}
    return {"provider": {"type": "local", "workers": [first, second]}}


def set_of(annotations: Mapping[str, str] | None = None, **template: Any) -> dict[str, Any]:
    """A set without replicas, with annotations or parts of its Shoot replaced."""
    draft = make_set(unique("set-"), "none-such", 0, **(annotations or {}))
    for part, changes in template.items():
        draft["spec"]["shootTemplate"][part] |= changes
    return draft


def twin_in_template(name: str, value: str) -> dict[str, Any]:
    return set_of(metadata={"annotations": {name: value}})


def labelled_set() -> dict[str, Any]:
    draft = set_of()
    seed = draft["spec"]["template"]["spec"]["gardenlet"]["config"]["seedConfig"]
    seed["metadata"]["labels"][names.MULTI_ZONAL] = "true"
    return draft


def long_set(length: int) -> dict[str, Any]:
    draft = set_of()
    draft["metadata"]["name"] = unique("s").ljust(length, "x")
    return draft


def pools_of_set(maximum: int) -> dict[str, Any]:
    pools = make_pools(maximum)["provider"]
    for pool in pools["workers"]:
        pool |= {"maxSurge": 1, "maxUnavailable": 0}
    return set_of(spec={"provider": pools})


def make_scaling(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "autoscaling.mercari.com/v1alpha1",
        "kind": "ScheduledScaling",
        "metadata": {"name": unique("s"), "namespace": "garden"},
        "spec": {
            "targetRefs": {"tortoiseName": "t"},
            "strategy": {"static": {"minimumMinReplicas": 3}},
            "schedule": {"startAt": "2099-01-01T00:00:00Z", "finishAt": "2099-01-02T00:00:00Z"},
            **spec,
        },
    }


def make_registration() -> dict[str, Any]:
    taken, free = {"kind": "Worker", "type": "aws"}, {"kind": "Worker", "type": "x"}
    metadata = {"name": unique("r")}
    spec = {"resources": [taken, free]}
    return {"apiVersion": CORE, "kind": "ControllerRegistration", "metadata": metadata} | {
        "spec": spec
    }


REFUSED: Final[Mapping[str, Refusal]] = {
    "a pool with fewer nodes than zones": Refusal(
        "shoot.workers", make_shoot(**make_pools(2)), "spec.provider.workers[1].maximum"
    ),
    "an unknown sizing strategy": Refusal(
        "shoot.sizing",
        make_shoot(annotations={names.SIZING_STRATEGY: "Greedy"}),
        twin(names.SIZING_STRATEGY),
    ),
    "a twin that is no JSON of the field": Refusal(
        "shoot.ha",
        make_shoot(annotations={names.HIGH_AVAILABILITY: "multi-zone"}),
        twin(names.HIGH_AVAILABILITY),
    ),
    "an unknown region affinity": Refusal(
        "shoot.ha",
        make_shoot(annotations={names.REGION_AFFINITY: "maybe"}),
        twin(names.REGION_AFFINITY),
    ),
    "a set whose replicas could have no name": Refusal(
        "managedseedset.rules", long_set(20), "metadata.name"
    ),
    "a set's share of unready shoots": Refusal(
        "managedseedset.rules",
        set_of({names.MAX_UNREADY_SHOOTS: "some"}),
        twin(names.MAX_UNREADY_SHOOTS),
    ),
    "a set's number of replicas at a time": Refusal(
        "managedseedset.rules", set_of({names.MAX_PARALLEL: "0"}), twin(names.MAX_PARALLEL)
    ),
    "a set that is perhaps paused": Refusal(
        "managedseedset.rules", set_of({names.PAUSED: "maybe"}), twin(names.PAUSED)
    ),
    "a set that is perhaps rolled": Refusal(
        "managedseedset.rules", set_of({names.ROLLOUT: "maybe"}), twin(names.ROLLOUT)
    ),
    "high availability in a template": Refusal(
        "managedseedset.rules",
        twin_in_template(names.HIGH_AVAILABILITY, '{"enabled":true,"type":"galaxy"}'),
        f"{SHOOT}{twin(names.HIGH_AVAILABILITY)}.type",
    ),
    "region affinity in a template": Refusal(
        "managedseedset.rules",
        twin_in_template(names.REGION_AFFINITY, "maybe"),
        f"{SHOOT}{twin(names.REGION_AFFINITY)}",
    ),
    "sizing in a template": Refusal(
        "managedseedset.rules",
        twin_in_template(names.SIZING_STRATEGY, "Greedy"),
        f"{SHOOT}{twin(names.SIZING_STRATEGY)}",
    ),
    "a short pool in a template": Refusal(
        "managedseedset.rules", pools_of_set(2), f"{SHOOT}spec.provider.workers[1].maximum"
    ),
    "a multi-zonal template on one zone": Refusal(
        "managedseedset.rules", labelled_set(), f"{SEED}{LABEL}"
    ),
    "an autoscaler without a set": Refusal(
        "seedautoscaler.rules", make_minimal_autoscaler("no-such-set"), "spec.scaleTargetRef.name"
    ),
    "a schedule that ends before it begins": Refusal(
        "scheduledscaling.rules",
        make_scaling(
            schedule={"startAt": "2099-01-02T00:00:00Z", "finishAt": "2099-01-01T00:00:00Z"}
        ),
        "spec.schedule.finishAt",
    ),
    "a second controller for a kind and type": Refusal(
        "controllerregistration.rules", make_registration(), "spec.resources[0]"
    ),
}

OTHERWISE: Final[Mapping[str, str]] = {
    "shoot.scheduler": "test_our_scheduler_is_chosen_where_a_namespace_asks_for_it",
    "shoot.placement": "test_a_binding_of_ours_is_held_to_the_zones_it_needs",
    "seed.zones": "test_a_multi_zonal_seed_stands_on_three_zones_and_stays_so",
    "seedautoscaler.defaults": "test_an_autoscaler_gets_what_it_leaves_out",
}
"""Policies that need more than one request, and the test of this module that meets them."""

UNSERVED: Final[Mapping[str, str]] = {
    "tortoise.floors": "tortoises.autoscaling.mercari.com",
    "tortoise.constraints": "tortoises.autoscaling.mercari.com",
    "autoscaler.floors": "tortoises.autoscaling.mercari.com",
    "extension.rules": "infrastructures.extensions.gardener.cloud",
    "machinedeployment.pool": "machinedeployments.machine.sapcloud.io",
    "machinedeployment.rolling": "machinedeployments.machine.sapcloud.io",
    "machineset.permits": "machinesets.machine.sapcloud.io",
}
"""Policies about kinds of seeds or workloads, which a garden does not serve.

test_scheduled_scaling, test_admission, test_nodegroups and test_pool_rolls meet them.
"""


def test_every_policy_of_the_closed_list_is_met_or_excused() -> None:
    section = DOCS.read_text().partition("## Policies that Espalier adds\n")[2]
    listed = re.findall(r"^\| `([^`]+)` \|", section.partition("\n## ")[0], re.MULTILINE)
    met = [{refusal.policy for refusal in REFUSED.values()}, set(OTHERWISE), set(UNSERVED)]
    assert sorted(listed) == sorted(policy for some in met for policy in some)
    assert all(test in globals() for test in OTHERWISE.values())


async def test_what_is_excused_is_not_served_in_a_garden(gardener):
    defined = await gardener.kubectl("get", "crd", "-o", "name")
    assert not [each for each in UNSERVED.values() if f"/{each}\n" in defined.stdout]


@pytest.mark.parametrize("name", REFUSED)
async def test_a_policy_of_the_list_refuses(gardener, name):
    policy, draft, reported = REFUSED[name]
    before = await verdicts(gardener, policy, "deny")
    assert reported in await refused(gardener, draft, *DRY)
    assert await verdicts(gardener, policy, "deny") == before + 1


async def test_the_same_without_the_fault_is_taken(gardener):
    sound = [
        make_shoot(**make_pools(3)),
        make_shoot(annotations={names.SIZING_STRATEGY: "Adaptive"}),
        make_shoot(annotations={names.HIGH_AVAILABILITY: MULTI_ZONE}),
        make_shoot(annotations={names.REGION_AFFINITY: "preferred"}),
        set_of({names.MAX_UNREADY_SHOOTS: "25%", names.MAX_PARALLEL: "2", names.PAUSED: "true"}),
        twin_in_template(names.HIGH_AVAILABILITY, MULTI_ZONE),
        twin_in_template(names.REGION_AFFINITY, "required"),
        twin_in_template(names.SIZING_STRATEGY, "Adaptive"),
        pools_of_set(3),
        make_scaling(),
    ]
    await gardener.kubectl(*DRY, "-f", "-", input=sound)


async def test_our_own_namespace_is_left_out_for_workloads_only(gardener):
    own, left_out = "espalier-system", {}
    for hooks in ("mutating", "validating"):
        found = await gardener.get(f"{hooks}webhookconfiguration", "espalier")
        for webhook in found["webhooks"]:
            chosen = webhook.get("namespaceSelector", {}).get("matchExpressions", [])
            excluded = [each["values"] for each in chosen if each["operator"] == "NotIn"]
            resource = webhook["rules"][0]["resources"][0].partition("/")[0]
            left_out[resource] = any(own in values for values in excluded)
    workloads = {"tortoises", "horizontalpodautoscalers"}
    assert {resource for resource, is_left_out in left_out.items() if is_left_out} == workloads
    assert {"shoots", "seedautoscalers", "scheduledscalings"} <= left_out.keys()


async def test_an_autoscaler_gets_what_it_leaves_out(gardener):
    target = await create(gardener, set_of())
    before = await verdicts(gardener, "seedautoscaler.defaults", "allow")
    made = await create(gardener, make_minimal_autoscaler(target))
    # The defaults of the CRD come first; the policy is called all the same.
    assert await verdicts(gardener, "seedautoscaler.defaults", "allow") > before
    spec = (await gardener.get("seedautoscaler", made, GARDEN))["spec"]
    assert (spec["minReplicas"], spec["mode"]) == (1, "Auto")
    await gardener.kubectl("delete", "seedautoscaler", made, GARDEN)


async def test_a_multi_zonal_seed_stands_on_three_zones_and_stays_so(gardener):
    seed, base = unique("seed-"), unique()
    await ready_seed(gardener, seed, "abc")
    change = {"provider": {"zones": ["local-a", "local-b"]}}
    before = await verdicts(gardener, "seed.zones", "deny")
    assert "spec.provider.zones" in await patch(gardener, "seed", seed, check=False, spec=change)
    domain = {"dns": {"domain": f"{base}.garden.{DOMAIN}"}}
    await create(gardener, make_shoot(base, "garden", **domain), "none-such")
    template = labelled_set()["spec"]["template"]["spec"]
    managed = {
        "apiVersion": SEEDS,
        "kind": "ManagedSeed",
        "metadata": {"name": base, "namespace": "garden"},
        "spec": {"shoot": {"name": base}, **template},
    }
    assert f"seedConfig.{LABEL}" in await refused(gardener, managed, *DRY)
    assert await verdicts(gardener, "seed.zones", "deny") == before + 2


async def test_a_binding_of_ours_is_held_to_the_zones_it_needs(gardener):
    seed = unique("seed-")
    await ready_seed(gardener, seed, "abc")
    tolerant = MULTI_ZONE.replace("}", ',"failureTolerance":2}')
    requested = make_shoot(
        annotations={names.HIGH_AVAILABILITY: tolerant},
        controlPlane={"highAvailability": {"failureTolerance": {"type": "zone"}}},
        schedulerName="espalier",
    )
    name = await create(gardener, requested, "none-such")
    before = await verdicts(gardener, "shoot.placement", "deny")
    binding = ("shoot", name, HERE, "--subresource=binding", "--dry-run=server")
    reported = await patch(gardener, *binding, check=False, spec={"seedName": seed})
    assert "failureTolerance 2 needs 5" in reported
    assert await verdicts(gardener, "shoot.placement", "deny") == before + 1


async def test_our_scheduler_is_chosen_where_a_namespace_asks_for_it(gardener):
    label = names.SCHEDULER_NAMESPACE
    await gardener.kubectl("label", "namespace", "garden", f"{label}=true")

    async def chosen():
        # gardener-apiserver learns of the label with a delay.
        draft = make_shoot(namespace="garden")
        done = await gardener.kubectl(
            *DRY, "-f", "-", "-o", "jsonpath={.spec.schedulerName}", input=draft
        )
        return done.stdout == "espalier"

    try:
        await eventually(chosen)
    finally:
        await gardener.kubectl("label", "namespace", "garden", f"{label}-")


async def test_a_self_hosted_shoot_is_nobodys_to_place(gardener):
    seed = unique("seed-")
    await ready_seed(gardener, seed)
    pool = {"name": "cp", "machine": {"type": "local"}, "minimum": 1, "maximum": 1}
    draft = make_shoot(
        namespace="garden",
        schedulerName="espalier",
        provider={"type": "local", "workers": [{**pool, "controlPlane": {}}]},
    )
    name = await create(gardener, draft, seed)
    binding = ("shoot", name, GARDEN, "--subresource=binding")
    reported = await patch(gardener, *binding, check=False, spec={"seedName": seed})
    assert "cannot set seedName for self-hosted shoots" in reported
    # So are objects that come after the one that was reconciled.
    await placed(
        gardener,
        await create(gardener, make_shoot(schedulerName="espalier"), seed),
        seed,
    )
    assert await events(gardener, name, "SchedulingFailed", "garden") == []
    assert not (await gardener.shoot(name, "garden"))["spec"].get("seedName")


LIKE_GARDENER: Final = {
    "admission": {"modes": {"shoot.workers": "warn", "shoot.scheduler": "deny"}},
    "scheduler": {"profile": "gardener", "headroom": 1},
}


async def test_with_other_settings(gardener):
    """Restart the server once for all tests with settings of their own."""
    async with gardener.with_settings(LIKE_GARDENER):
        await _places_like_gardener_and_keeps_slots_free(gardener)
        await _warns_people_and_no_controller(gardener)


async def _places_like_gardener_and_keeps_slots_free(gardener):
    seed = unique("seed-")
    await ready_seed(gardener, seed, shoots=3, more={"persistent-volumes": "0"})
    ours = [await create(gardener, make_shoot(schedulerName="espalier"), seed) for _ in range(3)]

    async def settled() -> list[str]:
        found = [await gardener.shoot(name) for name in ours]
        waiting = [each for each in found if not each["spec"].get("seedName")]
        reported = [each for each in waiting if each["status"].get("lastOperation")]
        return [each["metadata"]["name"] for each in reported] if len(waiting) == 1 else []

    (last,) = await eventually(settled)
    assert "no capacity left for shoots" in (await events(gardener, last, "SchedulingFailed"))[0]
    await placed(gardener, await create(gardener, make_shoot(), seed), seed)
    assert not (await gardener.shoot(last))["spec"].get("seedName")


async def _warns_people_and_no_controller(gardener):
    done = await gardener.kubectl("create", "-f", "-", input=make_shoot(**make_pools(2)))
    assert "Warning: shoot.workers: " in done.stderr
    name = done.stdout.split()[0].partition("/")[2]
    before = await verdicts(gardener, "shoot.workers", "warn")
    shoot = ("shoot", name, HERE)
    assert "Warning" not in await patch(gardener, *shoot, *MANAGER, spec={"purpose": "testing"})
    assert await verdicts(gardener, "shoot.workers", "warn") > before
    reported = await patch(gardener, *shoot, spec={"purpose": "evaluation"})
    assert "Warning: shoot.workers: " in reported
