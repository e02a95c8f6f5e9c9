"""seed.defaults: default settings of a seed, and the labels that it is selected by."""

from typing import Any

import pytest

from tests.support.admission import mutate
from tests.support.builders import make_managed_seed, make_seed, make_seed_shoot, merged
from webhook.api import names


def default(seed: dict[str, Any], *around: dict[str, Any]) -> dict[str, Any]:
    result, _ = mutate("seed.defaults", seed, around=around)
    again, _ = mutate("seed.defaults", result, around=around)
    assert again == result
    return result


def test_settings_and_families() -> None:
    spec = default(make_seed())["spec"]
    assert spec["settings"] == {
        "scheduling": {"visible": True},
        "verticalPodAutoscaler": {"enabled": True},
        "topologyAwareRouting": {"enabled": False},
        "dependencyWatchdog": {"weeder": {"enabled": True}, "prober": {"enabled": True}},
        "persistentVolumeClaimAutoscaler": {"enabled": False},
        "loadBalancerServices": {"zonalIngress": {"enabled": True}},
        "excessCapacityReservation": {"configs": [{"resources": {"cpu": "2", "memory": "6Gi"}}]},
    }
    assert spec["networks"]["ipFamilies"] == ["IPv4"]


def test_set_fields_stay() -> None:
    settings = {
        "scheduling": {"visible": False},
        "verticalPodAutoscaler": {"enabled": False},
        "dependencyWatchdog": {"weeder": {"enabled": False}},
        "excessCapacityReservation": {"enabled": False},
    }
    chosen = make_seed(spec={"settings": settings, "networks": {"ipFamilies": ["IPv6"]}})
    result = default(chosen)["spec"]
    assert merged(result["settings"], settings) == result["settings"]
    assert result["settings"]["excessCapacityReservation"] == {"enabled": False}
    assert result["networks"]["ipFamilies"] == ["IPv6"]


NAME = names.SEED_NAME_PREFIX


@pytest.mark.parametrize(
    ("labels", "around", "expected"),
    [
        pytest.param({}, [], {f"{NAME}seed": "true"}, id="its own"),
        pytest.param(
            {f"{NAME}gone": "true"}, [], {f"{NAME}seed": "true"}, id="another seed's is taken off"
        ),
        pytest.param(
            {},
            [make_managed_seed(), make_seed_shoot(seedName="parent")],
            {f"{NAME}seed": "true", f"{NAME}parent": "true"},
            id="and its parent's",
        ),
        pytest.param(
            {},
            [make_managed_seed(), make_seed_shoot()],
            {f"{NAME}seed": "true"},
            id="no parent where the shoot is not placed",
        ),
        pytest.param(
            {}, [make_managed_seed()], {f"{NAME}seed": "true"}, id="nor where it is missing"
        ),
    ],
)
def test_labels_have_the_names_of_the_seeds(
    labels: dict[str, str], around: list[dict[str, Any]], expected: dict[str, str]
) -> None:
    result = default(make_seed(metadata={"labels": labels}), *around)["metadata"]["labels"]
    assert {key: value for key, value in result.items() if key.startswith(NAME)} == expected


def test_labels_follow_provider_and_region() -> None:
    stale = make_seed(metadata={"labels": {names.SEED_REGION: "elsewhere", "mine": "x"}})
    labels = default(stale)["metadata"]["labels"]
    assert labels[names.SEED_PROVIDER] == "local"
    assert labels[names.SEED_REGION] == "here"
    assert labels["mine"] == "x"
