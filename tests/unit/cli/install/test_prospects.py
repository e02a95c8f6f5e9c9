from typing import Any

from webhook.api import names
from webhook.api.crds import crd
from webhook.api.kinds import kind_of_model
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.cli.install.examination import Finding
from webhook.cli.install.prospects import judge, rollouts
from webhook.cluster.landscape import GARDENER, Landscape


def told(found: Landscape) -> dict[str, Finding]:
    return {finding.subject: finding for finding in judge(found)}


def test_an_empty_cluster_lacks_all_definitions():
    findings = told(Landscape(frozenset(), {}))
    assert findings["Gardener"].message.startswith("not there")
    assert findings["served by others"].message == "none"
    assert findings["not installed"].state == "optional"
    assert "ManagedSeedSet" in findings["not installed"].message


def test_beside_a_gardener_its_kinds_are_served_by_others():
    aggregated = frozenset({GARDENER, "v1alpha1.seedmanagement.gardener.cloud"})
    findings = told(Landscape(aggregated, {}))
    assert findings["Gardener"].message.startswith("there")
    assert findings["definitions of ours"].message == "SeedAutoscaler, Zone, ScheduledScaling"
    assert "Shoot, " in findings["served by others"].message
    assert "policies left to Gardener" in findings
    ours = findings["policies of ours"].message.split(", ")
    assert "seed.zones" in ours
    assert len(ours) == len(set(ours))


def test_a_definition_that_is_covered_is_an_error():
    kind = kind_of_model(SeedAutoscaler)
    present = {kind.resource: crd(kind, beside_gardener=True)}
    aggregated = frozenset({"v1beta1.seedmanagement.gardener.cloud"})
    assert told(Landscape(aggregated, present))[kind.resource].state == "missing"


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
