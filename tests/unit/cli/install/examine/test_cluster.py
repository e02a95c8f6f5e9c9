from typing import Any

import pytest

from webhook.api import names
from webhook.api.crds import crd
from webhook.api.kinds import kind_of_model
from webhook.api.scaling import Tortoise
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.cli.install.examine.cluster import examine_landscape, examine_rollouts
from webhook.cli.install.examine.machine import DoctorCheck
from webhook.cli.install.layout import Layout
from webhook.cluster.discovery import GARDENER_API, DiscoveredApis, InstalledApis

SEEDS = "seedmanagement.gardener.cloud"
SERVED = DiscoveredApis(
    {
        "core.gardener.cloud/v1beta1": frozenset({"shoots", "seeds"}),
        f"{SEEDS}/v1alpha1": frozenset({"managedseeds", "managedseedsets"}),
    },
    {},
)
NOTHING = DiscoveredApis({}, {})


def examine(
    found: InstalledApis, served: DiscoveredApis = SERVED, **more: bool
) -> dict[str, DoctorCheck]:
    checks = list(examine_landscape(found, served, Layout(), **more))
    subjects = [check.subject for check in checks]
    assert len(subjects) == len({*subjects})
    return dict(zip(subjects, checks, strict=True))


def test_an_empty_cluster_lacks_all_definitions():
    checks = examine(InstalledApis(frozenset(), {}), NOTHING)
    assert checks["Gardener"].message.startswith("not there")
    assert checks["served by others"].message == "none"
    assert checks["not installed"].state == "optional"
    assert "ManagedSeedSet" in checks["not installed"].message


def test_beside_a_gardener_its_kinds_are_served_by_others():
    aggregated = frozenset({GARDENER_API, "v1alpha1.seedmanagement.gardener.cloud"})
    checks = examine(InstalledApis(aggregated, {}))
    assert checks["Gardener"].message.startswith("there")
    assert checks["definitions of ours"].message == (
        f"SeedAutoscaler, Zone ({SEEDS}/v1beta1), "
        "ScheduledScaling (autoscaling.mercari.com/v1alpha1)"
    )
    assert checks["served by others"].message == (
        f"Seed, Shoot (core.gardener.cloud/v1beta1), ManagedSeed, ManagedSeedSet ({SEEDS}/v1alpha1)"
    )
    lacking = checks["claimed by others and not served"].message
    assert "BackupInfrastructure" in lacking
    assert "Shoot," not in lacking
    assert "shoot.confirmation" in checks["policies left to Gardener"].message


def test_a_definition_of_others_counts_only_in_the_version_that_we_read():
    kind = kind_of_model(Tortoise)
    foreign = crd(kind, beside_gardener=False)
    del foreign["metadata"]["labels"]
    present = InstalledApis(frozenset(), {kind.resource: foreign})
    version = "autoscaling.mercari.com/v1beta3"
    checks = examine(present, DiscoveredApis({version: frozenset({"tortoises"})}, {}))
    assert checks["served by others"].message == f"Tortoise ({version})"
    checks = examine(present, NOTHING)
    assert checks["served by others"].message == "none"
    assert "Tortoise" in checks["claimed by others and not served"].message


def test_a_group_that_does_not_answer_is_listed_without_its_kinds():
    version = "core.gardener.cloud/v1beta1"
    checks = examine(
        InstalledApis(frozenset({GARDENER_API}), {}), DiscoveredApis({}, {version: "no answer"})
    )
    assert checks[version].message == "does not answer now: no answer"
    assert "claimed by others and not served" not in checks


@pytest.mark.parametrize("beside", [False, True])
def test_policies_that_are_off_are_listed_apart(beside: bool):
    checks = examine(InstalledApis(frozenset({GARDENER_API} if beside else ()), {}))
    ours = checks["policies of ours"].message.split(", ")
    off = checks["policies that are off unless set"].message.split(", ")
    assert len(ours) == len({*ours})
    assert "seed.zones" in ours
    assert "shoot.scheduler" in off
    assert not {*ours} & {*off}


def test_a_gardener_that_was_seen_and_is_gone_comes_with_a_remedy():
    checks = examine(InstalledApis(frozenset(), {}), was_seen=True)
    assert checks["Gardener"].message.startswith("was seen here")
    assert "--standalone" in checks["Gardener"].message
    assert "ManagedSeedSet" not in checks["definitions of ours"].message


def test_a_definition_that_is_covered_is_an_error():
    kind = kind_of_model(SeedAutoscaler)
    present = {kind.resource: crd(kind, beside_gardener=True)}
    aggregated = frozenset({"v1beta1.seedmanagement.gardener.cloud"})
    check = examine(InstalledApis(aggregated, present))[kind.resource]
    assert check.state == "missing"
    assert "delete one of them" in check.message


def test_a_definition_with_a_claimed_version_is_applied_again():
    kind = kind_of_model(SeedAutoscaler)
    present = {kind.resource: crd(kind, beside_gardener=False)}
    aggregated = frozenset({GARDENER_API, f"v1alpha1.{SEEDS}"})
    check = examine(InstalledApis(aggregated, present))[kind.resource]
    assert check.state == "missing"
    assert "claims v1alpha1" in check.message
    assert "kubectl apply --server-side -f -` again" in check.message


def test_rollouts_beside_a_gardener_are_listed_with_their_drift() -> None:
    def a_set(name: str, rollout: str, drifted: str = "") -> dict[str, Any]:
        examine = [{"type": "Drifted", "status": "True", "message": drifted}] if drifted else []
        metadata = {"namespace": "garden", "name": name, "annotations": {names.ROLLOUT: rollout}}
        return {"metadata": metadata, "status": {"conditions": examine}}

    sets = [a_set("a", "true"), a_set("b", "false"), a_set("c", "true", "left as they are: c-1")]
    assert [(found.subject, found.message) for found in examine_rollouts(sets)] == [
        ("managedseedset garden/a", "rolled out by Espalier"),
        ("managedseedset garden/c", "replicas differ, left as they are: c-1"),
    ]
