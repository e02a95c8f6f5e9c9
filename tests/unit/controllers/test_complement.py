"""Rollouts of sets whose replicas a Gardener makes: only what changed, nothing of Gardener's."""

import copy
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.admission import read
from tests.gardens import PLAYED, Garden
from tests.sets import make_guest, make_parent, make_set
from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Draft
from webhook.api.shoots import Shoot
from webhook.cli.dev.provider import REGISTRAR
from webhook.cluster.errors import InvalidError
from webhook.controllers.complement import rolling
from webhook.controllers.complement.controller import ROLLOUT
from webhook.controllers.complement.plan import plan
from webhook.domain.options import Options, RolloutOptions
from webhook.domain.replicas import Replica
from webhook.domain.rollout import Settings, Wait, fill_in

BESIDE = Options(beside_gardener=True)


def _config(**config: str) -> Draft:
    return {"spec": {"gardenlet": {"config": config}}}


class Gardened(Garden):
    """A garden in which somebody else makes the replicas of the set `leaf`."""

    def __init__(
        self, replicas: int = 3, options: Options = BESIDE, notes: Draft | None = None
    ) -> None:
        rows = (replace(ROLLOUT, plan=self._plan), *PLAYED, REGISTRAR)
        super().__init__(options, rows)
        self.put(make_parent())
        owner = make_set(replicas=replicas)
        config = {"seedConfig": owner["spec"]["template"]["spec"].pop("seedTemplate")}
        owner["spec"]["template"]["spec"]["gardenlet"] = {"config": config}
        owner["metadata"]["annotations"] = {names.ROLLOUT: "true", **(notes or {})}
        self.put(owner)
        for ordinal in range(replicas):
            self.make_replica(ordinal)

    def _plan(self, owner: ManagedSeedSet, snapshot: Any) -> Any:
        raws = {
            body["metadata"]["uid"]: body
            for (kind, _), body in self.api.objects.items()
            if kind in ("Shoot", "ManagedSeed")
        }
        return plan(owner, snapshot, raws)

    def make_replica(self, ordinal: int) -> None:
        """Do as gardener-controller-manager does, from the present templates."""
        owner = self.get(ManagedSeedSet, "leaf")
        spec = self.raw("ManagedSeedSet", "leaf")["spec"]
        name = f"leaf-{ordinal}"
        reference = {
            "apiVersion": "seedmanagement.gardener.cloud/v1alpha1",
            "kind": "ManagedSeedSet",
            "name": "leaf",
            "uid": owner.uid,
            "controller": True,
        }
        for kind, api, part in (
            ("Shoot", "core.gardener.cloud/v1beta1", "shootTemplate"),
            ("ManagedSeed", "seedmanagement.gardener.cloud/v1alpha1", "template"),
        ):
            body = copy.deepcopy(fill_in(spec[part], name))
            body |= {"apiVersion": api, "kind": kind}
            body["metadata"] |= {
                "name": name, "namespace": "garden", "ownerReferences": [reference],
            }  # fmt: skip
            if kind == "ManagedSeed":
                body["spec"]["shoot"] = {"name": name}
            self.put(body)

    def raw(self, kind: str, name: str) -> Draft:
        return next(
            body
            for (found, key), body in self.api.objects.items()
            if found == kind and key.name == name
        )

    async def template(self, **spec: Any) -> None:
        await self.change(ManagedSeedSet, "leaf", {"spec": {"shootTemplate": {"spec": spec}}})

    async def settle(self, seconds: float = 30) -> None:
        await self.run(seconds)

    @property
    def status(self) -> Draft:
        found: Draft = self.raw("ManagedSeedSet", "leaf").get("status") or {}
        return found

    def condition(self, kind: str) -> Draft:
        return next((c for c in self.status.get("conditions", ()) if c["type"] == kind), {})

    def purposes(self) -> list[str]:
        shoots = [self.raw("Shoot", f"leaf-{ordinal}") for ordinal in range(3)]
        return [shoot["spec"].get("purpose", "") for shoot in shoots]

    def updates(self) -> list[str]:
        return [message.split()[1] for reason, message in self.events() if reason == "Updating"]


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


async def test_a_replica_that_is_deleted_under_a_roll_is_skipped() -> None:
    garden = Gardened()
    await garden.settle()
    finalizers = {"metadata": {"finalizers": ["gardener", "test"]}}
    await garden.change(ManagedSeed, "leaf-1", finalizers)
    await garden.delete(ManagedSeed, "leaf-1")
    await garden.template(purpose="production")
    await garden.settle()
    assert garden.purposes() == ["production", "", "production"]


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


@pytest.mark.parametrize(
    ("respects", "operation"),
    [
        pytest.param(False, "reconcile", id="asks for an operation at once"),
        pytest.param(True, None, id="waits for the window"),
    ],
)
async def test_shoots_that_confine_changes(respects: bool, operation: str | None) -> None:
    options = Options(beside_gardener=True, rollout=RolloutOptions(respect_window=respects))
    garden = Gardened(1, options)
    window = {"begin": "220000+0000", "end": "230000+0000"}
    maintenance = {"confineSpecUpdateRollout": True, "timeWindow": window}
    await garden.change(Shoot, "leaf-0", {"spec": {"maintenance": maintenance}})
    await garden.settle()
    seen: list[str | None] = []
    original = garden.api._store

    def store(kind: Any, key: Any, old: Draft, new: Draft, sub: str) -> Draft:
        """Raise no generation for a spec that nobody asks to be reconciled, as Gardener does."""
        changed = kind.name == "Shoot" and not sub and old["spec"] != new["spec"]
        if not changed:
            return original(kind, key, old, new, sub)
        asked = new["metadata"].get("annotations", {}).pop(names.OPERATION, None)
        seen.append(asked)
        stored = original(kind, key, old, new, sub)
        if asked is None:
            stored["metadata"]["generation"] = old["metadata"]["generation"]
            return garden.api.put(kind, stored)
        return stored

    garden.api._store = store  # type: ignore[method-assign]
    await garden.template(purpose="production")
    await garden.settle(60)
    assert seen == [operation]
    reason = garden.condition(names.PROGRESSING)["reason"]
    assert reason == ("MaintenanceWindow" if respects else "Complete")
    if respects:
        assert "which opens at" in garden.condition(names.PROGRESSING)["message"]


@pytest.mark.parametrize(
    ("generation", "observed", "reason"),
    [
        pytest.param(3, 3, "MaintenanceWindow", id="nothing was raised"),
        pytest.param(4, 3, "ShootReconciling", id="an operation from before"),
        pytest.param(4, 4, "SeedNotReady", id="an operation that began afterwards"),
    ],
)
def test_only_an_operation_that_began_after_our_write_counts(
    generation: int, observed: int, reason: str
) -> None:
    shoot = {
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "Shoot",
        "metadata": {
            "name": "leaf-0",
            "generation": generation,
            "annotations": {names.ROLLED_GENERATION: "4"},
        },
        "status": {
            "observedGeneration": observed,
            "lastOperation": {"type": "Reconcile", "state": "Succeeded"},
        },
    }
    found = read(shoot)
    assert isinstance(found, Shoot)
    replica = Replica("leaf-0", 0, found)
    waits = rolling.trouble_of(replica, Settings(), datetime(2026, 1, 1, tzinfo=UTC))
    assert isinstance(waits, Wait)
    assert waits.reason == reason
    assert not rolling.is_done(replica)
