"""Rollouts of sets whose replicas Gardener creates: only changed fields are written."""

import copy

import pytest

from tests.support.fake_gardener import BESIDE, FakeGardener
from tests.support.set_objects import make_hosted_shoot
from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.shoots import Shoot
from webhook.domain.options import Options
from webhook.kube.meta import Draft, Object


def _config(**config: str) -> Draft:
    return {"spec": {"gardenlet": {"config": config}}}


async def test_the_present_template_becomes_the_first_revision_without_a_rollout() -> None:
    garden = FakeGardener()
    before = [copy.deepcopy(garden.raw("Shoot", f"leaf-{n}")["spec"]) for n in range(3)]
    await garden.settle()
    (revision,) = garden.api.memory.store(ControllerRevision).list()
    assert (revision.revision, garden.status["currentRevision"]) == (1, revision.name)
    assert [garden.raw("Shoot", f"leaf-{n}")["spec"] for n in range(3)] == before
    labels = {
        garden.raw(kind, f"leaf-{n}")["metadata"]["labels"][names.CONTROLLER_REVISION_HASH]
        for kind in ("Shoot", "ManagedSeed")
        for n in range(3)
    }
    assert labels == {revision.name}
    assert garden.condition(names.PROGRESSING)["reason"] == "Complete"
    assert garden.condition(names.DRIFTED)["status"] == "False"


@pytest.mark.parametrize(
    ("options", "annotations"),
    [
        pytest.param(BESIDE, {names.ROLLOUT: ""}, id="empty annotation"),
        pytest.param(BESIDE, {names.ROLLOUT: "false"}, id="annotated false"),
        pytest.param(Options(), {}, id="not beside a Gardener"),
    ],
)
async def test_sets_that_are_ignored(options: Options, annotations: dict[str, str]) -> None:
    garden = FakeGardener(options=options, notes=annotations)
    await garden.settle(20)
    assert not garden.api.memory.store(ControllerRevision).list()


async def test_a_change_rolls_from_the_largest_ordinal_to_the_smallest() -> None:
    garden = FakeGardener()
    await garden.settle()
    await garden.template(purpose="production")
    await garden.settle()
    assert garden.purposes() == ["production"] * 3
    assert garden.updates() == ["leaf-2", "leaf-1", "leaf-0"]
    assert garden.status["currentRevision"] == garden.status["updateRevision"]
    assert not {"currentReplicas", "updatedReplicas", "replicas"} & garden.status.keys()
    assert ("RolledOut" in {reason for reason, _ in garden.events()}) is True


async def test_a_drifted_replica_is_reported_and_gets_only_changed_fields() -> None:
    garden = FakeGardener()
    (pool,) = copy.deepcopy(garden.raw("Shoot", "leaf-1")["spec"]["provider"]["workers"])
    drifted = {"spec": {"provider": {"workers": [{**pool, "maximum": 9}]}}}
    await garden.change(Shoot, "leaf-1", drifted)
    await garden.settle()
    assert (
        "leaf-1: Shoot spec.provider.workers[pool].maximum"
        in (garden.condition(names.DRIFTED)["message"])
    )
    assert names.CONTROLLER_REVISION_HASH not in garden.raw("Shoot", "leaf-1")["metadata"]["labels"]
    assert garden.condition(names.PROGRESSING)["message"].endswith(", leaf-1 with differences")
    await garden.template(purpose="production")
    await garden.settle()
    assert garden.purposes() == ["production"] * 3
    assert garden.raw("Shoot", "leaf-1")["spec"]["provider"]["workers"][0]["maximum"] == 9
    assert garden.condition(names.DRIFTED)["status"] == "True"


async def test_a_version_that_maintenance_raised_stays() -> None:
    garden = FakeGardener()
    await garden.settle()
    lifted = {"spec": {"kubernetes": {"version": "1.35.9"}}}
    await garden.change(Shoot, "leaf-0", lifted)
    await garden.template(kubernetes={"version": "1.35.4"})
    await garden.settle()
    versions = [garden.raw("Shoot", f"leaf-{n}")["spec"]["kubernetes"]["version"] for n in range(3)]
    assert versions == ["1.35.9", "1.35.4", "1.35.4"]
    assert garden.condition(names.PROGRESSING)["reason"] == "Complete"


async def test_fields_that_a_revision_drops_are_removed() -> None:
    garden = FakeGardener()
    await garden.settle()
    await garden.template(purpose="production")
    await garden.settle()
    await garden.template(purpose=None)
    await garden.settle()
    assert garden.purposes() == ["", "", ""]


async def test_the_gardenlets_configuration_is_merged_deeply() -> None:
    garden = FakeGardener()
    await garden.settle()
    await garden.change(ManagedSeed, "leaf-0", _config(logFormat="text"))
    await garden.settle()
    change = {"spec": {"template": _config(logLevel="debug")}}
    await garden.change(ManagedSeedSet, "leaf", change)
    await garden.settle()
    config = garden.raw("ManagedSeed", "leaf-0")["spec"]["gardenlet"]["config"]
    assert (config["logFormat"], config["logLevel"]) == ("text", "debug")
    assert config["seedConfig"]["spec"]["provider"]["type"] == "aws"


async def test_partition_and_pause_hold_replicas_back() -> None:
    garden = FakeGardener()
    await garden.settle()
    strategy = {"updateStrategy": {"rollingUpdate": {"partition": 2}}}
    await garden.change(ManagedSeedSet, "leaf", {"spec": strategy})
    await garden.template(purpose="production")
    await garden.settle()
    assert garden.purposes() == ["", "", "production"]
    assert garden.condition(names.PROGRESSING)["reason"] == "PartitionReached"
    paused = {"metadata": {"annotations": {names.PAUSED: "true"}}}
    await garden.change(ManagedSeedSet, "leaf", paused)
    strategy = {"updateStrategy": {"rollingUpdate": {"partition": 0}}}
    await garden.change(ManagedSeedSet, "leaf", {"spec": strategy})
    await garden.settle()
    assert garden.purposes() == ["", "", "production"]
    assert garden.condition(names.PROGRESSING)["reason"] == "Paused"
    resumed = {"metadata": {"annotations": {names.PAUSED: None}}}
    await garden.change(ManagedSeedSet, "leaf", resumed)
    await garden.settle()
    assert garden.purposes() == ["production"] * 3


@pytest.mark.parametrize(
    ("limit", "purposes", "reason"),
    [
        pytest.param("0", ["", "", ""], "HostedShootsUnready", id="none allowed"),
        pytest.param("1", ["production"] * 3, "Complete", id="as many as allowed"),
        pytest.param("4%", ["", "", ""], "HostedShootsUnready", id="more than the allowed share"),
        pytest.param("5%", ["production"] * 3, "Complete", id="the allowed share"),
    ],
)
async def test_one_unready_shoot_of_twenty(limit: str, purposes: list[str], reason: str) -> None:
    garden = FakeGardener(notes={names.MAX_UNREADY_SHOOTS: limit})
    await garden.settle()
    for number in range(20):
        garden.put(make_hosted_shoot(f"hosted-{number}", "leaf-2"))
    await garden.settle(20)
    await garden.change(
        *(Shoot, "hosted-0", {"metadata": {"annotations": {names.SIMULATE: "fail"}}}),
        namespace="garden-dev",
    )
    await garden.settle(20)
    await garden.template(purpose="production")
    await garden.settle(60)
    assert garden.purposes() == purposes
    assert garden.condition(names.PROGRESSING)["reason"] == reason


async def test_a_replica_created_meanwhile_has_the_present_template() -> None:
    garden = FakeGardener()
    await garden.settle()
    await garden.template(purpose="production")
    garden.clock.pass_time(5)
    await garden.settle()
    garden.make_replica(3)
    await garden.settle()
    assert garden.updates() == ["leaf-2", "leaf-1", "leaf-0"]
    label = garden.raw("Shoot", "leaf-3")["metadata"]["labels"][names.CONTROLLER_REVISION_HASH]
    assert label == garden.status["updateRevision"]


async def test_a_replica_that_is_deleted_before_its_turn_is_skipped() -> None:
    garden = FakeGardener()
    await garden.settle()
    finalizers = {"metadata": {"finalizers": ["gardener", "test"]}}
    await garden.change(ManagedSeed, "leaf-1", finalizers)
    await garden.delete(ManagedSeed, "leaf-1")
    await garden.template(purpose="production")
    await garden.settle()
    assert garden.purposes() == ["production", "", "production"]


@pytest.mark.parametrize("model", [Shoot, ManagedSeed])
async def test_a_rollout_does_not_wait_for_a_deleted_replica(
    model: type[Shoot | ManagedSeed],
) -> None:
    garden = FakeGardener()
    await garden.settle()
    held = {"metadata": {"finalizers": ["gardener", "test"]}}
    await garden.change(model, "leaf-2", held)
    await garden.template(purpose="production")
    await garden.run(10, lambda: garden.updates() == ["leaf-2"])
    await garden.delete(model, "leaf-2")
    await garden.settle()
    assert garden.updates() == ["leaf-2", "leaf-1", "leaf-0"]
    assert garden.reason == "Complete"


async def test_a_refused_template_is_reported_by_field() -> None:
    garden = FakeGardener()
    await garden.settle()

    def validate(model: type[Object], new: Draft) -> str | None:
        is_refused = model is Shoot and new["spec"].get("purpose") == "production"
        return "spec.purpose: no" if is_refused else None

    garden.server.validate = validate
    await garden.template(purpose="production")
    await garden.settle(3)
    condition = garden.condition(names.PROGRESSING)
    assert (condition["status"], condition["reason"]) == ("False", "TemplateRefused")
    assert "spec.purpose: no" in condition["message"]
