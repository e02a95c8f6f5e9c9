"""ManagedSeeds: registers Shoots as Seeds, keeps them up to date, deletes them."""

import base64

import pytest

from tests.support.managed_seed_garden import Seeds
from tests.support.set_objects import make_hosted_shoot, make_parent
from webhook.api import names
from webhook.api.core import Secret
from webhook.api.managedseeds import ManagedSeed
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.kube.meta import ObjectKey


@pytest.fixture
def garden() -> Seeds:
    return Seeds()


async def test_a_reconciled_shoot_is_registered_by_its_template(garden: Seeds) -> None:
    garden.plant()
    await garden.turn()
    await garden.turn()
    assert garden.condition(names.SHOOT_RECONCILED)[:2] == ("False", "Reconciling")
    assert garden.condition(names.SEED_REGISTERED)[:2] == ("False", "WaitingForShoot")
    assert garden.find(Seed, "oak") is None
    await garden.run(20)
    assert garden.condition(names.SHOOT_RECONCILED)[:2] == ("True", "Reconciled")
    assert garden.condition(names.SEED_REGISTERED)[:2] == ("True", "Registered")
    assert garden.condition(names.SEED_READY)[:2] == ("True", "SeedReady")
    assert garden.condition(names.SHOOTS_READY)[1] == "NoShoots"
    seed = garden.get(Seed, "oak")
    assert seed.metadata.labels == {"color": "green", names.ROLE: "seed"}
    assert seed.metadata.annotations[names.MANAGED_SEED] == "garden/oak"
    assert seed.metadata.annotations["note"] == "x"
    assert seed.metadata.owner_references == ()
    assert (seed.spec.provider.type, seed.spec.provider.region) == ("aws", "eu-west-1")
    assert seed.spec.provider.zones == ("a", "b")
    assert seed.spec.networks.nodes == "10.1.0.0/16"
    assert seed.spec.taints[0].key == names.SEED_PROTECTED
    managed_seed = garden.get(ManagedSeed, "oak")
    assert managed_seed.status.observed_generation == managed_seed.metadata.generation


async def test_readiness_gates_are_waited_for(garden: Seeds) -> None:
    garden.plant()
    gates = {names.READINESS_GATES: "Quota, Subscription"}
    await garden.change(Shoot, "oak", {"metadata": {"annotations": gates}})
    await garden.run(20)
    status, reason, message = garden.condition(names.SHOOT_RECONCILED)
    assert (status, reason) == ("False", "ReadinessGates")
    assert message == "readiness gates of Shoot garden/oak are not True: Quota, Subscription"
    assert garden.find(Seed, "oak") is None
    shoot = garden.api.objects[Shoot, ObjectKey("garden", "oak")]
    opened = [{"type": gate, "status": "True"} for gate in ("Quota", "Subscription")]
    conditions = [*shoot["status"]["conditions"], *opened]
    await garden.change(Shoot, "oak", {"status": {"conditions": conditions}}, subresource="status")
    await garden.run(10)
    assert garden.condition(names.SEED_READY)[0] == "True"


async def test_a_missing_shoot_is_reported(garden: Seeds) -> None:
    garden.plant()
    await garden.delete(Shoot, "oak")
    await garden.run(5)
    assert garden.condition(names.SHOOT_RECONCILED)[1:] == (
        "ShootMissing",
        "Shoot garden/oak does not exist (spec.shoot.name)",
    )


async def test_an_unready_seed_is_reported(garden: Seeds) -> None:
    garden.plant()
    await garden.run(20)
    await garden.change(Seed, "oak", {"metadata": {"annotations": {names.SIMULATE: "dark"}}})
    await garden.run(5)
    status, reason, message = garden.condition(names.SEED_READY)
    assert (status, reason) == ("False", "SeedNotReady")
    assert "condition GardenletReady is Unknown" in message
    assert garden.condition(names.SEED_REGISTERED)[0] == "True"


async def test_fields_of_the_template_are_restored_and_other_fields_stay(garden: Seeds) -> None:
    garden.plant()
    await garden.run(20)
    by_hand = {"labels": {"color": "red", "mine": "yes"}}
    await garden.change(Seed, "oak", {"metadata": by_hand})
    await garden.run(5)
    labels = garden.get(Seed, "oak").metadata.labels
    assert (labels["color"], labels["mine"]) == ("green", "yes")
    await garden.change(
        ManagedSeed, "oak", {"spec": {"seedTemplate": {"metadata": {"labels": {"color": None}}}}}
    )
    await garden.run(5)
    assert "color" not in garden.get(Seed, "oak").metadata.labels


async def test_a_foreign_seed_of_the_same_name_is_not_touched(garden: Seeds) -> None:
    garden.plant()
    foreign = make_parent()
    foreign["metadata"] = {"name": "oak"}
    garden.put(foreign)
    await garden.run(20)
    assert garden.condition(names.SEED_REGISTERED)[:2] == ("False", "SeedConflict")
    await garden.delete(ManagedSeed, "oak")
    await garden.run(20)
    assert garden.find(ManagedSeed, "oak") is None
    assert garden.get(Seed, "oak").spec.provider.zones == ("a",)


@pytest.mark.parametrize(
    ("field", "namespace"),
    [
        pytest.param("secretRef", "garden", id="beside the ManagedSeed"),
        pytest.param("credentialsRef", "garden", id="by the newer reference"),
        pytest.param("secretRef", "backups", id="in another namespace"),
    ],
)
async def test_credentials_are_copied_updated_and_deleted_with_the_managed_seed(
    garden: Seeds, field: str, namespace: str
) -> None:
    there = (Secret, ObjectKey(namespace, "backup-oak"))
    spec = {
        "secretRef": {"name": "seed-oak", "namespace": "garden"},
        "backup": {"provider": "aws", field: {"name": "backup-oak", "namespace": namespace}},
    }
    garden.plant({"spec": spec})
    garden.add_secret("aws-key", id="me", secret="psst")
    garden.put(
        {
            "apiVersion": "core.gardener.cloud/v1beta1",
            "kind": "SecretBinding",
            "metadata": {"name": "aws", "namespace": "garden"},
            "secretRef": {"name": "aws-key", "namespace": "garden"},
        }
    )
    await garden.run(20)
    assert garden.condition(names.SEED_REGISTERED)[2] == (
        "Seed oak is registered, without a kubeconfig: Secret garden/oak.kubeconfig does not"
        " exist yet"
    )
    garden.add_secret("oak.kubeconfig", kubeconfig="clusters: []", token="other")
    await garden.run(30)
    copied = garden.secret("seed-oak")
    assert copied is not None
    assert copied["data"] == {"kubeconfig": base64.b64encode(b"clusters: []").decode()}
    assert sorted(garden.api.objects[there]["data"]) == ["id", "secret"]
    garden.api.objects[Secret, ObjectKey("garden", "aws-key")]["data"] = {"id": "eW91"}
    await garden.run(20)
    assert garden.api.objects[there]["data"] == {"id": "eW91"}
    await garden.delete(ManagedSeed, "oak")
    await garden.run(20)
    assert garden.find(ManagedSeed, "oak") is None
    assert garden.secret("seed-oak") is None
    assert there not in garden.api.objects
    assert garden.secret("aws-key") is not None


async def test_a_used_seed_stays_until_its_last_shoot_is_gone(garden: Seeds) -> None:
    garden.plant()
    await garden.run(20)
    garden.put(make_hosted_shoot("hosted", "oak"))
    await garden.run(10)
    await garden.delete(ManagedSeed, "oak")
    await garden.run(30)
    assert not garden.get(Seed, "oak").is_deleting
    assert garden.condition(names.SEED_REGISTERED)[1:] == (
        "SeedInUse",
        "Seed oak is used by 1 shoots: move or delete them first",
    )
    await garden.delete(Shoot, "hosted", "garden-dev")
    await garden.run(30)
    assert garden.find(Seed, "oak") is None
    assert garden.find(ManagedSeed, "oak") is None


async def test_a_seed_deleted_by_hand_keeps_its_finalizer_while_it_is_used(garden: Seeds) -> None:
    garden.plant()
    await garden.run(20)
    garden.put(make_hosted_shoot("hosted", "oak"))
    await garden.run(10)
    await garden.delete(Seed, "oak")
    await garden.run(30)
    assert garden.get(Seed, "oak").is_deleting
    assert garden.condition(names.SEED_REGISTERED)[:2] == ("False", "SeedDeleting")


async def test_shoots_ready_counts_ready_shoots(garden: Seeds) -> None:
    garden.plant()
    for number in range(3):
        garden.put(make_hosted_shoot(f"hosted-{number}", "oak"))
    await garden.run(30)
    assert garden.condition(names.SHOOTS_READY) == (
        "True",
        "AllShootsReady",
        "3 of 3 shoots are ready (100%)",
    )
    fail = {"metadata": {"annotations": {names.SIMULATE: "fail"}}}
    await garden.change(Shoot, "hosted-1", fail, namespace="garden-dev")
    await garden.run(10)
    assert garden.condition(names.SHOOTS_READY) == (
        "False",
        "ShootsNotReady",
        "2 of 3 shoots are ready (66%)",
    )
