"""Gardenlets inherit the settings of the gardenlet of the seed that hosts their Shoot."""

import pytest

from tests.support.managed_seed_garden import GardenWithShootClusters
from tests.support.set_objects import make_hosted_shoot, make_parent
from webhook.api.managedseeds import ManagedSeed
from webhook.api.shoots import Shoot
from webhook.controllers.managedseed import gardenlet, parents
from webhook.domain.options import Options, SeedsOptions
from webhook.kube.meta import Draft, ObjectKey


@pytest.mark.parametrize(
    ("parent", "child", "merged"),
    [
        pytest.param({"a": 1}, {"b": 2}, {"a": 1, "b": 2}, id="both"),
        pytest.param({"a": 1}, {"a": 2}, {"a": 2}, id="the child wins"),
        pytest.param({"a": {"x": 1}}, {"a": {"y": 2}}, {"a": {"x": 1, "y": 2}}, id="deep"),
        pytest.param({"a": [1, 2]}, {"a": [3]}, {"a": [3]}, id="lists are replaced"),
    ],
)
def test_settings_are_merged_with_the_parents(parent: Draft, child: Draft, merged: Draft) -> None:
    assert parents.merge(parent, child) == merged


def _add_ancestors(garden: GardenWithShootClusters, *merges: bool) -> None:
    """Add ManagedSeeds, each hosted by the next one, up to the plain seed `parent`."""
    garden.put(make_parent())
    hosts = [*(f"ancestor-{number}" for number in range(1, len(merges))), "parent"]
    family = ["oak", *hosts[:-1]]
    for number, (name, host, merge) in enumerate(zip(family, hosts, merges, strict=True)):
        shoot = make_hosted_shoot(name, host)
        shoot["metadata"] |= {"namespace": "garden"}
        garden.put(shoot)
        connection = {"kubeconfig": f"/{name}", "qps": 100 + number}
        cluster = {"kubeconfig": f"/{name}-cluster"}
        config = {"gardenClientConnection": connection, "featureGates": {name: True}}
        config["seedClientConnection"] = cluster if number else {}
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
        pytest.param((False, True), ["oak"], id="not requested"),
        pytest.param((True, False), ["ancestor-1", "oak"], id="from the parent"),
        pytest.param((True, False, True), ["ancestor-1", "oak"], id="as far as each parent merges"),
        pytest.param(
            (True, True, True), ["ancestor-1", "ancestor-2", "oak"], id="from all before it"
        ),
    ],
)
async def test_a_gardenlet_inherits_but_for_its_way_to_the_garden_and_its_seed(
    merges: tuple[bool, ...], inherited: list[str]
) -> None:
    garden = GardenWithShootClusters()
    _add_ancestors(garden, *merges)
    snapshot = garden.api.snapshot()
    raw = snapshot.raw(ManagedSeed, ObjectKey("garden", "oak"))
    assert raw is not None
    found = parents.merged(raw, garden.get(Shoot, "oak"), snapshot)
    assert sorted(found.config["featureGates"]) == inherited
    assert found.config["gardenClientConnection"] == {"kubeconfig": "/oak", "qps": 100}
    assert found.config["seedClientConnection"] == {}
    assert found.config["seedConfig"] == {"spec": {"of": "oak"}}
    assert sorted({*found.deployment} - {"replicaCount"}) == inherited
    assert found.deployment["replicaCount"] == 1


async def test_a_merge_without_a_parent_is_reported() -> None:
    garden = GardenWithShootClusters()
    _add_ancestors(garden, True)
    snapshot = garden.api.snapshot()
    raw = snapshot.raw(ManagedSeed, ObjectKey("garden", "oak"))
    assert raw is not None
    note = parents.note(raw, garden.get(Shoot, "oak"), snapshot)
    assert note == (
        ", merged with no parent: neither a ManagedSeed nor seeds.parentGardenlet in the settings"
        " describes the gardenlet of seed parent"
    )


@pytest.mark.parametrize(
    ("merges", "inherited"),
    [
        pytest.param((False,), ["oak"], id="not requested"),
        pytest.param((True,), ["oak", "plain"], id="from the settings"),
        pytest.param((True, False), ["ancestor-1", "oak"], id="from a parent that does not merge"),
        pytest.param((True, True), ["ancestor-1", "oak", "plain"], id="from both"),
    ],
)
async def test_the_settings_describe_the_gardenlet_of_a_seed_without_managed_seed(
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
    garden = GardenWithShootClusters(Options(seeds=SeedsOptions(parent_gardenlet=plain)))
    _add_ancestors(garden, *merges)
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
