"""Sets of managed seeds from creation to deletion, with fake gardenlets and a fake clock."""

from typing import Any

import pytest

from tests.support.fake_garden import FakeGarden
from tests.support.set_objects import LABELS, make_hosted_shoot, make_parent, make_pool, make_set
from webhook.api import names
from webhook.api.core import ControllerRevision
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseedset.plan import plan
from webhook.domain.options import Options
from webhook.domain.sets import rollout
from webhook.domain.sets.replicas import revision_of
from webhook.kube import conditions
from webhook.kube.meta import Draft, Object, ObjectKey
from webhook.runtime.actions import NOTHING
from webhook.state.snapshot import Snapshot


class Sets(FakeGarden):
    """A garden with one set in it."""

    async def grow(self, replicas: int = 3, **spec: Any) -> None:
        self.put(make_parent())
        self.put(make_set(replicas=replicas, **spec))
        await self.until_ready(replicas)

    @property
    def owner(self) -> ManagedSeedSet:
        return self.get(ManagedSeedSet, "leaf")

    @property
    def replicas(self) -> list[str]:
        return [name for name in self.names(Shoot) if name.startswith("leaf-")]

    async def until_ready(self, replicas: int, seconds: float = 600) -> None:
        def is_ready() -> bool:
            status, generation = self.owner.status, self.owner.metadata.generation
            ready = status.ready_replicas == status.replicas == replicas
            return ready and status.observed_generation == generation

        await self.run(seconds, is_ready)
        assert is_ready(), self.owner.status

    async def scale(self, replicas: int) -> None:
        await self.change(ManagedSeedSet, "leaf", {"spec": {"replicas": replicas}})

    async def retemplate(self, version: str) -> None:
        spec = {"kubernetes": {"version": version}}
        await self.change(ManagedSeedSet, "leaf", {"spec": {"shootTemplate": {"spec": spec}}})

    def condition(self, kind: str) -> tuple[str, str, str]:
        found = conditions.get(self.owner.status.conditions, kind)
        assert found is not None
        return found.status, found.reason, found.message

    def versions(self) -> dict[str, str]:
        return {name: self.get(Shoot, name).spec.kubernetes.version for name in self.replicas}


@pytest.fixture
def garden() -> Sets:
    return Sets()


async def test_a_set_creates_its_replicas_one_at_a_time(garden: Sets) -> None:
    most = 0

    def watch() -> None:
        nonlocal most
        young = [name for name in garden.replicas if garden.find(Seed, name) is None]
        most = max(most, len(young))

    garden.after_pass = watch
    await garden.grow(3)
    assert most == 1
    assert garden.replicas == ["leaf-0", "leaf-1", "leaf-2"]
    assert garden.names(ManagedSeed) == garden.replicas
    assert garden.names(Seed) == [*garden.replicas, "parent"]
    await garden.run(10)
    status = garden.owner.status
    assert (status.replicas, status.ready_replicas, status.next_replica_number) == (3, 3, 3)
    assert status.current_replicas == status.updated_replicas == 3
    assert status.current_revision == status.update_revision != ""
    assert status.pending_replica is None
    assert status.selector == "set=leaf"
    assert garden.condition(names.AVAILABLE)[:2] == ("True", "ReplicasReady")
    assert garden.condition(names.PROGRESSING)[:2] == ("True", "Complete")
    assert garden.condition(names.SCALE_IN_BLOCKED)[0] == "False"
    shoot = garden.get(Shoot, "leaf-1")
    assert shoot.spec.dns is not None
    assert shoot.spec.dns.domain == "leaf-1.example.org"
    assert revision_of(shoot) == status.update_revision
    assert shoot.controller is not None
    assert shoot.controller.uid == garden.owner.uid


async def test_nothing_is_written_to_a_stable_set(garden: Sets) -> None:
    await garden.grow(2)
    await garden.run(30)
    garden.api.calls.clear()
    await garden.run(60)
    assert [write for write in garden.api.calls if write[1] != "Lease"] == []


async def test_several_replicas_are_created_at_a_time_if_the_set_allows_it(garden: Sets) -> None:
    garden.put(make_parent())
    garden.put(make_set(replicas=4, maxParallel=3))
    await garden.run(600, lambda: len(garden.replicas) == 3)
    assert not garden.names(ManagedSeed)
    await garden.until_ready(4)


async def test_gaps_are_never_filled(garden: Sets) -> None:
    await garden.grow(3)
    await garden.change(
        ManagedSeed, "leaf-1", {"metadata": {"annotations": {names.DELETION_PRIORITY: "1"}}}
    )
    await garden.scale(2)
    await garden.until_ready(2)
    assert garden.replicas == ["leaf-0", "leaf-2"]
    await garden.scale(4)
    await garden.until_ready(4)
    assert garden.replicas == ["leaf-0", "leaf-2", "leaf-3", "leaf-4"]


async def test_no_ordinal_is_used_twice_when_the_status_is_lost(garden: Sets) -> None:
    await garden.grow(3)
    await garden.change(
        ManagedSeed, "leaf-2", {"metadata": {"annotations": {names.DELETION_PRIORITY: "1"}}}
    )
    await garden.scale(2)
    await garden.until_ready(2)
    garden.api.put(*_without_status(garden.api.objects[ManagedSeedSet, garden.owner.key]))
    await garden.scale(3)
    await garden.until_ready(3)
    assert garden.replicas == ["leaf-0", "leaf-1", "leaf-3"]


def _without_status(body: Draft) -> tuple[Any, Draft]:
    return kind_of_model(ManagedSeedSet), {**body, "status": {}}


async def test_only_empty_and_unprotected_replicas_are_removed(garden: Sets) -> None:
    await garden.grow(5, maxParallel=5)
    garden.put(make_hosted_shoot("busy", "leaf-1"))
    protect = {"metadata": {"annotations": {names.PROTECT_FROM_DELETION: "true"}}}
    await garden.change(Shoot, "leaf-3", protect)
    await garden.run(10)
    await garden.scale(1)
    await garden.run(300)
    assert garden.replicas == ["leaf-1", "leaf-3"]
    status, reason, message = garden.condition(names.SCALE_IN_BLOCKED)
    assert (status, reason) == ("True", "ReplicasNeeded")
    assert message == (
        "cannot be removed yet: leaf-1 (used by 1 shoot), leaf-3 (protected from deletion)"
    )
    await garden.delete(Shoot, "busy", "garden-dev")
    await garden.run(300)
    assert garden.replicas == ["leaf-3"]
    assert garden.condition(names.SCALE_IN_BLOCKED)[0] == "False"


async def test_a_seed_is_hidden_and_checked_again_before_it_is_deleted(garden: Sets) -> None:
    await garden.grow(1)
    await garden.scale(0)
    await garden.run(20, lambda: not garden.get(Seed, "leaf-0").is_visible)
    assert names.SCALE_IN in garden.get(ManagedSeed, "leaf-0").metadata.annotations
    garden.put(make_hosted_shoot("late", "leaf-0"))
    await garden.run(60)
    assert garden.get(Seed, "leaf-0").is_visible
    assert names.SCALE_IN not in garden.get(ManagedSeed, "leaf-0").metadata.annotations
    assert names.SCALE_IN not in garden.get(Shoot, "leaf-0").metadata.annotations
    assert garden.condition(names.SCALE_IN_BLOCKED)[0] == "True"


async def test_a_removal_is_undone_when_the_replica_is_needed_again(garden: Sets) -> None:
    await garden.grow(2)
    await garden.scale(1)
    await garden.run(20, lambda: not garden.get(Seed, "leaf-0").is_visible)
    await garden.scale(2)
    await garden.until_ready(2)
    assert garden.replicas == ["leaf-0", "leaf-1"]
    assert garden.get(Seed, "leaf-0").is_visible


async def test_a_changed_template_rolls_from_the_largest_ordinal_to_the_smallest(
    garden: Sets,
) -> None:
    await garden.grow(3)
    first = garden.owner.status.update_revision
    order: list[str] = []

    def watch() -> None:
        for name, version in garden.versions().items():
            if version == "1.35.2" and name not in order:
                order.append(name)

    garden.after_pass = watch
    await garden.retemplate("1.35.2")
    await garden.run(60, lambda: garden.owner.status.updated_replicas == 3)
    await garden.until_ready(3)
    await garden.run(10)
    assert order == ["leaf-2", "leaf-1", "leaf-0"]
    status = garden.owner.status
    assert status.current_revision == status.update_revision != first
    found = [garden.get(ControllerRevision, name) for name in garden.names(ControllerRevision)]
    numbers = {each.name: each.revision for each in found}
    assert numbers == {first: 1, status.update_revision: 2}


async def test_a_rollout_is_complete_only_when_its_last_shoot_is_reconciled(garden: Sets) -> None:
    await garden.grow(1)
    await garden.run(10)
    first = garden.owner.status.current_revision
    played = garden.reconcilers
    garden.reconcilers = [pair for pair in played if not pair[0].name.startswith("dev.")]
    await garden.retemplate("1.35.2")
    await garden.run(10)
    assert garden.versions() == {"leaf-0": "1.35.2"}
    assert garden.condition(names.PROGRESSING)[:2] == ("True", "ShootReconciling")
    assert garden.owner.status.current_revision == first
    garden.reconcilers = played
    await garden.run(10)
    assert garden.condition(names.PROGRESSING)[:2] == ("True", "Complete")
    assert garden.owner.status.current_revision != first


@pytest.mark.parametrize("paused", [False, True])
async def test_an_undone_rollout_is_complete_only_when_its_last_shoot_is_reconciled(
    garden: Sets, paused: bool
) -> None:
    await garden.grow(2)
    await garden.run(10)
    assert garden.condition(names.PROGRESSING)[1] == "Complete"
    await garden.retemplate("1.35.2")
    await garden.run(60, lambda: garden.versions()["leaf-1"] == "1.35.2")
    played = garden.reconcilers
    garden.reconcilers = [pair for pair in played if not pair[0].name.startswith("dev.")]
    await garden.retemplate("1.35.1")
    seen: list[str] = []

    def watch() -> None:
        owner = garden.owner
        if owner.status.observed_generation == owner.metadata.generation:
            seen.append(garden.condition(names.PROGRESSING)[1])

    garden.after_pass = watch
    await garden.run(60, lambda: garden.versions()["leaf-1"] == "1.35.1")
    await garden.change(ManagedSeedSet, "leaf", {"spec": {"paused": paused}})
    await garden.run(20)
    assert {*garden.versions().values()} == {"1.35.1"}
    assert seen
    assert "Complete" not in seen
    assert seen[-1] == ("Updating" if paused else "ShootReconciling")
    garden.reconcilers = played
    await garden.run(30)
    assert garden.condition(names.PROGRESSING)[:2] == ("True", "Complete")


@pytest.mark.parametrize("paused", [False, True])
async def test_a_partition_is_reached_only_when_its_last_shoot_is_reconciled(
    garden: Sets, paused: bool
) -> None:
    await garden.grow(2)
    await garden.run(10)
    rolling = {"updateStrategy": {"rollingUpdate": {"partition": 1}}}
    await garden.change(ManagedSeedSet, "leaf", {"spec": rolling})
    played = garden.reconcilers
    garden.reconcilers = [pair for pair in played if not pair[0].name.startswith("dev.")]
    await garden.retemplate("1.35.2")
    await garden.run(60, lambda: garden.versions()["leaf-1"] == "1.35.2")
    await garden.change(ManagedSeedSet, "leaf", {"spec": {"paused": paused}})
    await garden.run(20)
    assert garden.versions() == {"leaf-0": "1.35.1", "leaf-1": "1.35.2"}
    assert garden.condition(names.PROGRESSING)[1] not in ("PartitionReached", "Complete")
    garden.reconcilers = played
    await garden.run(30)
    reason = "Paused" if paused else "PartitionReached"
    assert garden.condition(names.PROGRESSING)[1] == reason


async def test_a_change_cause_is_recorded_with_the_revision(garden: Sets) -> None:
    cause = names.CHANGE_CAUSE
    await garden.grow(1)
    first = garden.owner.status.update_revision
    assert cause not in garden.get(ControllerRevision, first).metadata.annotations
    late = {"metadata": {"annotations": {cause: "the first ones"}}}
    await garden.change(ManagedSeedSet, "leaf", late)
    await garden.run(5)
    assert garden.get(ControllerRevision, first).metadata.annotations[cause] == "the first ones"
    await garden.change(ManagedSeedSet, "leaf", {"metadata": {"annotations": {cause: "newer"}}})
    await garden.retemplate("1.35.2")
    await garden.run(30)
    second = garden.owner.status.update_revision
    assert second != first
    assert garden.get(ControllerRevision, second).metadata.annotations[cause] == "newer"
    assert garden.get(ControllerRevision, first).metadata.annotations[cause] == "the first ones"


async def test_a_seed_with_shoots_whose_status_was_lost_is_not_updated_as_new(garden: Sets) -> None:
    await garden.grow(2)
    garden.put(make_hosted_shoot("hosted", "leaf-0"))
    await garden.run(10)
    body = garden.api.objects[ManagedSeed, ObjectKey("garden", "leaf-0")]
    garden.api.put(kind_of_model(ManagedSeed), {**body, "status": {}})
    await garden.retemplate("1.35.2")
    set_only = [pair for pair in garden.reconcilers if pair[0].name == "managedseedset"]
    garden.reconcilers, all_of_them = set_only, garden.reconcilers
    await garden.run(3)
    assert garden.versions()["leaf-0"] == "1.35.1"
    garden.reconcilers = all_of_them
    await garden.run(60)
    assert {*garden.versions().values()} == {"1.35.2"}


async def test_a_rollout_waits_while_a_hosted_shoot_is_unready(
    garden: Sets,
) -> None:
    await garden.grow(3)
    garden.put(make_hosted_shoot("hosted", "leaf-2"))
    await garden.run(10)
    await garden.retemplate("1.35.2")
    await garden.run(30, lambda: garden.versions()["leaf-2"] == "1.35.2")
    fail = {"metadata": {"annotations": {names.SIMULATE: "fail"}}}
    await garden.change(Shoot, "hosted", fail, namespace="garden-dev")
    await garden.run(120)
    assert garden.versions() == {"leaf-0": "1.35.1", "leaf-1": "1.35.1", "leaf-2": "1.35.2"}
    status, reason, message = garden.condition(names.PROGRESSING)
    assert (status, reason) == ("False", "HostedShootsUnready")
    assert message == (
        "1 of 1 shoots on leaf-2 are not ready, more than 10%"
        " (spec.updateStrategy.rollingUpdate.maxUnreadyShoots)"
    )
    repair = {"metadata": {"annotations": {names.SIMULATE: None}}}
    await garden.change(Shoot, "hosted", repair, namespace="garden-dev")
    await garden.run(120)
    assert {*garden.versions().values()} == {"1.35.2"}


async def test_a_partition_holds_back_the_replicas_below_it(garden: Sets) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    await garden.grow(3, updateStrategy=strategy)
    await garden.retemplate("1.35.2")
    await garden.run(60)
    assert garden.versions() == {"leaf-0": "1.35.1", "leaf-1": "1.35.1", "leaf-2": "1.35.2"}
    assert garden.condition(names.PROGRESSING)[:2] == ("True", "PartitionReached")
    status = garden.owner.status
    assert (status.current_replicas, status.updated_replicas) == (2, 1)
    await garden.scale(4)
    await garden.until_ready(4)
    assert garden.versions()["leaf-3"] == "1.35.2"


async def test_a_paused_set_scales_but_does_not_roll(garden: Sets) -> None:
    await garden.grow(2, paused=True)
    await garden.retemplate("1.35.2")
    await garden.run(30)
    assert {*garden.versions().values()} == {"1.35.1"}
    assert garden.condition(names.PROGRESSING)[:2] == ("False", "Paused")
    await garden.scale(3)
    await garden.until_ready(3)
    assert garden.versions()["leaf-2"] == "1.35.1"
    await garden.change(ManagedSeedSet, "leaf", {"spec": {"paused": False}})
    await garden.run(90)
    assert {*garden.versions().values()} == {"1.35.2"}


async def test_a_rollback_renumbers_the_old_revision_and_removes_later_fields(
    garden: Sets,
) -> None:
    await garden.grow(1)
    first = garden.owner.status.update_revision
    purpose = {"spec": {"shootTemplate": {"spec": {"purpose": "production"}}}}
    await garden.change(ManagedSeedSet, "leaf", purpose)
    await garden.run(30)
    await garden.change(Shoot, "leaf-0", {"metadata": {"labels": {"mine": "yes"}}})
    assert garden.get(Shoot, "leaf-0").spec.purpose == "production"
    back = {"spec": {"shootTemplate": {"spec": {"purpose": None}}}}
    await garden.change(ManagedSeedSet, "leaf", back)
    await garden.run(30)
    shoot = garden.get(Shoot, "leaf-0")
    assert shoot.spec.purpose == ""
    assert shoot.metadata.labels["mine"] == "yes"
    assert garden.owner.status.update_revision == first
    assert garden.get(ControllerRevision, first).revision == 3


async def test_a_revision_whose_name_is_taken_gets_another_one(garden: Sets) -> None:
    garden.put(make_parent())
    body = make_set(replicas=1)
    name = rollout.revision_name("leaf", rollout.revision_data(body))
    foreign = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 7, "data": {}}
    garden.put({**foreign, "metadata": {"name": name, "namespace": "garden"}})
    garden.put(body)
    await garden.until_ready(1)
    await garden.run(10)
    status = garden.owner.status
    assert status.collision_count == 1
    assert status.update_revision == rollout.revision_name("leaf", rollout.revision_data(body), 1)
    assert garden.get(ControllerRevision, name).data == {}


async def test_history_is_kept_within_its_limit(garden: Sets) -> None:
    await garden.grow(1, revisionHistoryLimit=1)
    for patch in range(2, 6):
        await garden.retemplate(f"1.35.{patch}")
        await garden.run(30)
    found = [garden.get(ControllerRevision, name) for name in garden.names(ControllerRevision)]
    assert sorted(each.revision for each in found) == [4, 5]


async def test_a_refused_template_stops_at_the_first_replica_and_is_reported_by_field(
    garden: Sets,
) -> None:
    await garden.grow(3)

    def refuse(model: type[Object], body: Draft) -> str | None:
        if model is Shoot and body["spec"]["kubernetes"]["version"] == "nonsense":
            return "spec.kubernetes.version: is not offered"
        return None

    garden.api.server.validate = refuse
    await garden.retemplate("nonsense")
    await garden.run(20)
    assert {*garden.versions().values()} == {"1.35.1"}
    status, reason, message = garden.condition(names.PROGRESSING)
    assert (status, reason) == ("False", "TemplateRefused")
    assert message == "Shoot leaf-2 was refused: spec.kubernetes.version: is not offered"
    assert garden.owner.status.observed_generation == garden.owner.metadata.generation
    await garden.scale(4)
    await garden.run(20)
    assert garden.owner.metadata.annotations[names.NEXT_REPLICA_NUMBER] == "3"
    await garden.retemplate("1.35.2")
    await garden.until_ready(4)
    assert "leaf-3" in garden.replicas


async def test_a_failed_replica_is_retried_up_to_the_limit(garden: Sets) -> None:
    garden.put(make_parent())
    garden.put(
        make_set(
            replicas=2,
            shootTemplate={"metadata": {"annotations": {names.SIMULATE: "fail"}}},
        )
    )
    await garden.run(20)
    pending = garden.owner.status.pending_replica
    assert pending is not None
    assert (pending.name, pending.reason) == ("leaf-0", "ShootReconcileFailed")
    await garden.run(400)
    assert garden.replicas == ["leaf-0"]
    pending = garden.owner.status.pending_replica
    assert pending is not None
    assert pending.retries == 3
    assert garden.condition(names.PROGRESSING)[:2] == ("False", "ReplicaFailed")
    healed = {"metadata": {"annotations": {names.SIMULATE: None}}}
    await garden.change(ManagedSeedSet, "leaf", {"spec": {"shootTemplate": healed}})
    await garden.until_ready(2)
    assert names.SHOOT_RETRIES not in garden.get(Shoot, "leaf-0").metadata.annotations


async def test_matching_objects_are_adopted_and_others_ignored(garden: Sets) -> None:
    garden.put(make_parent())
    foreign = make_hosted_shoot("leaf-7", "parent")
    foreign["metadata"] |= {"namespace": "garden"}
    orphan = make_hosted_shoot("leaf-4", "parent")
    orphan["metadata"] |= {"namespace": "garden", "labels": LABELS}
    garden.put(foreign)
    garden.put(orphan)
    garden.put(make_set(replicas=2))
    await garden.until_ready(2)
    assert garden.replicas == ["leaf-4", "leaf-7", "leaf-8"]
    adopted = garden.get(Shoot, "leaf-4").controller
    assert adopted is not None
    assert adopted.uid == garden.owner.uid
    assert garden.get(Shoot, "leaf-7").controller is None


async def test_a_replica_that_no_longer_matches_is_released_as_a_whole(garden: Sets) -> None:
    await garden.grow(2)
    relabel = {"metadata": {"labels": {"set": "other"}}}
    await garden.change(ManagedSeed, "leaf-0", relabel)
    await garden.run(60)
    assert garden.replicas == ["leaf-0", "leaf-1", "leaf-2"]
    assert garden.get(Shoot, "leaf-0").controller is None
    assert garden.get(ManagedSeed, "leaf-0").controller is None
    await garden.scale(0)
    await garden.run(200)
    assert garden.replicas == ["leaf-0"]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        pytest.param(Shoot, "leaf-1", id="its Shoot"),
        pytest.param(ManagedSeed, "leaf-1", id="its ManagedSeed"),
        pytest.param(Seed, "leaf-1", id="its Seed"),
    ],
)
async def test_what_is_deleted_by_hand_is_created_again(
    garden: Sets, model: type[Any], name: str
) -> None:
    await garden.grow(2)
    await garden.run(10)
    uid = garden.get(model, name).uid
    await garden.delete(model, name)
    await garden.run(120)
    await garden.until_ready(2)
    assert garden.replicas == ["leaf-0", "leaf-1"]
    assert garden.get(model, name).uid != uid


async def test_a_deleted_set_deletes_its_unused_replicas(
    garden: Sets,
) -> None:
    await garden.grow(2)
    garden.put(make_hosted_shoot("hosted", "leaf-0"))
    await garden.run(10)
    await garden.delete(ManagedSeedSet, "leaf")
    await garden.run(200)
    assert garden.replicas == ["leaf-0"]
    assert garden.condition(names.SCALE_IN_BLOCKED)[0] == "True"
    await garden.delete(Shoot, "hosted", "garden-dev")
    await garden.run(200)
    assert garden.find(ManagedSeedSet, "leaf") is None
    assert garden.names(Shoot) == []
    assert garden.names(ManagedSeed) == []
    assert garden.names(Seed) == ["parent"]
    assert garden.names(ControllerRevision) == []


async def test_a_set_deleted_with_orphan_propagation_releases_its_replicas(garden: Sets) -> None:
    await garden.grow(2)
    body = garden.api.objects[ManagedSeedSet, garden.owner.key]
    orphaning = {"finalizers": [*body["metadata"]["finalizers"], "orphan"]}
    await garden.change(ManagedSeedSet, "leaf", {"metadata": orphaning})
    await garden.delete(ManagedSeedSet, "leaf")
    await garden.run(60)
    assert garden.replicas == ["leaf-0", "leaf-1"]
    for name in garden.replicas:
        assert garden.get(Shoot, name).controller is None
        assert garden.get(ManagedSeed, name).controller is None
    assert garden.owner.metadata.finalizers == ("orphan",)


async def test_a_third_zone_makes_the_seeds_multi_zonal(garden: Sets) -> None:
    await garden.grow(1)
    seed = garden.get(Seed, "leaf-0")
    assert names.MULTI_ZONAL not in seed.metadata.labels
    workers = {"provider": {"workers": [make_pool("abc")]}}
    await garden.change(ManagedSeedSet, "leaf", {"spec": {"shootTemplate": {"spec": workers}}})
    await garden.run(60)
    seed = garden.get(Seed, "leaf-0")
    assert seed.metadata.labels[names.MULTI_ZONAL] == "true"
    assert {*seed.spec.provider.zones} == {"a", "b", "c"}


def test_beside_a_gardener_sets_are_not_scaled() -> None:
    owner = ManagedSeedSet()
    assert plan(owner, Snapshot.of([owner], options=Options(beside_gardener=True))) == NOTHING
