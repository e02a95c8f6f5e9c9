"""Explanations: every seed with its first rejection or its scores."""

from tests.support.landscape_objects import (
    ANYWAY,
    make_profile,
    make_region_config,
    make_seed,
    make_shoot,
)
from webhook.api.decode import MalformedField
from webhook.api.seeds import Seed
from webhook.domain.options import Options, UsageOptions, UsageRule
from webhook.kube.meta import ObjectKey
from webhook.scheduling import explain
from webhook.scheduling.pipeline import place
from webhook.scheduling.seed_table import SeedTable
from webhook.state.snapshot import Snapshot
from webhook.state.store import StoreEntry

SEEDS = [
    make_seed("away", region="us-east-1"),
    make_seed("good"),
    make_seed("half", shoots=2),
    make_seed("odd", shoots="some"),
]
CLUSTER = [make_shoot("one", seed="half"), make_profile()]


def test_explanation_as_a_table() -> None:
    found = explain.explain(make_shoot(), SEEDS, Snapshot.of([*SEEDS, *CLUSTER]))
    assert explain.to_text(found) == (
        "garden-dev/shoot: profile default, 2 of 4 seeds fit, good is chosen\n"
        "\n"
        "SEED  RESULT   STEP      REASON OR SCORES\n"
        "good  chosen             SeedResourcesLeastAllocated 100.00\n"
        "half  fits               SeedResourcesLeastAllocated 50.00\n"
        "away  refused  strategy  is not in the shoot's region\n"
        "odd   refused  usable    cannot be read, fix the fields that `espalier explain` names:"
        " status.allocatable.shoots: 'some' is not a quantity,"
        " write a number with an optional suffix such as 2, 500m or 5Gi\n"
    )


def test_explanation_as_json() -> None:
    found = explain.explain(make_shoot(), SEEDS[:2], Snapshot.of([*SEEDS[:2], *CLUSTER]))
    assert explain.encode(found) == {
        "shoot": "garden-dev/shoot",
        "profile": "default",
        "assigned": None,
        "seed": "good",
        "weakened": False,
        "notes": [],
        "maxScore": 10000,
        "seeds": [
            {
                "name": "good",
                "result": "chosen",
                "scores": {"SeedResourcesLeastAllocated": 10000},
                "total": 10000,
            },
            {
                "name": "away",
                "result": "refused",
                "step": "strategy",
                "reason": "is not in the shoot's region",
                "final": False,
            },
        ],
    }


def test_every_seed_is_listed_once() -> None:
    found = explain.explain(make_shoot(), SEEDS, Snapshot.of([*SEEDS, *CLUSTER]))
    assert sorted(report.name for report in found.seeds) == sorted(seed.name for seed in SEEDS)


def test_seeds_that_cannot_be_decoded_are_listed() -> None:
    snapshot = Snapshot.of([make_seed("good"), make_profile()])
    faults = (MalformedField("spec.provider", "must be an object"),)
    memory = snapshot._state
    memory.store(Seed).set(ObjectKey("", "torn"), StoreEntry(None, None, faults))
    found = explain.explain(make_shoot(), SeedTable(), snapshot)
    assert found.seeds[1].name == "torn"
    assert found.seeds[1].reason.endswith("spec.provider: must be an object")
    assert place(make_shoot(), SeedTable(), snapshot).rejected["torn"][0] == "usable"


def test_notes() -> None:
    seeds = [make_seed("good", allocatable={"gpus": 3, "lbs": 4})]
    rules = UsageOptions((("lbs", UsageRule()),))
    table = make_region_config({"eu-west-1": "["})
    shoot = make_shoot(schedulerName="mine", seed="good", ha=ANYWAY)
    snapshot = Snapshot.of([*seeds, make_profile(), table], options=Options(usage=rules))
    found = explain.explain(shoot, seeds, snapshot)
    assert found.assigned == "good"
    text = "\n".join(found.notes)
    for part in ("ScheduleAnyway", "spec.schedulerName is mine", "region ConfigMap", "usage.gpus"):
        assert part in text
    assert "lbs" not in text
    assert "assigned to good" in explain.to_text(found)


def test_a_self_hosted_shoot_has_a_note() -> None:
    shoot = make_shoot(pool={"controlPlane": {}})
    found = explain.explain(shoot, [make_seed()], Snapshot.of([make_profile()]))
    assert "needs no seed" in found.notes[0]


def test_a_summary_counts_reasons_and_names_seeds() -> None:
    seeds = [make_seed(name, region="us-east-1") for name in ("b", "a")]
    seeds.append(make_seed("c", ready=False))
    result = place(make_shoot(), seeds, Snapshot.of([*seeds, make_profile()]))
    assert explain.summarise(result) == (
        "0/3 seeds fit: 2 is not in the shoot's region (a, b);"
        " 1 gardenlet is not ready (condition GardenletReady) (c)"
    )


def test_a_summary_of_no_seeds() -> None:
    assert explain.summarise(place(make_shoot(), [], Snapshot.of([]))) == "0/0 seeds fit"


def test_a_summary_fits_into_an_event() -> None:
    seeds = [make_seed(f"seed-{'x' * 40}-{index}", region="us-east-1") for index in range(500)]
    result = place(make_shoot(), seeds, Snapshot.of([*seeds, make_profile()]))
    assert len(explain.summarise(result)) <= 1024
