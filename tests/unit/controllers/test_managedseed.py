"""ManagedSeeds: registering Shoots as Seeds, keeping them so, letting them go."""

import base64
from typing import Any

import pytest
import yaml

from tests.gardens import Garden
from tests.sets import make_guest, make_parent
from webhook.api import conditions, names
from webhook.api.core import Secret
from webhook.api.kinds import kind_of_model
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Draft, ObjectKey
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseed import gardenlet, parents
from webhook.controllers.managedseed.plan import plan
from webhook.domain.options import Options, SeedsOptions
from webhook.runtime.actions import Apply, Create, Delete, Patch, Plan, Remote

SECRETS = kind_of_model(Secret)
TEMPLATE = {
    "metadata": {"labels": {"color": "green"}, "annotations": {"note": "x"}},
    "spec": {"taints": [{"key": "seed.gardener.cloud/protected"}]},
}


class Seeds(Garden):
    """A garden with a Shoot that is to become a seed."""

    def plant(self, template: Draft | None = None, **spec: Any) -> None:
        self.put(make_parent())
        shoot = make_guest("oak", "parent")
        shoot["metadata"] |= {"namespace": "garden"}
        shoot["spec"] |= {
            "secretBindingName": "aws",
            "dns": {"domain": "oak.example.org"},
            "networking": {"nodes": "10.1.0.0/16", "pods": "10.2.0.0/16"},
        }
        shoot["spec"]["provider"]["workers"] = [{"name": "pool", "zones": ["b", "a"]}]
        self.put(shoot)
        variant = spec or {"seedTemplate": TEMPLATE if template is None else template}
        self.put(
            {
                "apiVersion": "seedmanagement.gardener.cloud/v1alpha1",
                "kind": "ManagedSeed",
                "metadata": {"name": "oak", "namespace": "garden"},
                "spec": {"shoot": {"name": "oak"}, **variant},
            }
        )

    def add_secret(self, name: str, **data: str) -> None:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
        metadata = {"name": name, "namespace": "garden"}
        self.api.make(SECRETS, {"metadata": metadata, "data": encoded})

    def secret(self, name: str) -> Draft | None:
        return self.api.objects.get(("Secret", ObjectKey("garden", name)))

    def told(self, kind: str) -> tuple[str, str, str]:
        found = conditions.get(self.get(ManagedSeed, "oak").status.conditions, kind)
        assert found is not None
        return found.status, found.reason, found.message


@pytest.fixture
def garden() -> Seeds:
    return Seeds()


async def test_a_reconciled_shoot_is_registered_as_its_template_says(garden: Seeds) -> None:
    garden.plant()
    await garden.turn()
    await garden.turn()
    assert garden.told(names.SHOOT_RECONCILED)[:2] == ("False", "Reconciling")
    assert garden.told(names.SEED_REGISTERED)[:2] == ("False", "WaitingForShoot")
    assert garden.find(Seed, "oak") is None
    await garden.run(20)
    assert garden.told(names.SHOOT_RECONCILED)[:2] == ("True", "Reconciled")
    assert garden.told(names.SEED_REGISTERED)[:2] == ("True", "Registered")
    assert garden.told(names.SEED_READY)[:2] == ("True", "SeedReady")
    assert garden.told(names.SHOOTS_READY)[1] == "NoShoots"
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
    status, reason, message = garden.told(names.SHOOT_RECONCILED)
    assert (status, reason) == ("False", "ReadinessGates")
    assert message == "readiness gates of Shoot garden/oak are not True: Quota, Subscription"
    assert garden.find(Seed, "oak") is None
    shoot = garden.api.objects["Shoot", ObjectKey("garden", "oak")]
    opened = [{"type": gate, "status": "True"} for gate in ("Quota", "Subscription")]
    told = [*shoot["status"]["conditions"], *opened]
    await garden.change(Shoot, "oak", {"status": {"conditions": told}}, subresource="status")
    await garden.run(10)
    assert garden.told(names.SEED_READY)[0] == "True"


async def test_a_missing_shoot_is_told(garden: Seeds) -> None:
    garden.plant()
    await garden.delete(Shoot, "oak")
    await garden.run(5)
    assert garden.told(names.SHOOT_RECONCILED)[1:] == (
        "ShootMissing",
        "Shoot garden/oak does not exist (spec.shoot.name)",
    )


async def test_a_seed_in_trouble_is_told_truthfully(garden: Seeds) -> None:
    garden.plant()
    await garden.run(20)
    await garden.change(Seed, "oak", {"metadata": {"annotations": {names.SIMULATE: "dark"}}})
    await garden.run(5)
    status, reason, message = garden.told(names.SEED_READY)
    assert (status, reason) == ("False", "SeedNotReady")
    assert "condition GardenletReady is Unknown" in message
    assert garden.told(names.SEED_REGISTERED)[0] == "True"


async def test_what_the_template_owns_is_kept_and_what_others_add_stays(garden: Seeds) -> None:
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
    assert garden.told(names.SEED_REGISTERED)[:2] == ("False", "SeedConflict")
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
async def test_credentials_are_copied_followed_and_go_with_the_managed_seed(
    garden: Seeds, field: str, namespace: str
) -> None:
    there = ("Secret", ObjectKey(namespace, "backup-oak"))
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
    assert garden.told(names.SEED_REGISTERED)[2] == (
        "Seed oak is registered, without a kubeconfig: Secret garden/oak.kubeconfig does not"
        " exist yet"
    )
    garden.add_secret("oak.kubeconfig", kubeconfig="clusters: []", token="other")
    await garden.run(30)
    copied = garden.secret("seed-oak")
    assert copied is not None
    assert copied["data"] == {"kubeconfig": base64.b64encode(b"clusters: []").decode()}
    assert sorted(garden.api.objects[there]["data"]) == ["id", "secret"]
    garden.api.objects["Secret", ObjectKey("garden", "aws-key")]["data"] = {"id": "eW91"}
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
    garden.put(make_guest("guest", "oak"))
    await garden.run(10)
    await garden.delete(ManagedSeed, "oak")
    await garden.run(30)
    assert not garden.get(Seed, "oak").is_deleting
    assert garden.told(names.SEED_REGISTERED)[1:] == (
        "SeedInUse",
        "Seed oak is used by 1 shoots: move or delete them first",
    )
    await garden.delete(Shoot, "guest", "garden-dev")
    await garden.run(30)
    assert garden.find(Seed, "oak") is None
    assert garden.find(ManagedSeed, "oak") is None


async def test_a_seed_that_is_deleted_by_hand_is_held_while_it_is_used(garden: Seeds) -> None:
    garden.plant()
    await garden.run(20)
    garden.put(make_guest("guest", "oak"))
    await garden.run(10)
    await garden.delete(Seed, "oak")
    await garden.run(30)
    assert garden.get(Seed, "oak").is_deleting
    assert garden.told(names.SEED_REGISTERED)[:2] == ("False", "SeedDeleting")


async def test_care_counts_the_shoots_that_are_ready(garden: Seeds) -> None:
    garden.plant()
    for number in range(3):
        garden.put(make_guest(f"guest-{number}", "oak"))
    await garden.run(30)
    assert garden.told(names.SHOOTS_READY) == (
        "True",
        "AllShootsReady",
        "3 of 3 shoots are ready (100%)",
    )
    fail = {"metadata": {"annotations": {names.SIMULATE: "fail"}}}
    await garden.change(Shoot, "guest-1", fail, namespace="garden-dev")
    await garden.run(10)
    assert garden.told(names.SHOOTS_READY) == (
        "False",
        "ShootsNotReady",
        "2 of 3 shoots are ready (66%)",
    )


GARDENLET = {
    "gardenlet": {
        "deployment": {"replicaCount": 1, "image": {"repository": "here/gardenlet", "tag": "v1"}},
        "config": {
            "resources": {"capacity": {"shoots": 20}},
            "seedConfig": {"metadata": {"labels": {"color": "green"}}},
        },
        "bootstrap": "BootstrapToken",
        "mergeWithParent": True,
    }
}


class Remembering(Seeds):
    """A garden whose controllers write into shoots that remember it."""

    def planned(self) -> Plan:
        snapshot = self.api.snapshot()
        found = plan(self.get(ManagedSeed, "oak"), snapshot)
        answers = {question: self.api._answer_one(question) for question in snapshot.questions}
        if not answers:
            return found
        return plan(self.get(ManagedSeed, "oak"), self.api.snapshot(answers))


async def test_a_gardenlet_is_rendered_for_the_shoot_and_taken_away_in_order() -> None:
    garden = Remembering(Options(seeds=SeedsOptions(garden_server="https://garden:443")), ())
    garden.plant(**GARDENLET)
    shoot = {"lastOperation": {"type": "Create", "state": "Succeeded"}, "observedGeneration": 1}
    await garden.change(Shoot, "oak", {"status": shoot}, subresource="status")
    await garden.change(ManagedSeed, "oak", {"metadata": {"finalizers": ["gardener"]}})
    waiting = garden.planned()
    assert waiting.requeue_after is not None
    garden.add_secret("oak.kubeconfig", kubeconfig="clusters: []")
    planned = garden.planned()
    remote = [action.write for action in planned.actions if isinstance(action, Remote)]
    kinds = [write.kind.name for write in remote]
    assert kinds == [
        "Namespace",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "ConfigMap",
        "Secret",
        "Deployment",
    ]
    token = planned.actions[0]
    assert isinstance(token, Create)
    assert token.key.name.startswith("bootstrap-token-")
    assert garden.planned().actions[0] == planned.actions[0]
    config = yaml.safe_load(_body(remote[4])["data"]["config.yaml"])
    assert config["seedConfig"]["metadata"]["name"] == "oak"
    assert config["seedConfig"]["metadata"]["annotations"][names.MANAGED_SEED] == "garden/oak"
    assert config["seedConfig"]["spec"]["provider"]["region"] == "eu-west-1"
    assert config["resources"] == {"capacity": {"shoots": 20}}
    container = _body(remote[6])["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "here/gardenlet:v1"
    host = {"name": "KUBERNETES_SERVICE_HOST", "value": "api.oak.example.org"}
    assert host in container["env"]
    noted = {names.GARDENLET_APPLIED: "sum 2026-03-01T12:00:00Z"}
    await garden.change(ManagedSeed, "oak", {"metadata": {"annotations": noted}})
    await garden.delete(ManagedSeed, "oak")
    (told,) = garden.planned().actions
    assert isinstance(told, Patch)
    assert told.subresource == "status"
    assert isinstance(told.change, dict)
    await garden.change(ManagedSeed, "oak", told.change, subresource="status")
    assert garden.told(names.SEED_REGISTERED)[:2] == ("False", "GardenletDeleting")
    planned = garden.planned()
    removed = [action for action in planned.actions if isinstance(action, Remote)]
    assert all(isinstance(action.write, Delete) for action in removed)
    assert [action.until_gone for action in removed] == [True, *[False] * (len(removed) - 1)]
    assert removed[0].kind.name == "Deployment"
    assert planned.actions[-1].kind.name == "ManagedSeed"


async def test_a_bootstrap_account_goes_with_its_managed_seed() -> None:
    garden = Remembering(Options(seeds=SeedsOptions(garden_server="https://garden:443")), ())
    garden.plant(gardenlet={"config": {}, "bootstrap": "ServiceAccount"})
    shoot = {"lastOperation": {"type": "Create", "state": "Succeeded"}, "observedGeneration": 1}
    await garden.change(Shoot, "oak", {"status": shoot}, subresource="status")
    await garden.change(ManagedSeed, "oak", {"metadata": {"finalizers": ["gardener"]}})
    garden.add_secret("oak.kubeconfig", kubeconfig="clusters: []")
    made = [action for action in garden.planned().actions if isinstance(action, Apply)]
    assert [action.kind.name for action in made] == [
        "ServiceAccount",
        "ClusterRoleBinding",
        "Secret",
    ]
    await garden.delete(ManagedSeed, "oak")
    taken = [action for action in garden.planned().actions if isinstance(action, Delete)]
    assert {action.key for action in taken} == {action.key for action in made}


def _body(write: Any) -> Draft:
    assert isinstance(write, Apply)
    return write.body


@pytest.mark.parametrize(
    ("parent", "child", "merged"),
    [
        pytest.param({"a": 1}, {"b": 2}, {"a": 1, "b": 2}, id="both"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 2}, id="the child's word counts"),
        pytest.param({"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"x": 1, "y": 2}}, id="deep"),
        pytest.param({"a": [1, 2]}, {"a": [3]}, {"a": [3]}, id="lists are replaced"),
    ],
)
def test_settings_are_merged_with_the_parents(parent: Draft, child: Draft, merged: Draft) -> None:
    assert parents.merge(parent, child) == merged


def _plant_family(garden: Remembering, *merges: bool) -> None:
    """Let each seed be hosted by the next one, up to the plain seed `parent`."""
    garden.put(make_parent())
    hosts = [*(f"elder-{number}" for number in range(1, len(merges))), "parent"]
    family = ["oak", *hosts[:-1]]
    for number, (name, host, merge) in enumerate(zip(family, hosts, merges, strict=True)):
        shoot = make_guest(name, host)
        shoot["metadata"] |= {"namespace": "garden"}
        garden.put(shoot)
        connection = {"kubeconfig": f"/{name}", "qps": 100 + number}
        config = {"gardenClientConnection": connection, "featureGates": {name: True}}
        section: Draft = {"config": {**config, "seedConfig": {"spec": {"of": name}}}}
        section |= {"deployment": {"replicaCount": number + 1, name: "x"}, "mergeWithParent": merge}
        garden.put(
            {
                "apiVersion": "seedmanagement.gardener.cloud/v1alpha1",
                "kind": "ManagedSeed",
                "metadata": {"name": name, "namespace": "garden"},
                "spec": {"shoot": {"name": name}, "gardenlet": section},
            }
        )


@pytest.mark.parametrize(
    ("merges", "inherited"),
    [
        pytest.param((False, True), ["oak"], id="not asked for"),
        pytest.param((True, False), ["elder-1", "oak"], id="from the parent"),
        pytest.param((True, False, True), ["elder-1", "oak"], id="as far as the parent has it"),
        pytest.param((True, True, True), ["elder-1", "elder-2", "oak"], id="from all before it"),
    ],
)
async def test_a_gardenlet_inherits_but_for_its_way_to_the_garden_and_its_seed(
    merges: tuple[bool, ...], inherited: list[str]
) -> None:
    garden = Remembering(None, ())
    _plant_family(garden, *merges)
    snapshot = garden.api.snapshot()
    raw = snapshot.raw(ManagedSeed, ObjectKey("garden", "oak"))
    assert raw is not None
    found = parents.merged(raw, garden.get(Shoot, "oak"), snapshot)
    assert sorted(found.config["featureGates"]) == inherited
    assert found.config["gardenClientConnection"] == {"kubeconfig": "/oak", "qps": 100}
    assert found.config["seedConfig"] == {"spec": {"of": "oak"}}
    assert sorted({*found.deployment} - {"replicaCount"}) == inherited
    assert found.deployment["replicaCount"] == 1


async def test_a_gardenlet_that_would_inherit_from_nobody_says_so() -> None:
    garden = Remembering(None, ())
    _plant_family(garden, True)
    snapshot = garden.api.snapshot()
    raw = snapshot.raw(ManagedSeed, ObjectKey("garden", "oak"))
    assert raw is not None
    said = parents.note(raw, garden.get(Shoot, "oak"), snapshot)
    assert said == (
        ", merged with no parent: neither a ManagedSeed nor seeds.parentGardenlet in the settings"
        " tells of the gardenlet of seed parent"
    )


@pytest.mark.parametrize(
    ("merges", "inherited"),
    [
        pytest.param((False,), ["oak"], id="not asked for"),
        pytest.param((True,), ["oak", "plain"], id="from the settings"),
        pytest.param((True, False), ["elder-1", "oak"], id="from a parent that merges with nobody"),
        pytest.param((True, True), ["elder-1", "oak", "plain"], id="from both"),
    ],
)
async def test_a_plain_seeds_gardenlet_is_told_of_by_the_settings(
    merges: tuple[bool, ...], inherited: list[str]
) -> None:
    plain = {
        "config": {
            "featureGates": {"plain": True},
            "gardenClientConnection": {"kubeconfig": "/plain", "burst": 7},
            "seedConfig": {"spec": {"of": "plain"}},
        },
        "deployment": {"replicaCount": 5, "plain": "x"},
    }
    garden = Remembering(Options(seeds=SeedsOptions(parent_gardenlet=plain)), ())
    _plant_family(garden, *merges)
    snapshot = garden.api.snapshot()
    raw = snapshot.raw(ManagedSeed, ObjectKey("garden", "oak"))
    assert raw is not None
    found = parents.merged(raw, garden.get(Shoot, "oak"), snapshot)
    assert sorted(found.config["featureGates"]) == inherited
    assert found.config["gardenClientConnection"]["kubeconfig"] == "/oak"
    assert ("burst" in found.config["gardenClientConnection"]) == ("plain" in inherited)
    assert found.config["seedConfig"] == {"spec": {"of": "oak"}}
    assert sorted({*found.deployment} - {"replicaCount"}) == inherited
    assert found.deployment["replicaCount"] == 1
    assert parents.note(raw, garden.get(Shoot, "oak"), snapshot) == ""


def test_a_gardenlet_gets_its_seed_and_its_way_to_the_garden() -> None:
    given = {"gardenClientConnection": {"qps": 100}, "seedConfig": {"spec": {"a": 1}}}
    seed = {"metadata": {"labels": {}}, "spec": {"b": 2}}
    config = gardenlet.configuration(ManagedSeed(), given, seed, bootstraps=True)
    assert config["seedConfig"]["spec"] == {"b": 2}
    assert config["gardenClientConnection"]["qps"] == 100
    assert config["gardenClientConnection"]["bootstrapKubeconfig"]["name"] == gardenlet.BOOTSTRAP
