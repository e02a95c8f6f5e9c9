"""The zones of seeds and shoots; a label can only deny that a seed is multi-zonal."""

import pytest

from webhook.api import names
from webhook.api.seeds import Seed, SeedProvider, SeedSpec
from webhook.api.shoots import Shoot, ShootProvider, ShootSpec
from webhook.api.workers import ShootWorker
from webhook.domain.seeds import zones
from webhook.kube.meta import Metadata


def test_the_zones_of_a_shoot_are_those_of_all_its_pools() -> None:
    pools = (ShootWorker(zones=("b", "a")), ShootWorker(zones=("c", "a")), ShootWorker())
    shoot = Shoot(spec=ShootSpec(provider=ShootProvider(workers=pools)))
    assert zones.shoot_zones(shoot) == {"a", "b", "c"}


@pytest.mark.parametrize(
    ("listed", "label", "expected"),
    [
        pytest.param("ab", None, False, id="two zones are too few"),
        pytest.param("ab", "true", False, id="the label alone never suffices"),
        pytest.param("aab", "true", False, id="a zone listed twice is one zone"),
        pytest.param("abc", None, True, id="three zones suffice"),
        pytest.param("abc", "true", True, id="three zones and the label"),
        pytest.param("abc", "false", False, id="the label can deny it"),
    ],
)
def test_is_multi_zonal(listed: str, label: str | None, expected: bool) -> None:
    seed = Seed(
        metadata=Metadata(labels={} if label is None else {names.MULTI_ZONAL: label}),
        spec=SeedSpec(provider=SeedProvider(zones=tuple(listed))),
    )
    assert zones.is_multi_zonal(seed) is expected
