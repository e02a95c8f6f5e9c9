"""The complete list of reasons why profile `default` differs from Gardener, one test each."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.landscape_objects import (
    ANYWAY,
    MULTI_ZONE,
    make_managed_seed,
    make_profile,
    make_region_config,
    make_seed,
    make_shoot,
    multi_zonal,
)
from webhook.api import names
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.options import Options, SchedulingOptions
from webhook.kube.meta import Object
from webhook.scheduling.pipeline import place
from webhook.scheduling.profiles import DEFAULT, GARDENER
from webhook.state.snapshot import Snapshot

DOCS = Path(__file__).parents[3] / "docs" / "gardener.md"
NEAR = "eu-west-2"
FAR = "us-east-1"
ZONE_TOLERANT = {"highAvailability": {"failureTolerance": {"type": "zone"}}}


class Difference(NamedTuple):
    """A landscape for which the two profiles differ, and what each of them chooses."""

    shoot: Shoot
    seeds: Sequence[Seed]
    gardener: str | None
    default: str | None
    objects: Sequence[Object] = ()


def fill(seed: str, count: int) -> list[Shoot]:
    return [make_shoot(f"{seed}-{index}", seed=seed) for index in range(count)]


REASONS = {
    "emptiest": Difference(
        make_shoot(),
        [make_seed("big", shoots=100), make_seed("small", shoots=10)],
        gardener="small",
        default="big",
        objects=[*fill("big", 20), *fill("small", 3)],
    ),
    "plain-seeds-first": Difference(
        make_shoot(),
        [make_seed("plain"), multi_zonal("wide")],
        gardener="wide",
        default="plain",
        objects=fill("plain", 1),
    ),
    "after-the-region": Difference(
        make_shoot(controlPlane=ZONE_TOLERANT),
        [make_seed("here"), multi_zonal("near", region=NEAR)],
        gardener="near",
        default=None,
    ),
    "preference": Difference(
        make_shoot(),
        [
            make_seed("shy", zones=("x",), settings={"zoneSelection": {"mode": "Prefer"}}),
            make_seed("far", region=FAR),
        ],
        gardener=None,
        default="shy",
    ),
    "broken-table": Difference(
        make_shoot(),
        [make_seed("near", region=NEAR)],
        gardener=None,
        default="near",
        objects=[make_region_config({"eu-west-1": "eu-west-2: ["})],
    ),
    "multi-zonal-label": Difference(
        make_shoot(controlPlane=ZONE_TOLERANT),
        [multi_zonal("wide", labels={names.MULTI_ZONAL: "false"})],
        gardener="wide",
        default=None,
    ),
    "failure-tolerance": Difference(
        make_shoot(ha={**MULTI_ZONE, "failureTolerance": 2}),
        [multi_zonal("three")],
        gardener="three",
        default=None,
    ),
    "schedule-anyway": Difference(
        make_shoot(ha=ANYWAY),
        [make_seed("plain")],
        gardener=None,
        default="plain",
    ),
    "region-affinity": Difference(
        make_shoot(affinity="required"),
        [make_seed("near", region=NEAR)],
        gardener="near",
        default=None,
    ),
    "provider-types": Difference(
        make_shoot(seedSelector={"providerTypes": ["gcp"]}),
        [make_seed("seed")],
        gardener="seed",
        default=None,
    ),
    "pinned-zones": Difference(
        make_shoot(controlPlane={**ZONE_TOLERANT, "zones": ["x", "y", "z"]}),
        [multi_zonal("wide")],
        gardener="wide",
        default=None,
    ),
    "other-resources": Difference(
        make_shoot(ha=MULTI_ZONE),
        [multi_zonal("wide", allocatable={"persistent-volumes": 2})],
        gardener="wide",
        default=None,
    ),
    "leaving": Difference(
        make_shoot(),
        [make_seed("leaving"), make_seed("staying")],
        gardener="leaving",
        default="staying",
        objects=[
            make_managed_seed("leaving", metadata={"annotations": {names.SCALE_IN: "true"}}),
            *fill("staying", 1),
        ],
    ),
}
STRATEGY = {"after-the-region", "broken-table", "region-affinity"}
"""Reasons that need a strategy which considers other regions."""


@pytest.mark.parametrize("reason", REASONS)
def test_default_differs_for_a_reason_of_the_list(reason: str) -> None:
    difference = REASONS[reason]
    options = SchedulingOptions(strategy="MinimalDistance" if reason in STRATEGY else "SameRegion")
    known = [*difference.seeds, make_profile(), *difference.objects]
    snapshot = Snapshot.of(known, options=Options(scheduling=options))
    chosen = [
        place(difference.shoot, difference.seeds, snapshot, profile).seed
        for profile in (GARDENER, DEFAULT)
    ]
    assert chosen == [difference.gardener, difference.default]


def test_the_documentation_has_the_same_list() -> None:
    section = DOCS.read_text().partition("## Where placements differ\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE) == [*REASONS]
