from typing import Any

import pytest

from webhook.api import names
from webhook.api.crds import crd, definable
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.machines import MachineDeployment
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.cluster.landscape import GARDENER, Landscape, Served

OURS = ["SeedAutoscaler", "Zone", "ScheduledScaling"]
CLAIMED = "v1alpha1.seedmanagement.gardener.cloud"
STORED = "v1beta1.seedmanagement.gardener.cloud"


def definition(kind: Kind, *, ours: bool) -> dict[str, Any]:
    found = crd(kind, beside_gardener=False)
    if not ours:
        del found["metadata"]["labels"][names.MANAGED_BY]
    return found


def landscape(*aggregated: str, **definitions: dict[str, Any]) -> Landscape:
    found = {item["metadata"]["name"]: item for item in definitions.values()}
    return Landscape(frozenset(aggregated), found)


def test_an_empty_cluster_gets_everything():
    assert list(landscape().to_define(beside_gardener=False)) == list(
        definable(beside_gardener=False)
    )


def test_beside_a_gardener_only_our_own_kinds_are_defined():
    found = landscape(GARDENER, CLAIMED)
    assert found.has_gardener
    assert [kind.name for kind in found.to_define(beside_gardener=True)] == OURS


def test_a_definition_of_somebody_else_is_left_alone():
    kind = kind_of_model(MachineDeployment)
    found = landscape(machines=definition(kind, ours=False))
    assert kind not in list(found.to_define(beside_gardener=False))
    assert found.is_claimed(kind)


def test_our_own_definition_is_brought_up_to_date():
    kind = kind_of_model(ScheduledScaling)
    found = landscape(scaling=definition(kind, ours=True))
    assert kind in list(found.to_define(beside_gardener=False))


@pytest.mark.parametrize(
    ("claimed", "present", "covered", "displaced"),
    [
        pytest.param("", "alone", False, False, id="nobody claims a version"),
        pytest.param(CLAIMED, "alone", True, False, id="the further version is claimed"),
        pytest.param(CLAIMED, "beside", False, False, id="which is not defined beside a Gardener"),
        pytest.param(CLAIMED, "foreign", False, False, id="or by somebody else"),
        pytest.param(CLAIMED, "unserved", False, False, id="or not asked to be served"),
        pytest.param(STORED, "beside", True, True, id="the version that we read is claimed"),
    ],
)
def test_definitions_with_a_version_that_an_aggregated_api_claims_are_named(
    claimed: str, present: str, covered: bool, displaced: bool
):
    kind = kind_of_model(SeedAutoscaler)
    own = crd(kind, beside_gardener=present == "beside")
    if present == "foreign":
        del own["metadata"]["labels"][names.MANAGED_BY]
    if present == "unserved":
        own["spec"]["versions"][1]["served"] = False
    found = landscape(claimed, own=own)
    assert list(found.covered()) == [kind] * covered
    assert list(found.displaced()) == [kind] * displaced


def test_what_is_served_is_known_by_exact_version():
    served = Served({"autoscaling.mercari.com/v1beta3": frozenset({"tortoises"})}, {})
    assert served.has(kind_of_model(Tortoise))
    assert not served.has(kind_of_model(ScheduledScaling))


def test_prometheus_is_known_by_its_rules():
    rules = {"metadata": {"name": "prometheusrules.monitoring.coreos.com"}}
    assert landscape(rules=rules).has_prometheus
    assert not landscape().has_prometheus
