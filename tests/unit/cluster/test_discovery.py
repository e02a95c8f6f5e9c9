import json
from typing import Any

import pytest

from webhook.api import names
from webhook.api.crds import crd, definable
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.machines import MachineDeployment
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.cluster.discovery import GARDENER_API, DiscoveredApis, InstalledApis

OURS = ["SeedAutoscaler", "Zone", "ScheduledScaling"]
CLAIMED = "v1alpha1.seedmanagement.gardener.cloud"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
STORED = "v1beta1.seedmanagement.gardener.cloud"


def definition(kind: Kind, *, ours: bool) -> dict[str, Any]:
    found = crd(kind, beside_gardener=False)
    if not ours:
        del found["metadata"]["labels"][names.MANAGED_BY]
    return found


def installed_apis(*aggregated: str, **definitions: dict[str, Any]) -> InstalledApis:
    found = {item["metadata"]["name"]: item for item in definitions.values()}
    return InstalledApis(frozenset(aggregated), found)


def test_an_empty_cluster_gets_all_definitions():
    assert list(installed_apis().to_define(beside_gardener=False)) == list(
        definable(beside_gardener=False)
    )


def test_beside_a_gardener_only_our_own_kinds_are_defined():
    found = installed_apis(GARDENER_API, CLAIMED)
    assert found.has_gardener
    assert [kind.name for kind in found.to_define(beside_gardener=True)] == OURS


def test_a_foreign_definition_is_not_replaced():
    kind = kind_of_model(MachineDeployment)
    found = installed_apis(machines=definition(kind, ours=False))
    assert kind not in list(found.to_define(beside_gardener=False))
    assert found.is_claimed(kind)


def test_our_own_definition_is_updated():
    kind = kind_of_model(ScheduledScaling)
    found = installed_apis(scaling=definition(kind, ours=True))
    assert kind in list(found.to_define(beside_gardener=False))


TORTOISE = kind_of_model(Tortoise)
VERSIONS: dict[str, Any] = {"f:spec": {"f:versions": {}}}
LABEL: dict[str, Any] = {"f:metadata": {"f:labels": {f"f:{names.MANAGED_BY}": {}}}}


def managed(**managers: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"manager": name, "fieldsV1": owned} for name, owned in managers.items()]


@pytest.mark.parametrize(
    ("metadata", "claimant"),
    [
        pytest.param({}, "", id="our label"),
        pytest.param({"labels": {}}, "others", id="no label"),
        pytest.param(
            {"labels": {}, "managedFields": managed(helm=VERSIONS)}, "helm", id="somebody's name"
        ),
        pytest.param(
            {"managedFields": managed(kubectl={**VERSIONS, **LABEL})}, "", id="applied by us"
        ),
        pytest.param(
            {"managedFields": managed(kubectl={**VERSIONS, **LABEL}, kubernetes={})},
            "",
            id="with a status of the API server",
        ),
        pytest.param(
            {"managedFields": managed(kubectl=LABEL, flux=VERSIONS)},
            "flux",
            id="our label, and others have replaced the versions",
        ),
        pytest.param(
            {"managedFields": managed(kubectl={**VERSIONS, **LABEL}, flux=VERSIONS)},
            "flux",
            id="others share the versions",
        ),
        pytest.param(
            {"annotations": {LAST_APPLIED: '{"metadata": {"labels": {}}}'}},
            "kubectl apply",
            id="our label is older than the last kubectl apply",
        ),
        pytest.param(
            {"annotations": {LAST_APPLIED: json.dumps(crd(TORTOISE, beside_gardener=False))}},
            "",
            id="our own kubectl apply",
        ),
        pytest.param({"annotations": {LAST_APPLIED: "?"}}, "", id="an unreadable annotation"),
    ],
)
def test_who_manages_a_definition(metadata: dict[str, Any], claimant: str):
    kind = kind_of_model(Tortoise)
    present = definition(kind, ours=True)
    present["metadata"] |= metadata
    found = installed_apis(tortoises=present)
    assert found.claimant(kind) == claimant
    assert (kind in found.to_define(beside_gardener=False)) == (not claimant)
    left = [(kind, claimant)] if claimant else []
    assert list(found.left_out(beside_gardener=False)) == left
    assert found.is_ours(kind) == (not claimant), "uninstalling deletes only what is ours"


@pytest.mark.parametrize(
    ("claimed", "present", "has_claims", "covered"),
    [
        pytest.param("", "alone", False, False, id="no version is claimed"),
        pytest.param(CLAIMED, "alone", True, False, id="the further version is claimed"),
        pytest.param(
            CLAIMED,
            "beside",
            False,
            False,
            id="the claimed version is not defined beside a Gardener",
        ),
        pytest.param(CLAIMED, "foreign", False, False, id="the definition is foreign"),
        pytest.param(CLAIMED, "unserved", False, False, id="the claimed version is not served"),
        pytest.param(STORED, "beside", True, True, id="the version that we read is claimed"),
    ],
)
def test_definitions_with_a_version_that_an_aggregated_api_claims_are_named(
    claimed: str, present: str, has_claims: bool, covered: bool
):
    kind = kind_of_model(SeedAutoscaler)
    own = crd(kind, beside_gardener=present == "beside")
    if present == "foreign":
        del own["metadata"]["labels"][names.MANAGED_BY]
    if present == "unserved":
        own["spec"]["versions"][1]["served"] = False
    found = installed_apis(claimed, own=own)
    assert list(found.with_claimed_versions()) == [kind] * has_claims
    assert list(found.covered()) == [kind] * covered


def test_a_kind_is_served_only_in_its_exact_version():
    served = DiscoveredApis({"autoscaling.mercari.com/v1beta3": frozenset({"tortoises"})}, {})
    assert served.has(kind_of_model(Tortoise))
    assert not served.has(kind_of_model(ScheduledScaling))


def test_prometheus_is_detected_by_its_rules():
    rules = {"metadata": {"name": "prometheusrules.monitoring.coreos.com"}}
    assert installed_apis(rules=rules).has_prometheus
    assert not installed_apis().has_prometheus
