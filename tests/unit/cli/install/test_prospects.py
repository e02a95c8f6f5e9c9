from typing import Any

import pytest

from webhook.api import names
from webhook.api.crds import crd
from webhook.api.kinds import kind_of_model
from webhook.api.scaling import Tortoise
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.cli.install.examination import Finding
from webhook.cli.install.prospects import judge, rollouts
from webhook.cluster.landscape import GARDENER, Landscape, Served

SEEDS = "seedmanagement.gardener.cloud"
SERVED = Served(
    {
        "core.gardener.cloud/v1beta1": frozenset({"shoots", "seeds"}),
        f"{SEEDS}/v1alpha1": frozenset({"managedseeds", "managedseedsets"}),
    },
    {},
)
NOTHING = Served({}, {})


def told(found: Landscape, served: Served = SERVED, **more: bool) -> dict[str, Finding]:
    findings = list(judge(found, served, **more))
    subjects = [finding.subject for finding in findings]
    assert len(subjects) == len({*subjects})
    return dict(zip(subjects, findings, strict=True))


def test_an_empty_cluster_lacks_all_definitions():
    findings = told(Landscape(frozenset(), {}), NOTHING)
    assert findings["Gardener"].message.startswith("not there")
    assert findings["served by others"].message == "none"
    assert findings["not installed"].state == "optional"
    assert "ManagedSeedSet" in findings["not installed"].message


def test_beside_a_gardener_its_kinds_are_served_by_others():
    aggregated = frozenset({GARDENER, "v1alpha1.seedmanagement.gardener.cloud"})
    findings = told(Landscape(aggregated, {}))
    assert findings["Gardener"].message.startswith("there")
    assert findings["definitions of ours"].message == (
        f"SeedAutoscaler, Zone ({SEEDS}/v1beta1), "
        "ScheduledScaling (autoscaling.mercari.com/v1alpha1)"
    )
    assert findings["served by others"].message == (
        f"Seed, Shoot (core.gardener.cloud/v1beta1), ManagedSeed, ManagedSeedSet ({SEEDS}/v1alpha1)"
    )
    lacking = findings["claimed by others and not served"].message
    assert "BackupInfrastructure" in lacking
    assert "Shoot," not in lacking
    assert "shoot.confirmation" in findings["policies left to Gardener"].message


def test_a_definition_of_others_counts_only_in_the_version_that_we_read():
    kind = kind_of_model(Tortoise)
    foreign = crd(kind, beside_gardener=False)
    del foreign["metadata"]["labels"]
    present = Landscape(frozenset(), {kind.resource: foreign})
    version = "autoscaling.mercari.com/v1beta3"
    findings = told(present, Served({version: frozenset({"tortoises"})}, {}))
    assert findings["served by others"].message == f"Tortoise ({version})"
    findings = told(present, NOTHING)
    assert findings["served by others"].message == "none"
    assert "Tortoise" in findings["claimed by others and not served"].message


def test_a_group_that_does_not_answer_is_named_and_nothing_is_said_of_its_kinds():
    version = "core.gardener.cloud/v1beta1"
    findings = told(Landscape(frozenset({GARDENER}), {}), Served({}, {version: "no answer"}))
    assert findings[version].message == "does not answer now: no answer"
    assert "claimed by others and not served" not in findings


@pytest.mark.parametrize("beside", [False, True])
def test_policies_that_are_off_are_not_taken_on(beside: bool):
    findings = told(Landscape(frozenset({GARDENER} if beside else ()), {}))
    ours = findings["policies of ours"].message.split(", ")
    off = findings["policies that are off unless set"].message.split(", ")
    assert len(ours) == len({*ours})
    assert "seed.zones" in ours
    assert "shoot.scheduler" in off
    assert not {*ours} & {*off}


def test_a_gardener_that_was_seen_and_is_gone_is_told_with_the_remedy():
    findings = told(Landscape(frozenset(), {}), was_seen=True)
    assert findings["Gardener"].message.startswith("was seen here")
    assert "--standalone" in findings["Gardener"].message
    assert "ManagedSeedSet" not in findings["definitions of ours"].message


def test_a_definition_that_is_covered_is_an_error():
    kind = kind_of_model(SeedAutoscaler)
    present = {kind.resource: crd(kind, beside_gardener=True)}
    aggregated = frozenset({"v1beta1.seedmanagement.gardener.cloud"})
    finding = told(Landscape(aggregated, present))[kind.resource]
    assert finding.state == "missing"
    assert "delete one of them" in finding.message


def test_a_definition_with_a_claimed_version_is_applied_again():
    kind = kind_of_model(SeedAutoscaler)
    present = {kind.resource: crd(kind, beside_gardener=False)}
    aggregated = frozenset({GARDENER, f"v1alpha1.{SEEDS}"})
    finding = told(Landscape(aggregated, present))[kind.resource]
    assert finding.state == "missing"
    assert "claims v1alpha1" in finding.message
    assert "kubectl apply --server-side -f -` again" in finding.message


def test_rollouts_beside_a_gardener_are_told_with_what_has_drifted() -> None:
    def a_set(name: str, rollout: str, drifted: str = "") -> dict[str, Any]:
        told = [{"type": "Drifted", "status": "True", "message": drifted}] if drifted else []
        metadata = {"namespace": "garden", "name": name, "annotations": {names.ROLLOUT: rollout}}
        return {"metadata": metadata, "status": {"conditions": told}}

    sets = [a_set("a", "true"), a_set("b", "false"), a_set("c", "true", "left as they are: c-1")]
    assert [(found.subject, found.message) for found in rollouts(sets)] == [
        ("managedseedset garden/a", "rolled by Espalier"),
        ("managedseedset garden/c", "replicas differ, left as they are: c-1"),
    ]
