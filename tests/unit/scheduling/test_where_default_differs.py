"""Why profile `default` chooses otherwise than Gardener: the closed list, reason by reason."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.landscapes import (
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
from webhook.api.meta import Object
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.options import Options, SchedulingOptions
from webhook.scheduling.pipeline import place
from webhook.scheduling.profiles import DEFAULT, GARDENER
from webhook.state.snapshot import Snapshot

DOCS = Path(__file__).parents[3] / "docs" / "gardener.md"
NEAR = "eu-west-2"
FAR = "us-east-1"
ZONE_TOLERANT = {"highAvailability": {"failureTolerance": {"type": "zone"}}}


class Met(NamedTuple):
    """A landscape in which the two profiles part, and what each of them chooses."""

    shoot: Shoot
    seeds: Sequence[Seed]
    gardener: str | None
    default: str | None
    others: Sequence[Object] = ()


def fill(seed: str, count: int) -> list[Shoot]:
    return [make_shoot(f"{seed}-{index}", seed=seed) for index in range(count)]


REASONS = {
    "emptiest": Met(
        make_shoot(),
        [make_seed("big", shoots=100), make_seed("small", shoots=10)],
        gardener="small",
        default="big",
        others=[*fill("big", 20), *fill("small", 3)],
    ),
    "plain-seeds-first": Met(
        make_shoot(),
        [make_seed("plain"), multi_zonal("wide")],
        gardener="wide",
        default="plain",
        others=fill("plain", 1),
    ),
    "after-the-region": Met(
        make_shoot(controlPlane=ZONE_TOLERANT),
        [make_seed("here"), multi_zonal("near", region=NEAR)],
        gardener="near",
        default=None,
    ),
    "preference": Met(
        make_shoot(),
        [
            make_seed("shy", zones=("x",), settings={"zoneSelection": {"mode": "Prefer"}}),
            make_seed("far", region=FAR),
        ],
        gardener=None,
        default="shy",
    ),
    "broken-table": Met(
        make_shoot(),
        [make_seed("near", region=NEAR)],
        gardener=None,
        default="near",
        others=[make_region_config({"eu-west-1": "eu-west-2: ["})],
    ),
    "multi-zonal-label": Met(
        make_shoot(controlPlane=ZONE_TOLERANT),
        [multi_zonal("wide", labels={names.MULTI_ZONAL: "false"})],
        gardener="wide",
        default=None,
    ),
    "failure-tolerance": Met(
        make_shoot(ha={**MULTI_ZONE, "failureTolerance": 2}),
        [multi_zonal("three")],
        gardener="three",
        default=None,
    ),
    "schedule-anyway": Met(
        make_shoot(ha=ANYWAY),
        [make_seed("plain")],
        gardener=None,
        default="plain",
    ),
    "region-affinity": Met(
        make_shoot(affinity="required"),
        [make_seed("near", region=NEAR)],
        gardener="near",
        default=None,
    ),
    "provider-types": Met(
        make_shoot(seedSelector={"providerTypes": ["gcp"]}),
        [make_seed("seed")],
        gardener="seed",
        default=None,
    ),
    "pinned-zones": Met(
        make_shoot(controlPlane={**ZONE_TOLERANT, "zones": ["x", "y", "z"]}),
        [multi_zonal("wide")],
        gardener="wide",
        default=None,
    ),
    "other-resources": Met(
        make_shoot(ha=MULTI_ZONE),
        [multi_zonal("wide", allocatable={"persistent-volumes": 2})],
        gardener="wide",
        default=None,
    ),
    "leaving": Met(
        make_shoot(),
        [make_seed("leaving"), make_seed("staying")],
        gardener="leaving",
        default="staying",
        others=[
            make_managed_seed("leaving", metadata={"annotations": {names.SCALE_IN: "true"}}),
            *fill("staying", 1),
        ],
    ),
}
STRATEGY = {"after-the-region", "broken-table", "region-affinity"}
"""Reasons that show only where farther regions are considered at all."""


@pytest.mark.parametrize("reason", REASONS)
def test_default_differs_for_a_reason_of_the_list(reason: str) -> None:
    met = REASONS[reason]
    by = SchedulingOptions(strategy="MinimalDistance" if reason in STRATEGY else "SameRegion")
    known = [*met.seeds, make_profile(), *met.others]
    snapshot = Snapshot.of(known, options=Options(scheduling=by))
    chosen = [place(met.shoot, met.seeds, snapshot, by).seed for by in (GARDENER, DEFAULT)]
    assert chosen == [met.gardener, met.default]


def test_the_documentation_has_the_same_list() -> None:
    section = DOCS.read_text().partition("## Where placements differ\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE) == [*REASONS]
