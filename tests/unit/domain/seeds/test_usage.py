from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from tests.support.landscape_objects import ANYWAY, MULTI_ZONE, SINGLE_ZONE, amounts, make_shoot
from webhook.domain.options import Options, UsageOptions, UsageRule
from webhook.domain.seeds import usage
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_USAGE


@pytest.mark.parametrize(
    ("placements", "expected"),
    [
        pytest.param([("", "")], {}, id="nowhere"),
        pytest.param([("s", "")], {"s": 1}, id="assigned"),
        pytest.param([("", "s")], {"s": 1}, id="still there"),
        pytest.param([("s", "s")], {"s": 1}, id="at home"),
        pytest.param([("s", "s2")], {"s": 1, "s2": 1}, id="moving counts on both"),
        pytest.param(
            [("", ""), ("s", "s2"), ("s2", "s2"), ("s3", "s2"), ("s3", "s4")],
            {"s": 1, "s2": 3, "s3": 2, "s4": 1},
            id="five shoots",
        ),
    ],
)
def test_shoots_use_the_seeds_of_spec_and_status(
    placements: list[tuple[str, str]], expected: dict[str, int]
) -> None:
    shoots = [
        make_shoot(f"shoot-{index}", seed=wanted, actual_seed=actual)
        for index, (wanted, actual) in enumerate(placements)
    ]
    assert Counter(seed for shoot in shoots for seed in usage.seeds_of(shoot)) == expected
    totals = Snapshot.of(shoots).totals(SEED_USAGE)
    assert {seed: int(total[usage.SHOOTS]) for seed, total in totals.items()} == expected


@pytest.mark.parametrize(
    ("ha", "volumes"),
    [
        pytest.param(None, 1, id="one member"),
        pytest.param(SINGLE_ZONE, 3, id="three members in one zone"),
        pytest.param(MULTI_ZONE, 3, id="three members in three zones"),
        pytest.param({**MULTI_ZONE, "failureTolerance": 2}, 5, id="five members"),
        pytest.param({**SINGLE_ZONE, "failureTolerance": 2}, 5, id="five members in one zone"),
        pytest.param({**MULTI_ZONE, "enabled": False}, 1, id="switched off"),
    ],
)
def test_each_member_of_etcd_uses_a_volume(ha: dict[str, Any] | None, volumes: int) -> None:
    found = usage.usage_of(make_shoot(ha=ha), UsageOptions())
    assert found == amounts(shoots=1, persistent_volumes=volumes)


RULE = UsageOptions((("gpus", UsageRule(Decimal(0), Decimal(2), Decimal("4.5"))),))


@pytest.mark.parametrize(
    ("ha", "annotations", "gpus"),
    [
        pytest.param(None, {}, None, id="none"),
        pytest.param(SINGLE_ZONE, {}, Decimal(2), id="single-zone"),
        pytest.param(MULTI_ZONE, {}, Decimal("4.5"), id="multi-zone"),
        pytest.param(
            ANYWAY,
            {"espalier.gardener.cloud/effective-failure-domain": "single-zone"},
            Decimal(2),
            id="weakened to single-zone",
        ),
    ],
)
def test_other_resources_are_counted_by_the_rules(
    ha: dict[str, Any] | None, annotations: dict[str, str], gpus: Decimal | None
) -> None:
    assert usage.usage_of(make_shoot(ha=ha, annotations=annotations), RULE).get("gpus") == gpus


def test_totals_are_counted_by_the_settings() -> None:
    snapshot = Snapshot.of([make_shoot(seed="s", ha=MULTI_ZONE)], options=Options(usage=RULE))
    assert snapshot.total(SEED_USAGE, "s")["gpus"] == Decimal("4.5")
