"""Profile `gardener` compared with Gardener's DetermineSeed, in random landscapes."""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from itertools import combinations
from typing import Any, NamedTuple

import pytest

from tests.support import random_landscapes
from tests.support.control_planes import require_parts
from tests.support.landscape_objects import read
from webhook.api.cloudprofiles import CloudProfile
from webhook.api.core import ConfigMap
from webhook.api.projects import Project
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.dev.planes.binaries import require
from webhook.domain.options import Options, RegionStrategy, SchedulingOptions
from webhook.domain.seeds import usage
from webhook.kube.meta import Draft, Object
from webhook.scheduling.filters.availability import AVAILABILITY, PLAIN_SEEDS_FIRST
from webhook.scheduling.filters.provider import PROVIDER
from webhook.scheduling.filters.zone_selection import ZONE_PREFERENCE, ZONE_SELECTION
from webhook.scheduling.framework import Profile
from webhook.scheduling.pipeline import place
from webhook.scheduling.profiles import DEFAULT, GARDENER
from webhook.scheduling.result import ScheduleResult
from webhook.state.snapshot import Snapshot

pytestmark = pytest.mark.timeout(300)

LANDSCAPES = 300
ASKS = 20
FIRST = int(os.environ.get("ESPALIER_SEED", "0"))

MODELS: dict[str, type[Object]] = {
    "seeds": Seed,
    "shoots": Shoot,
    "cloudProfiles": CloudProfile,
    "configMaps": ConfigMap,
    "projects": Project,
}

STAGES = (
    ("usable", r"none of the (\d+) seeds is valid for scheduling"),
    (
        "profileSelector",
        r"none out of the (\d+) seeds has the matching labels .* of 'CloudProfile'",
    ),
    ("seedSelector", r"none out of the (\d+) seeds has the matching labels .* of 'Shoot'"),
    ("provider", r"none out of the (\d+) seeds has a matching provider"),
    ("highAvailability", r"none of the (\d+) seeds has at least 3 zones"),
    ("zoneSelection", r"none of the (\d+) seeds (?:contains all requested|has any zone overlap)"),
    ("accessRestrictions", r"none of the (\d+) seeds supports the access restrictions"),
    ("domain", r"none of the (\d+) seeds support the domain"),
    ("emergencyStop", r"none of the (\d+) seeds have enabled shoot reconciliations"),
    ("candidates", r"0/(\d+) seed cluster candidate"),
    ("strategy", r"no matching seed candidate found()|()cannot unmarshal|()unmarshal|()parse"),
)
CANDIDATES = ("networks", "taints", "capacity")


class Answer(NamedTuple):
    """What is compared: the seed, or the step that refused the last seed, and how many it had."""

    seed: str = ""
    stage: str = ""
    left: int | None = None


def theirs(landscapes: Sequence[Draft]) -> Iterator[list[Answer]]:
    lines = "\n".join(map(json.dumps, landscapes))
    done = subprocess.run(
        [str(require("peer-gardener")), "place"], input=lines, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    for line in done.stdout.splitlines():
        yield [_their_answer(answer) for answer in json.loads(line)]


def _their_answer(answer: dict[str, str]) -> Answer:
    if "seed" in answer:
        return Answer(answer["seed"])
    for stage, pattern in STAGES:
        if found := re.search(pattern, answer["error"]):
            left = found[1] if stage != "strategy" else None
            return Answer("", stage, int(left) if left else None)
    raise AssertionError(answer["error"])


def snapshot_of(landscape: Draft) -> tuple[Snapshot, list[Seed]]:
    found = {name: [read(model, raw) for raw in landscape[name]] for name, model in MODELS.items()}
    strategy: RegionStrategy = landscape["strategy"]
    options = Options(beside_gardener=True, scheduling=SchedulingOptions(strategy=strategy))
    objects = [obj for objects in found.values() for obj in objects]
    now = datetime(2026, 1, 2, tzinfo=UTC)
    return Snapshot.of(objects, taken_at=now, options=options), list(found["seeds"])  # type: ignore[arg-type]


def ours(landscape: Draft) -> Iterator[tuple[Answer, ScheduleResult]]:
    snapshot, seeds = snapshot_of(landscape)
    for raw in landscape["asks"]:
        verdict = place(read(Shoot, raw), seeds, snapshot, GARDENER)
        yield _our_answer(verdict), verdict


def _our_answer(verdict: ScheduleResult) -> Answer:
    if verdict.seed is not None:
        return Answer(verdict.seed)
    if not verdict.step_rejections:
        return Answer("", "usable", 0)
    last = verdict.step_rejections[-1]
    if last.step == "strategy":
        return Answer("", "strategy")
    if last.step not in CANDIDATES:
        return Answer("", last.step, last.remaining.bit_count())
    first = next(cut for cut in verdict.step_rejections if cut.step in CANDIDATES)
    return Answer("", "candidates", first.remaining.bit_count())


def are_equal(landscape: Draft, one: str, other: str, verdict: ScheduleResult) -> bool:
    """Return whether two seeds are both candidates with the fewest shoots."""
    counted: dict[str, int] = {}
    for raw in landscape["shoots"]:
        for seed in usage.seeds_of(read(Shoot, raw)):
            counted[seed] = counted.get(seed, 0) + 1
    both = {one, other} <= {*verdict.feasible}
    return both and counted.get(one, 0) == counted.get(other, 0)


def differences(landscape: Draft, answers: Sequence[Answer]) -> Iterator[Any]:
    for index, ((mine, verdict), their) in enumerate(zip(ours(landscape), answers, strict=True)):
        if mine == their:
            continue
        if mine.seed and their.seed and are_equal(landscape, mine.seed, their.seed, verdict):
            continue
        yield index, landscape["strategy"], mine, their


@pytest.fixture(scope="module")
def compared() -> list[tuple[Draft, list[Answer]]]:
    """Landscapes, and Gardener's placements in them."""
    require_parts("peer-gardener")
    landscapes = [random_landscapes.make(FIRST + number, ASKS) for number in range(LANDSCAPES)]
    return [*zip(landscapes, theirs(landscapes), strict=True)]


def test_every_choice_and_every_refusal_is_gardeners(compared):
    found = [
        (FIRST + number, *difference)
        for number, (landscape, answers) in enumerate(compared)
        for difference in differences(landscape, answers)
    ]
    assert found == []


def test_the_landscapes_try_every_stage(compared):
    answers = [answer for _, each in compared for answer in each]
    tried = {answer.stage for answer in answers if answer.stage}
    assert tried == {stage for stage, _ in STAGES}
    assert sum(bool(answer.seed) for answer in answers) > LANDSCAPES * ASKS / 10


REASONS = (
    "after-the-region",
    "broken-table",
    "emptiest",
    "plain-seeds-first",
    "preference",
)
"""The reasons of the closed list in docs/gardener.md that occur in random landscapes."""

SUBSETS = [each for count in range(len(REASONS) + 1) for each in combinations(REASONS, count)]


@cache
def without(*reasons: str) -> Profile:
    """Return profile `default` without some of its reasons to differ."""
    steps, tier_steps = [*DEFAULT.steps], [*DEFAULT.tier_steps]
    for reason, step, earlier in (
        ("after-the-region", AVAILABILITY, PROVIDER),
        ("preference", ZONE_PREFERENCE, ZONE_SELECTION),
    ):
        if reason in reasons:
            tier_steps.remove(step)
            steps.insert(steps.index(earlier) + 1, step)
    if "plain-seeds-first" in reasons:
        tier_steps.remove(PLAIN_SEEDS_FIRST)
    return replace(
        DEFAULT,
        steps=tuple(steps),
        tier_steps=tuple(tier_steps),
        scorers=(GARDENER if "emptiest" in reasons else DEFAULT).scorers,
        requires_region_table="broken-table" in reasons,
    )


def reasons_of(landscape: Draft) -> Iterator[tuple[str, ...] | None]:
    """Return for each shoot the fewest reasons without which both profiles choose alike.

    None means that there are others: a difference that is not on the list.
    """
    snapshot, seeds = snapshot_of(landscape)
    for raw in landscape["asks"]:
        shoot = read(Shoot, raw)
        wanted = place(shoot, seeds, snapshot, GARDENER).seed
        agree = (
            each for each in SUBSETS if place(shoot, seeds, snapshot, without(*each)).seed == wanted
        )
        yield next(agree, None)


def test_the_default_profile_differs_for_reasons_of_a_closed_list_only(compared):
    found = [
        (FIRST + number, index, reasons)
        for number, (landscape, _) in enumerate(compared)
        for index, reasons in enumerate(reasons_of(landscape))
    ]
    assert [(number, index) for number, index, reasons in found if reasons is None] == []
    alone = {reasons for _, _, reasons in found if reasons and len(reasons) == 1}
    assert alone == {(reason,) for reason in REASONS}
