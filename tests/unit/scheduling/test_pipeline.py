"""place(): strategies, tiers, high availability, scores and ties."""

from collections.abc import Iterable, Sequence

import pytest

from tests.support.landscape_objects import (
    ANYWAY,
    MULTI_ZONE,
    SINGLE_ZONE,
    make_profile,
    make_region_config,
    make_seed,
    make_shoot,
    multi_zonal,
)
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.options import (
    CapacityOptions,
    Options,
    RegionStrategy,
    SchedulingOptions,
    Weights,
)
from webhook.kube.meta import Object
from webhook.scheduling import pipeline, profiles, region_strategy
from webhook.scheduling.filters import availability, zone_selection
from webhook.scheduling.framework import MAX_SCORE, Profile
from webhook.scheduling.pipeline import place
from webhook.scheduling.profiles import DEFAULT, GARDENER, WEIGHTED
from webhook.scheduling.result import ScheduleResult
from webhook.state.snapshot import Snapshot

FAR = "us-east-1"
NEAR = "eu-west-2"


def decide(
    shoot: Shoot,
    seeds: Sequence[Seed],
    *,
    by: RegionStrategy = "SameRegion",
    profile: Profile = DEFAULT,
    objects: Iterable[Object] = (),
) -> ScheduleResult:
    options = Options(scheduling=SchedulingOptions(strategy=by))
    known = [*seeds, make_profile(), make_profile("gcp"), *objects]
    return place(shoot, seeds, Snapshot.of(known, options=options), profile)


def fill(seed: str, count: int) -> list[Shoot]:
    return [make_shoot(f"{seed}-{index}", seed=seed) for index in range(count)]


def test_same_region() -> None:
    result = decide(make_shoot(), [make_seed("far", region=FAR), make_seed("here")])
    assert result.seed == "here"
    assert result.rejected == {"far": ("strategy", region_strategy.OTHER_REGION)}
    assert decide(make_shoot(), [make_seed("far", region=FAR)]).seed is None


def test_a_region_of_another_provider_is_another_region() -> None:
    profile = make_profile(seedSelector={"providerTypes": ["*"]})
    foreign = make_seed("foreign", provider="gcp")
    snapshot = Snapshot.of([foreign, profile])
    assert place(make_shoot(), [foreign], snapshot).rejected == {
        "foreign": ("strategy", region_strategy.OTHER_REGION)
    }
    options = Options(scheduling=SchedulingOptions(strategy="MinimalDistance"))
    snapshot = Snapshot.of([foreign, profile], options=options)
    assert place(make_shoot(), [foreign], snapshot).seed == "foreign"


def test_testing_ignores_the_region() -> None:
    seeds = [make_seed("far", region=FAR), *[make_seed("here")]]
    crowd = fill("here", 5)
    for by in ("SameRegion", "MinimalDistance"):
        result = decide(make_shoot(purpose="testing"), seeds, by=by, objects=crowd)
        assert result.seed == "far"
        assert sorted(result.feasible) == ["far", "here"]


def test_minimal_distance_by_name() -> None:
    seeds = [
        make_seed("far", region=FAR),
        make_seed("near", region=NEAR),
        make_seed("next", region="eu-central-1"),
    ]
    result = decide(make_shoot(), seeds, by="MinimalDistance")
    assert result.feasible == ["near", "next"]
    assert result.rejected == {"far": ("strategy", region_strategy.FARTHER)}


def test_full_seeds_do_not_define_the_distance() -> None:
    seeds = [make_seed("here", shoots=1), make_seed("near", region=NEAR)]
    result = decide(make_shoot(), seeds, by="MinimalDistance", objects=fill("here", 1))
    assert result.seed == "near"


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
    objects = [make_region_config(table)]
    result = decide(make_shoot(), seeds, by="MinimalDistance", objects=objects)
    assert result.feasible == expected
    other = [make_region_config(table, profiles="gcp, azure")]
    assert decide(make_shoot(), seeds, by="MinimalDistance", objects=other).seed == "near"


def test_gardener_rejects_all_seeds_if_the_region_table_is_unreadable() -> None:
    seeds = [make_seed("near", region=NEAR)]
    objects = [make_region_config({"eu-west-1": "eu-west-2: ["})]
    result = decide(make_shoot(), seeds, by="MinimalDistance", profile=GARDENER, objects=objects)
    assert result.rejected == {"near": ("strategy", region_strategy.REGION_TABLE_UNREADABLE)}


def test_own_region_is_at_distance_zero_unless_the_region_table_sets_another() -> None:
    seeds = [make_seed("here"), make_seed("far", region=FAR)]
    table = [make_region_config({"eu-west-1": "us-east-1: 1"})]
    assert decide(make_shoot(), seeds, by="MinimalDistance", objects=table).seed == "here"
    table = [make_region_config({"eu-west-1": "us-east-1: 1\neu-west-1: 2"})]
    assert decide(make_shoot(), seeds, by="MinimalDistance", objects=table).seed == "far"


# Document 003, "Determining Seed for a Shoot", case 1.


def test_multi_zone_shoots_only_on_multi_zonal_seeds() -> None:
    result = decide(make_shoot(ha=MULTI_ZONE), [make_seed("plain"), multi_zonal("wide")])
    assert result.seed == "wide"
    assert result.rejected == {"plain": ("highAvailability", availability.NOT_MULTI_ZONAL)}


def test_two_zones_never_take_a_multi_zone_shoot() -> None:
    assert decide(make_shoot(ha=MULTI_ZONE), [make_seed(zones=("a", "b"))]).seed is None


@pytest.mark.parametrize("ha", [pytest.param(None, id="none"), pytest.param(SINGLE_ZONE, id="one")])
def test_other_shoots_prefer_plain_seeds_however_full(ha: dict[str, object] | None) -> None:
    seeds = [make_seed("plain", shoots=10), multi_zonal("wide")]
    result = decide(make_shoot(ha=ha), seeds, objects=fill("plain", 9))
    assert result.seed == "plain"
    assert result.rejected == {"wide": ("highAvailability", availability.KEPT_FOR_OTHERS)}
    result = decide(make_shoot(ha=ha), seeds, objects=fill("plain", 10))
    assert result.seed == "wide"


def test_the_strategy_comes_before_the_preference_for_plain_seeds() -> None:
    seeds = [multi_zonal("here"), make_seed("near", region=NEAR)]
    assert decide(make_shoot(), seeds, by="MinimalDistance").seed == "here"


def test_the_strategy_comes_before_multi_zonality() -> None:
    seeds = [make_seed("here"), multi_zonal("near", region=NEAR)]
    result = decide(make_shoot(ha=MULTI_ZONE), seeds, by="MinimalDistance")
    assert result.seed is None
    assert result.rejected["here"] == ("highAvailability", availability.NOT_MULTI_ZONAL)
    assert result.rejected["near"] == ("strategy", region_strategy.FARTHER)


def test_gardener_filters_zones_before_the_strategy() -> None:
    seeds = [make_seed("here"), multi_zonal("near", region=NEAR)]
    shoot = make_shoot(ha=MULTI_ZONE)
    assert decide(shoot, seeds, by="MinimalDistance", profile=GARDENER).seed == "near"


@pytest.mark.parametrize("zones", [3, 4])
def test_two_failures_need_five_zones(zones: int) -> None:
    seeds = [multi_zonal(zones=tuple("abcde"[:zones])), multi_zonal("wider", zones=tuple("abcde"))]
    shoot = make_shoot(ha={**MULTI_ZONE, "failureTolerance": 2})
    assert decide(shoot, seeds).feasible == ["wider"]


# regionAffinity.


def test_required_means_the_own_region_whatever_the_strategy() -> None:
    seeds = [make_seed("near", region=NEAR)]
    shoot = make_shoot(affinity="required")
    for profile in (DEFAULT, WEIGHTED):
        result = decide(shoot, seeds, by="MinimalDistance", profile=profile)
        assert result.rejected == {"near": ("regionAffinity", region_strategy.OTHER_REGION)}
    assert decide(shoot, seeds, by="MinimalDistance", profile=GARDENER).seed == "near"


def test_required_beats_testing() -> None:
    shoot = make_shoot(affinity="required", purpose="testing")
    assert decide(shoot, [make_seed("near", region=NEAR)]).seed is None


def test_preferred_tries_farther_regions() -> None:
    seeds = [
        make_seed("here"),
        make_seed("near", region=NEAR),
        multi_zonal("far", region=FAR),
        multi_zonal("farther", region="australia-southeast"),
    ]
    shoot = make_shoot(affinity="preferred", ha=MULTI_ZONE)
    result = decide(shoot, seeds)
    assert result.seed == "far"
    assert result.rejected == {
        "here": ("highAvailability", availability.NOT_MULTI_ZONAL),
        "near": ("highAvailability", availability.NOT_MULTI_ZONAL),
        "farther": ("regionAffinity", region_strategy.FARTHER),
    }


def test_preferred_stays_near_if_it_can() -> None:
    seeds = [make_seed("here"), make_seed("near", region=NEAR)]
    result = decide(make_shoot(affinity="preferred"), seeds, objects=fill("here", 200))
    assert result.seed == "here"


def test_inside_a_tier_plain_seeds_come_first() -> None:
    seeds = [multi_zonal("near-wide", region=NEAR), make_seed("near-plain", region=NEAR)]
    assert decide(make_shoot(affinity="preferred"), seeds).seed == "near-plain"


# whenUnsatisfied.


def test_schedule_anyway_applies_only_if_no_tier_has_a_fitting_seed() -> None:
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
    result = decide(make_shoot(ha=ANYWAY), seeds)
    assert (result.seed, result.weakened) == ("plain", True)


def test_do_not_schedule_leaves_the_shoot_unplaced() -> None:
    result = decide(make_shoot(ha=MULTI_ZONE), [make_seed("here")])
    assert (result.seed, result.weakened) == (None, False)


def test_schedule_anyway_without_any_seed_keeps_the_multi_zonal_rejections() -> None:
    result = decide(make_shoot(ha=ANYWAY), [make_seed("far", region=FAR)])
    assert (result.seed, result.weakened) == (None, False)


# zoneSelection: Prefer.


def test_seeds_that_prefer_other_zones_are_rejected_if_another_fits() -> None:
    prefer = {"zoneSelection": {"mode": "Prefer"}}
    shy, open_ = make_seed("shy", zones=("x",), settings=prefer), make_seed("unmoved", zones=("y",))
    result = decide(make_shoot(zones=("a",)), [shy, open_])
    assert result.feasible == ["unmoved"]
    assert result.rejected == {"shy": ("zoneSelection", zone_selection.LESS_OVERLAP)}
    assert decide(make_shoot(zones=("a",)), [shy]).seed == "shy"
    assert decide(make_shoot(zones=("x",)), [shy, open_]).feasible == ["shy", "unmoved"]
    assert decide(make_shoot(zones=()), [shy, open_]).feasible == ["shy", "unmoved"]


def test_a_preference_for_zones_leaves_no_shoot_without_a_seed() -> None:
    prefer = {"zoneSelection": {"mode": "Prefer"}}
    seeds = [make_seed("shy", zones=("x",), settings=prefer), make_seed("far", region=FAR)]
    assert decide(make_shoot(), seeds).seed == "shy"
    assert decide(make_shoot(), seeds, profile=GARDENER).seed is None


# Scores and ties.


def test_the_least_utilised_seed_wins_by_share_not_by_number() -> None:
    seeds = [make_seed("big", shoots=100), make_seed("small", shoots=10)]
    objects = [*fill("big", 20), *fill("small", 3)]
    result = decide(make_shoot(), seeds, objects=objects)
    assert result.seed == "big"
    rule = "SeedResourcesLeastAllocated"
    assert result.scores == {"big": {rule: 8000}, "small": {rule: 7000}}
    assert decide(make_shoot(), seeds, profile=GARDENER, objects=objects).seed == "small"


def test_ties_are_broken_by_name_in_any_order() -> None:
    seeds = [make_seed(name) for name in ("b", "a", "c")]
    assert decide(make_shoot(), seeds).seed == "a"
    assert decide(make_shoot(), seeds[::-1]).seed == "a"
    equal = [make_seed("a", shoots=20), make_seed("b", shoots=10)]
    objects = [*fill("a", 4), *fill("b", 2)]
    assert decide(make_shoot(), equal, objects=objects).seed == "a"


def test_seeds_without_limit_fill_evenly() -> None:
    seeds = [make_seed("a", shoots=None), make_seed("b", shoots=None)]
    assert decide(make_shoot(), seeds, objects=fill("a", 1)).seed == "b"


def test_the_assumed_capacity_is_a_setting() -> None:
    seeds = [make_seed("a", shoots=None), make_seed("b", shoots=100)]
    objects = [*fill("a", 10), *fill("b", 10)]
    assert decide(make_shoot(), seeds, objects=objects).seed == "a"
    options = Options(capacity=CapacityOptions(default=50))
    snapshot = Snapshot.of([*seeds, make_profile(), *objects], options=options)
    assert place(make_shoot(), seeds, snapshot).seed == "b"


def test_weighted_sums_distance_availability_and_utilisation() -> None:
    seeds = [
        make_seed("far", region=FAR),  # distance 6 of 6
        multi_zonal("here"),  # distance 0
        make_seed("near", region=NEAR),  # distance 2 of 6
    ]
    result = decide(make_shoot(), seeds, profile=WEIGHTED, objects=fill("near", 125))
    assert result.scores == {
        "far": {"MinimalDistance": 0, "HighAvailability": MAX_SCORE, **free(MAX_SCORE)},
        "here": {"MinimalDistance": MAX_SCORE, "HighAvailability": 0, **free(MAX_SCORE)},
        "near": {"MinimalDistance": 6667, "HighAvailability": MAX_SCORE, **free(5000)},
    }
    assert result.totals == {"far": 50_000, "here": 70_000, "near": 73_335}
    assert result.seed == "near"


def free(score: int) -> dict[str, int]:
    return {"SeedResourcesLeastAllocated": score}


def test_weights_are_settings() -> None:
    seeds = [make_seed("here"), make_seed("near", region=NEAR)]
    options = Options(scheduling=SchedulingOptions(weights=Weights(0, 0, 1)))
    snapshot = Snapshot.of([*seeds, make_profile(), *fill("here", 1)], options=options)
    assert place(make_shoot(), seeds, snapshot, WEIGHTED).seed == "near"
    assert decide(make_shoot(), seeds, profile=WEIGHTED, objects=fill("here", 1)).seed == "here"


def test_weighted_still_needs_zones_for_multi_zone_shoots() -> None:
    seeds = [make_seed("here"), multi_zonal("far", region=FAR)]
    result = decide(make_shoot(ha=MULTI_ZONE), seeds, profile=WEIGHTED)
    assert result.seed == "far"
    assert result.scores["far"]["HighAvailability"] == MAX_SCORE


def test_weighted_ignores_the_distance_of_testing_shoots() -> None:
    seeds = [make_seed("here"), make_seed("far", region=FAR)]
    shoot = make_shoot(purpose="testing")
    assert decide(shoot, seeds, profile=WEIGHTED, objects=fill("here", 1)).seed == "far"


# Names of schedulers.


@pytest.mark.parametrize(
    ("scheduler", "beside_gardener", "expected"),
    [
        pytest.param("", False, "default", id="unset"),
        pytest.param("default-scheduler", False, "default", id="the default"),
        pytest.param("weighted", False, "weighted", id="a profile"),
        pytest.param("espalier", False, "weighted", id="ours is a setting"),
        pytest.param("mine", False, None, id="of another scheduler"),
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
def test_unknown_settings_are_rejected_with_the_known_ones(
    options: SchedulingOptions, known: str
) -> None:
    profiles.check(SchedulingOptions())
    with pytest.raises(profiles.UnknownProfileError, match=known):
        profiles.check(options)


def test_among_restricts_the_choice_to_some_names() -> None:
    seeds = [make_seed("a"), make_seed("b"), make_seed("c")]
    snapshot = Snapshot.of([*seeds, make_profile()])
    result = place(make_shoot(), seeds, snapshot, among=["c", "b", "unknown"])
    assert result.feasible == ["b", "c"]
