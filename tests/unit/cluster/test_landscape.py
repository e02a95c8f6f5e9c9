from typing import Any

from webhook.api import names
from webhook.api.crds import crd, definable
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.machines import MachineDeployment
from webhook.api.scaling import ScheduledScaling
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.cluster.landscape import GARDENER, Landscape

OURS = ["SeedAutoscaler", "Zone", "ScheduledScaling"]
CLAIMED = "v1alpha1.seedmanagement.gardener.cloud"


def definition(kind: Kind, *, ours: bool) -> dict[str, Any]:
    found = crd(kind, beside_gardener=False)
    if not ours:
        del found["metadata"]["labels"][names.MANAGED_BY]
    return found


def landscape(*aggregated: str, **definitions: dict[str, Any]) -> Landscape:
    found = {item["metadata"]["name"]: item for item in definitions.values()}
    return Landscape(frozenset(aggregated), found)


def test_an_empty_cluster_gets_everything():
    assert list(landscape().to_define()) == list(definable(beside_gardener=False))


def test_beside_a_gardener_only_our_own_kinds_are_defined():
    found = landscape(GARDENER, CLAIMED)
    assert found.has_gardener
    assert [kind.name for kind in found.to_define()] == OURS


def test_a_definition_of_somebody_else_is_left_alone():
    kind = kind_of_model(MachineDeployment)
    found = landscape(machines=definition(kind, ours=False))
    assert kind not in list(found.to_define())
    assert found.is_claimed(kind)


def test_our_own_definition_is_brought_up_to_date():
    kind = kind_of_model(ScheduledScaling)
    assert kind in list(landscape(scaling=definition(kind, ours=True)).to_define())


def test_definitions_that_an_aggregated_api_took_over_are_named():
    kind = kind_of_model(SeedAutoscaler)
    present = definition(kind, ours=True)
    assert list(landscape(GARDENER, CLAIMED, own=present).covered()) == []
    assert list(landscape("v1beta1.seedmanagement.gardener.cloud", own=present).covered()) == [kind]


def test_prometheus_is_known_by_its_rules():
    rules = {"metadata": {"name": "prometheusrules.monitoring.coreos.com"}}
    assert landscape(rules=rules).has_prometheus
    assert not landscape().has_prometheus
