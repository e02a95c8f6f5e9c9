"""Rollouts of sets whose replicas a Gardener makes: only what changed, nothing of Gardener's."""

import copy
from typing import Any

import pytest

from tests.sets import make_guest
from tests.unit.controllers.gardened import BESIDE, Gardened
from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Draft
from webhook.api.shoots import Shoot
from webhook.cluster.errors import InvalidError
from webhook.domain.options import Options


def _config(**config: str) -> Draft:
    return {"spec": {"gardenlet": {"config": config}}}


async def test_the_present_template_is_the_first_revision_and_nothing_is_touched() -> None:
    garden = Gardened()
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
        pytest.param(BESIDE, {names.ROLLOUT: ""}, id="nothing said"),
        pytest.param(BESIDE, {names.ROLLOUT: "false"}, id="refused"),
        pytest.param(Options(), {}, id="no Gardener: the whole of it is ours"),
    ],
)
async def test_sets_that_are_left_alone(options: Options, annotations: dict[str, str]) -> None:
    garden = Gardened(options=options, notes=annotations)
    await garden.settle(20)
    assert not garden.api.memory.store(ControllerRevision).list()


async def test_a_change_rolls_from_the_largest_ordinal_to_the_smallest() -> None:
    garden = Gardened()
    await garden.settle()
    await garden.template(purpose="production")
    await garden.settle()
    assert garden.purposes() == ["production"] * 3
    assert garden.updates() == ["leaf-2", "leaf-1", "leaf-0"]
    assert garden.status["currentRevision"] == garden.status["updateRevision"]
    assert not {"currentReplicas", "updatedReplicas", "replicas"} & garden.status.keys()
    assert ("RolledOut" in {reason for reason, _ in garden.events()}) is True


async def test_a_drifted_replica_is_told_and_gets_only_what_changed() -> None:
    garden = Gardened()
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


async def test_a_version_that_maintenance_lifted_stays() -> None:
    garden = Gardened()
    await garden.settle()
    lifted = {"spec": {"kubernetes": {"version": "1.35.9"}}}
    await garden.change(Shoot, "leaf-0", lifted)
    await garden.template(kubernetes={"version": "1.35.4"})
    await garden.settle()
    versions = [garden.raw("Shoot", f"leaf-{n}")["spec"]["kubernetes"]["version"] for n in range(3)]
    assert versions == ["1.35.9", "1.35.4", "1.35.4"]
    assert garden.condition(names.PROGRESSING)["reason"] == "Complete"


async def test_what_a_revision_drops_goes() -> None:
    garden = Gardened()
    await garden.settle()
    await garden.template(purpose="production")
    await garden.settle()
    await garden.template(purpose=None)
    await garden.settle()
    assert garden.purposes() == ["", "", ""]


async def test_the_gardenlets_configuration_is_a_tree() -> None:
    garden = Gardened()
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
    garden = Gardened()
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
        pytest.param("0", ["", "", ""], "HostedShootsUnready", id="none may be"),
        pytest.param("1", ["production"] * 3, "Complete", id="as many as may be"),
        pytest.param("4%", ["", "", ""], "HostedShootsUnready", id="more than the part that may"),
        pytest.param("5%", ["production"] * 3, "Complete", id="the part that may"),
    ],
)
async def test_one_unready_shoot_of_twenty(limit: str, purposes: list[str], reason: str) -> None:
    garden = Gardened(notes={names.MAX_UNREADY_SHOOTS: limit})
    await garden.settle()
    for number in range(20):
        garden.put(make_guest(f"guest-{number}", "leaf-2"))
    await garden.settle(20)
    await garden.change(
        *(Shoot, "guest-0", {"metadata": {"annotations": {names.SIMULATE: "fail"}}}),
        namespace="garden-dev",
    )
    await garden.settle(20)
    await garden.template(purpose="production")
    await garden.settle(60)
    assert garden.purposes() == purposes
    assert garden.condition(names.PROGRESSING)["reason"] == reason


async def test_a_replica_that_is_made_meanwhile_comes_from_the_present_template() -> None:
    garden = Gardened()
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
    garden = Gardened()
    await garden.settle()
    finalizers = {"metadata": {"finalizers": ["gardener", "test"]}}
    await garden.change(ManagedSeed, "leaf-1", finalizers)
    await garden.delete(ManagedSeed, "leaf-1")
    await garden.template(purpose="production")
    await garden.settle()
    assert garden.purposes() == ["production", "", "production"]


@pytest.mark.parametrize("model", [Shoot, ManagedSeed])
async def test_a_replica_that_is_deleted_while_it_changes_is_waited_for_no_longer(
    model: type[Shoot | ManagedSeed],
) -> None:
    garden = Gardened()
    await garden.settle()
    held = {"metadata": {"finalizers": ["gardener", "test"]}}
    await garden.change(model, "leaf-2", held)
    await garden.template(purpose="production")
    await garden.run(10, lambda: garden.updates() == ["leaf-2"])
    await garden.delete(model, "leaf-2")
    await garden.settle()
    assert garden.updates() == ["leaf-2", "leaf-1", "leaf-0"]
    assert garden.reason == "Complete"


async def test_a_refused_template_is_told_with_its_fields() -> None:
    garden = Gardened()
    await garden.settle()
    original = garden.api._store

    def store(kind: Any, key: Any, old: Draft, new: Draft, sub: str) -> Draft:
        if kind.name == "Shoot" and new["spec"].get("purpose") == "production":
            causes = [{"field": "spec.purpose", "message": "no"}]
            raise InvalidError(422, "Invalid", "spec.purpose: no", {"causes": causes})
        return original(kind, key, old, new, sub)

    garden.api._store = store  # type: ignore[method-assign]
    await garden.template(purpose="production")
    await garden.settle(3)
    told = garden.condition(names.PROGRESSING)
    assert (told["status"], told["reason"]) == ("False", "TemplateRefused")
    assert "spec.purpose: no" in told["message"]
