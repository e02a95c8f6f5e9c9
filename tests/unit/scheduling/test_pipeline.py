"""place(): strategies, tiers, high availability, scores and ties."""

from collections.abc import Iterable, Sequence

import pytest

from tests.landscapes import (
    ANYWAY,
    MULTI_ZONE,
    SINGLE_ZONE,
    make_profile,
    make_region_config,
    make_seed,
    make_shoot,
    multi_zonal,
)
from webhook.api.meta import Object
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.options import CapacityOptions, Options, SchedulingOptions, Strategy, Weights
from webhook.scheduling import pipeline, profiles, strategy
from webhook.scheduling.filters import availability, zone_selection
from webhook.scheduling.framework import MAX_SCORE, Profile
from webhook.scheduling.pipeline import place
from webhook.scheduling.profiles import DEFAULT, GARDENER, WEIGHTED
from webhook.scheduling.verdict import Verdict
from webhook.state.snapshot import Snapshot

FAR = "us-east-1"
NEAR = "eu-west-2"


def decide(
    shoot: Shoot,
    seeds: Sequence[Seed],
    *,
    by: Strategy = "SameRegion",
    profile: Profile = DEFAULT,
    others: Iterable[Object] = (),
) -> Verdict:
    options = Options(scheduling=SchedulingOptions(strategy=by))
    known = [*seeds, make_profile(), make_profile("gcp"), *others]
    return place(shoot, seeds, Snapshot.of(known, options=options), profile)


def fill(seed: str, count: int) -> list[Shoot]:
    return [make_shoot(f"{seed}-{index}", seed=seed) for index in range(count)]


def test_same_region() -> None:
    verdict = decide(make_shoot(), [make_seed("far", region=FAR), make_seed("here")])
    assert verdict.seed == "here"
    assert verdict.rejected == {"far": ("strategy", strategy.OTHER_REGION)}
    assert decide(make_shoot(), [make_seed("far", region=FAR)]).seed is None


def test_a_region_of_another_provider_is_another_region() -> None:
    profile = make_profile(seedSelector={"providerTypes": ["*"]})
    foreign = make_seed("foreign", provider="gcp")
    snapshot = Snapshot.of([foreign, profile])
    assert place(make_shoot(), [foreign], snapshot).rejected == {
        "foreign": ("strategy", strategy.OTHER_REGION)
    }
    options = Options(scheduling=SchedulingOptions(strategy="MinimalDistance"))
    snapshot = Snapshot.of([foreign, profile], options=options)
    assert place(make_shoot(), [foreign], snapshot).seed == "foreign"


def test_testing_ignores_the_region() -> None:
    seeds = [make_seed("far", region=FAR), *[make_seed("here")]]
    crowd = fill("here", 5)
    for by in ("SameRegion", "MinimalDistance"):
        verdict = decide(make_shoot(purpose="testing"), seeds, by=by, others=crowd)
        assert verdict.seed == "far"
        assert sorted(verdict.candidates) == ["far", "here"]


def test_minimal_distance_by_name() -> None:
    seeds = [
        make_seed("far", region=FAR),
        make_seed("near", region=NEAR),
        make_seed("next", region="eu-central-1"),
    ]
    verdict = decide(make_shoot(), seeds, by="MinimalDistance")
    assert verdict.candidates == ["near", "next"]
    assert verdict.rejected == {"far": ("strategy", strategy.FARTHER)}


def test_full_seeds_do_not_define_the_distance() -> None:
    seeds = [make_seed("here", shoots=1), make_seed("near", region=NEAR)]
    verdict = decide(make_shoot(), seeds, by="MinimalDistance", others=fill("here", 1))
    assert verdict.seed == "near"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        pytest.param({"eu-west-1": "us-east-1: 3\neu-west-2: 9"}, ["far"], id="the table decides"),
        pytest.param({"eu-west-1": "us-east-1: 3"}, ["far"], id="unlisted regions come last"),
        pytest.param({"eu-west-1": "ap-south-1: 3"}, ["near"], id="no listed seed: by name"),
        pytest.param(
            {"us-east-1": "eu-west-1: 3"}, ["near"], id="region not in the table: by name"
        ),
        pytest.param({"eu-west-1": "us-east-1: far"}, ["near"], id="a broken table: by name"),
        pytest.param(
            {"eu-west-1": "us-east-1: 3\neu-west-2: 3"}, ["far", "near"], id="equally far"
        ),
    ],
)
def test_minimal_distance_by_table(table: dict[str, str], expected: list[str]) -> None:
    seeds = [make_seed("far", region=FAR), make_seed("near", region=NEAR)]
    others = [make_region_config(table)]
    verdict = decide(make_shoot(), seeds, by="MinimalDistance", others=others)
    assert verdict.candidates == expected
    other = [make_region_config(table, profiles="gcp, azure")]
    assert decide(make_shoot(), seeds, by="MinimalDistance", others=other).seed == "near"


def test_gardener_refuses_on_a_broken_table() -> None:
    seeds = [make_seed("near", region=NEAR)]
    others = [make_region_config({"eu-west-1": "eu-west-2: ["})]
    verdict = decide(make_shoot(), seeds, by="MinimalDistance", profile=GARDENER, others=others)
    assert verdict.rejected == {"near": ("strategy", strategy.BROKEN_TABLE)}


def test_own_region_is_at_distance_zero_unless_the_table_says_otherwise() -> None:
    seeds = [make_seed("here"), make_seed("far", region=FAR)]
    table = [make_region_config({"eu-west-1": "us-east-1: 1"})]
    assert decide(make_shoot(), seeds, by="MinimalDistance", others=table).seed == "here"
    table = [make_region_config({"eu-west-1": "us-east-1: 1\neu-west-1: 2"})]
    assert decide(make_shoot(), seeds, by="MinimalDistance", others=table).seed == "far"


# Document 003, "Determining Seed for a Shoot", case 1.


def test_multi_zone_shoots_only_on_multi_zonal_seeds() -> None:
    verdict = decide(make_shoot(ha=MULTI_ZONE), [make_seed("plain"), multi_zonal("wide")])
    assert verdict.seed == "wide"
    assert verdict.rejected == {"plain": ("highAvailability", availability.NOT_MULTI_ZONAL)}


def test_two_zones_never_take_a_multi_zone_shoot() -> None:
    assert decide(make_shoot(ha=MULTI_ZONE), [make_seed(zones=("a", "b"))]).seed is None


@pytest.mark.parametrize("ha", [pytest.param(None, id="none"), pytest.param(SINGLE_ZONE, id="one")])
def test_other_shoots_prefer_plain_seeds_however_full(ha: dict[str, object] | None) -> None:
    seeds = [make_seed("plain", shoots=10), multi_zonal("wide")]
    verdict = decide(make_shoot(ha=ha), seeds, others=fill("plain", 9))
    assert verdict.seed == "plain"
    assert verdict.rejected == {"wide": ("highAvailability", availability.KEPT_FOR_OTHERS)}
    verdict = decide(make_shoot(ha=ha), seeds, others=fill("plain", 10))
    assert verdict.seed == "wide"


def test_the_strategy_comes_before_the_preference_for_plain_seeds() -> None:
    seeds = [multi_zonal("here"), make_seed("near", region=NEAR)]
    assert decide(make_shoot(), seeds, by="MinimalDistance").seed == "here"


def test_the_strategy_comes_before_multi_zonality() -> None:
    seeds = [make_seed("here"), multi_zonal("near", region=NEAR)]
    verdict = decide(make_shoot(ha=MULTI_ZONE), seeds, by="MinimalDistance")
    assert verdict.seed is None
    assert verdict.rejected["here"] == ("highAvailability", availability.NOT_MULTI_ZONAL)
    assert verdict.rejected["near"] == ("strategy", strategy.FARTHER)


def test_gardener_filters_zones_before_the_strategy() -> None:
    seeds = [make_seed("here"), multi_zonal("near", region=NEAR)]
    shoot = make_shoot(ha=MULTI_ZONE)
    assert decide(shoot, seeds, by="MinimalDistance", profile=GARDENER).seed == "near"


@pytest.mark.parametrize("zones", [3, 4])
def test_two_failures_need_five_zones(zones: int) -> None:
    seeds = [multi_zonal(zones=tuple("abcde"[:zones])), multi_zonal("wider", zones=tuple("abcde"))]
    shoot = make_shoot(ha={**MULTI_ZONE, "failureTolerance": 2})
    assert decide(shoot, seeds).candidates == ["wider"]


# regionAffinity.


def test_required_means_the_own_region_whatever_the_strategy() -> None:
    seeds = [make_seed("near", region=NEAR)]
    shoot = make_shoot(affinity="required")
    for profile in (DEFAULT, WEIGHTED):
        verdict = decide(shoot, seeds, by="MinimalDistance", profile=profile)
        assert verdict.rejected == {"near": ("regionAffinity", strategy.OTHER_REGION)}
    assert decide(shoot, seeds, by="MinimalDistance", profile=GARDENER).seed == "near"


def test_required_beats_testing() -> None:
    shoot = make_shoot(affinity="required", purpose="testing")
    assert decide(shoot, [make_seed("near", region=NEAR)]).seed is None


def test_preferred_goes_on_to_farther_regions() -> None:
    seeds = [
        make_seed("here"),
        make_seed("near", region=NEAR),
        multi_zonal("far", region=FAR),
        multi_zonal("farther", region="australia-southeast"),
    ]
    shoot = make_shoot(affinity="preferred", ha=MULTI_ZONE)
    verdict = decide(shoot, seeds)
    assert verdict.seed == "far"
    assert verdict.rejected == {
        "here": ("highAvailability", availability.NOT_MULTI_ZONAL),
        "near": ("highAvailability", availability.NOT_MULTI_ZONAL),
        "farther": ("regionAffinity", strategy.FARTHER),
    }


def test_preferred_stays_near_if_it_can() -> None:
    seeds = [make_seed("here"), make_seed("near", region=NEAR)]
    verdict = decide(make_shoot(affinity="preferred"), seeds, others=fill("here", 200))
    assert verdict.seed == "here"


def test_inside_a_tier_plain_seeds_come_first() -> None:
    seeds = [multi_zonal("near-wide", region=NEAR), make_seed("near-plain", region=NEAR)]
    assert decide(make_shoot(affinity="preferred"), seeds).seed == "near-plain"


# whenUnsatisfied.


def test_anyway_weakens_only_if_no_tier_has_a_fitting_seed() -> None:
    seeds = [make_seed("here"), multi_zonal("far", region=FAR)]
    strong = decide(make_shoot(ha=ANYWAY, affinity="preferred"), seeds)
    assert (strong.seed, strong.weakened, strong.notes) == ("far", False, ())
    weak = decide(make_shoot(ha=ANYWAY), seeds)
    assert (weak.seed, weak.weakened, weak.notes) == ("here", True, (pipeline.WEAKENED,))


def test_weakened_shoots_prefer_plain_seeds() -> None:
    # The multi-zonal seed has a slot, but not for three volumes of a multi-zone control plane.
    seeds = [
        multi_zonal("wide", allocatable={"persistent-volumes": 2}),
        make_seed("plain"),
    ]
    verdict = decide(make_shoot(ha=ANYWAY), seeds)
    assert (verdict.seed, verdict.weakened) == ("plain", True)


def test_do_not_schedule_waits() -> None:
    verdict = decide(make_shoot(ha=MULTI_ZONE), [make_seed("here")])
    assert (verdict.seed, verdict.weakened) == (None, False)


def test_anyway_without_any_seed_tells_why_it_was_not_multi_zonal() -> None:
    verdict = decide(make_shoot(ha=ANYWAY), [make_seed("far", region=FAR)])
    assert (verdict.seed, verdict.weakened) == (None, False)


# zoneSelection: Prefer.


def test_seeds_that_prefer_other_zones_step_back_if_another_fits() -> None:
    prefer = {"zoneSelection": {"mode": "Prefer"}}
    shy, open_ = make_seed("shy", zones=("x",), settings=prefer), make_seed("unmoved", zones=("y",))
    verdict = decide(make_shoot(zones=("a",)), [shy, open_])
    assert verdict.candidates == ["unmoved"]
    assert verdict.rejected == {"shy": ("zoneSelection", zone_selection.LESS_OVERLAP)}
    assert decide(make_shoot(zones=("a",)), [shy]).seed == "shy"
    assert decide(make_shoot(zones=("x",)), [shy, open_]).candidates == ["shy", "unmoved"]
    assert decide(make_shoot(zones=()), [shy, open_]).candidates == ["shy", "unmoved"]


def test_a_preference_for_zones_leaves_no_shoot_without_a_seed() -> None:
    prefer = {"zoneSelection": {"mode": "Prefer"}}
    seeds = [make_seed("shy", zones=("x",), settings=prefer), make_seed("far", region=FAR)]
    assert decide(make_shoot(), seeds).seed == "shy"
    assert decide(make_shoot(), seeds, profile=GARDENER).seed is None


# Scores and ties.


def test_the_emptiest_seed_wins_by_share_not_by_number() -> None:
    seeds = [make_seed("big", shoots=100), make_seed("small", shoots=10)]
    others = [*fill("big", 20), *fill("small", 3)]
    verdict = decide(make_shoot(), seeds, others=others)
    assert verdict.seed == "big"
    rule = "SeedResourcesLeastAllocated"
    assert verdict.scores == {"big": {rule: 8000}, "small": {rule: 7000}}
    assert decide(make_shoot(), seeds, profile=GARDENER, others=others).seed == "small"


def test_ties_are_broken_by_name_in_any_order() -> None:
    seeds = [make_seed(name) for name in ("b", "a", "c")]
    assert decide(make_shoot(), seeds).seed == "a"
    assert decide(make_shoot(), seeds[::-1]).seed == "a"
    equal = [make_seed("a", shoots=20), make_seed("b", shoots=10)]
    others = [*fill("a", 4), *fill("b", 2)]
    assert decide(make_shoot(), equal, others=others).seed == "a"


def test_seeds_without_limit_fill_evenly() -> None:
    seeds = [make_seed("a", shoots=None), make_seed("b", shoots=None)]
    assert decide(make_shoot(), seeds, others=fill("a", 1)).seed == "b"


def test_the_assumed_capacity_is_a_setting() -> None:
    seeds = [make_seed("a", shoots=None), make_seed("b", shoots=100)]
    others = [*fill("a", 10), *fill("b", 10)]
    assert decide(make_shoot(), seeds, others=others).seed == "a"
    options = Options(capacity=CapacityOptions(default=50))
    snapshot = Snapshot.of([*seeds, make_profile(), *others], options=options)
    assert place(make_shoot(), seeds, snapshot).seed == "b"


def test_weighted_sums_distance_availability_and_room() -> None:
    seeds = [
        make_seed("far", region=FAR),  # distance 6 of 6
        multi_zonal("here"),  # distance 0
        make_seed("near", region=NEAR),  # distance 2 of 6
    ]
    verdict = decide(make_shoot(), seeds, profile=WEIGHTED, others=fill("near", 125))
    assert verdict.scores == {
        "far": {"MinimalDistance": 0, "HighAvailability": MAX_SCORE, **free(MAX_SCORE)},
        "here": {"MinimalDistance": MAX_SCORE, "HighAvailability": 0, **free(MAX_SCORE)},
        "near": {"MinimalDistance": 6667, "HighAvailability": MAX_SCORE, **free(5000)},
    }
    assert verdict.totals == {"far": 50_000, "here": 70_000, "near": 73_335}
    assert verdict.seed == "near"


def free(score: int) -> dict[str, int]:
    return {"SeedResourcesLeastAllocated": score}


def test_weights_are_settings() -> None:
    seeds = [make_seed("here"), make_seed("near", region=NEAR)]
    options = Options(scheduling=SchedulingOptions(weights=Weights(0, 0, 1)))
    snapshot = Snapshot.of([*seeds, make_profile(), *fill("here", 1)], options=options)
    assert place(make_shoot(), seeds, snapshot, WEIGHTED).seed == "near"
    assert decide(make_shoot(), seeds, profile=WEIGHTED, others=fill("here", 1)).seed == "here"


def test_weighted_still_needs_zones_for_multi_zone_shoots() -> None:
    seeds = [make_seed("here"), multi_zonal("far", region=FAR)]
    verdict = decide(make_shoot(ha=MULTI_ZONE), seeds, profile=WEIGHTED)
    assert verdict.seed == "far"
    assert verdict.scores["far"]["HighAvailability"] == MAX_SCORE


def test_weighted_testing_does_not_mind_the_distance() -> None:
    seeds = [make_seed("here"), make_seed("far", region=FAR)]
    shoot = make_shoot(purpose="testing")
    assert decide(shoot, seeds, profile=WEIGHTED, others=fill("here", 1)).seed == "far"


# Names of schedulers.


@pytest.mark.parametrize(
    ("scheduler", "beside_gardener", "expected"),
    [
        pytest.param("", False, "default", id="unset"),
        pytest.param("default-scheduler", False, "default", id="the default"),
        pytest.param("weighted", False, "weighted", id="a profile"),
        pytest.param("espalier", False, "weighted", id="ours is a setting"),
        pytest.param("mine", False, None, id="somebody else's"),
        pytest.param("", True, None, id="unset is Gardener's beside one"),
        pytest.param("default-scheduler", True, None, id="the default is Gardener's beside one"),
        pytest.param("weighted", True, None, id="profiles are not ours beside a Gardener"),
        pytest.param("espalier", True, "weighted", id="ours beside a Gardener"),
    ],
)
def test_profile_by_scheduler_name(
    scheduler: str, beside_gardener: bool, expected: str | None
) -> None:
    options = Options(
        beside_gardener=beside_gardener, scheduling=SchedulingOptions(profile="weighted")
    )
    found = profiles.find(scheduler, options)
    assert (found.name if found else None) == expected


@pytest.mark.parametrize(
    ("options", "known"),
    [
        pytest.param(
            SchedulingOptions(profile="best"), "default, weighted, gardener", id="profile"
        ),
        pytest.param(
            SchedulingOptions(strategy="Nearest"),  # type: ignore[arg-type]
            "SameRegion, MinimalDistance",
            id="strategy",
        ),
        pytest.param(
            SchedulingOptions(engine="magic"),  # type: ignore[arg-type]
            "built-in, kube-scheduler",
            id="engine",
        ),
    ],
)
def test_unknown_settings_are_refused_with_the_known_ones(
    options: SchedulingOptions, known: str
) -> None:
    profiles.check(SchedulingOptions())
    with pytest.raises(profiles.UnknownProfileError, match=known):
        profiles.check(options)


def test_some_names_only() -> None:
    seeds = [make_seed("a"), make_seed("b"), make_seed("c")]
    snapshot = Snapshot.of([*seeds, make_profile()])
    verdict = place(make_shoot(), seeds, snapshot, among=["c", "b", "unknown"])
    assert verdict.candidates == ["b", "c"]
