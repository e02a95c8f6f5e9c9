"""What the scheduler does with a shoot, and which changes call for a new decision."""

from typing import Any

import msgspec
import pytest

from tests.support.landscape_objects import (
    ANYWAY,
    MULTI_ZONE,
    SINGLE_ZONE,
    make_managed_seed,
    make_profile,
    make_seed,
    make_shoot,
    multi_zonal,
    raw_shoot,
    read,
)
from webhook.api.shoots import Shoot
from webhook.domain.options import Options, SchedulingOptions
from webhook.domain.shoots import ha
from webhook.kube.meta import Object
from webhook.placement import decision, placer
from webhook.placement.decision import Bind, SchedulingDecision, Stay, Unschedulable, Weaken
from webhook.placement.placer import Placement
from webhook.scheduling.seed_table import SeedTable
from webhook.state.snapshot import Snapshot


def decide_on(shoot: Shoot, *others: Object, options: Options | None = None) -> SchedulingDecision:
    snapshot = Snapshot.of([make_profile(), shoot, *others], options=options)
    return decision.decide(shoot, SeedTable(), snapshot)


def test_an_unassigned_shoot_is_placed() -> None:
    shoot = make_shoot()
    assert decide_on(shoot, make_seed("a")) == Bind(
        Placement(shoot, "a"), "placed on seed a (profile default)"
    )


def test_without_a_fitting_seed_it_is_unschedulable_for_a_reason() -> None:
    assert decide_on(make_shoot(), make_seed("a", region="us-east-1")) == Unschedulable(
        "0/1 seeds fit: 1 is not in the shoot's region (a)"
    )


def test_a_deleting_shoot_is_ignored() -> None:
    raw = raw_shoot()
    raw["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert decide_on(read(Shoot, raw), make_seed()) is None


@pytest.mark.parametrize(
    ("pool", "waits"),
    [
        pytest.param({"controlPlane": {}}, False, id="a pool runs the control plane"),
        pytest.param({"controlPlane": {"exposure": {"dns": {}}}}, False, id="and is exposed"),
        pytest.param({"controlPlane": None}, True, id="null is absent"),
        pytest.param({}, True, id="no pool does"),
    ],
)
def test_a_self_hosted_shoot_needs_no_seed(pool: dict[str, Any], waits: bool) -> None:
    shoot = make_shoot(pool=pool)
    assert isinstance(decide_on(shoot, make_seed()), Bind) is waits
    assert bool(decision.list_pending(Snapshot.of([shoot]))) is waits


@pytest.mark.parametrize(
    ("name", "options", "ours"),
    [
        pytest.param("", Options(), True, id="unset"),
        pytest.param("default-scheduler", Options(), True, id="default"),
        pytest.param("weighted", Options(), True, id="a profile's name"),
        pytest.param("mine", Options(), False, id="of another scheduler"),
        pytest.param("", Options(beside_gardener=True), False, id="Gardener's"),
        pytest.param("espalier", Options(beside_gardener=True), True, id="ours beside a Gardener"),
        pytest.param(
            "",
            Options(scheduling=SchedulingOptions(engine="kube-scheduler")),
            False,
            id="kube-scheduler's",
        ),
    ],
)
def test_only_our_shoots_are_placed(name: str, options: Options, ours: bool) -> None:
    found = decide_on(make_shoot(schedulerName=name), make_seed(), options=options)
    assert isinstance(found, Bind) is ours


# Document 003, "Determining Seed for a Shoot", case 2.


def test_a_shoot_that_wants_more_zones_moves() -> None:
    shoot = make_shoot(seed="plain", actual_seed="plain", ha=MULTI_ZONE)
    found = decide_on(shoot, make_seed("plain"), multi_zonal("wide"))
    assert isinstance(found, Bind)
    assert found.placement == Placement(shoot, "wide")


def test_kube_scheduler_does_not_move_shoots_so_we_do() -> None:
    options = Options(scheduling=SchedulingOptions(engine="kube-scheduler"))
    shoot = make_shoot(seed="plain", actual_seed="plain", ha=MULTI_ZONE)
    assert isinstance(decide_on(shoot, make_seed("plain"), multi_zonal(), options=options), Bind)


@pytest.mark.parametrize(
    ("fields", "seed"),
    [
        pytest.param({"ha": SINGLE_ZONE}, "plain", id="one zone is enough"),
        pytest.param({}, "plain", id="no high availability"),
        pytest.param({"ha": MULTI_ZONE, "actual_seed": "wide"}, "plain", id="being moved"),
        pytest.param({"ha": MULTI_ZONE, "actual_seed": ""}, "plain", id="not on its seed yet"),
        pytest.param({"ha": MULTI_ZONE, "actual_seed": "wide"}, "wide", id="multi-zonal already"),
        pytest.param({"ha": MULTI_ZONE, "actual_seed": "none"}, "none", id="its seed is unknown"),
        pytest.param(
            {
                "ha": ANYWAY,
                "annotations": {"espalier.gardener.cloud/effective-failure-domain": "single-zone"},
            },
            "plain",
            id="weakened before: no loop",
        ),
        pytest.param(
            {"ha": MULTI_ZONE, "schedulerName": "gardener"}, "plain", id="the profile does not move"
        ),
        pytest.param(
            {"ha": MULTI_ZONE, "schedulerName": "mine"}, "plain", id="of another scheduler"
        ),
    ],
)
def test_shoots_that_stay(fields: dict[str, Any], seed: str) -> None:
    shoot = make_shoot(**{"seed": seed, "actual_seed": seed, **fields})
    assert decide_on(shoot, make_seed("plain"), multi_zonal("wide")) is None


def test_more_failures_need_more_zones() -> None:
    tolerant = {**MULTI_ZONE, "failureTolerance": 2}
    shoot = make_shoot(seed="wide", actual_seed="wide", ha=tolerant)
    found = decide_on(shoot, multi_zonal("wide"), multi_zonal("wider", zones=tuple("abcde")))
    assert isinstance(found, Bind)
    assert found.placement.seed == "wider"


def test_without_a_better_seed_it_stays_where_it_is() -> None:
    shoot = make_shoot(seed="plain", actual_seed="plain", ha=MULTI_ZONE)
    assert decide_on(shoot, make_seed("plain")) == Stay(
        "stays on seed plain, which is not multi-zonal: 0/1 seeds fit:"
        " 1 is not multi-zonal, the shoot requires a multi-zone control plane (plain)"
    )


def test_a_shoot_that_allows_one_zone_stays_and_is_weakened() -> None:
    shoot = make_shoot(seed="plain", actual_seed="plain", ha=ANYWAY)
    found = decide_on(shoot, make_seed("plain"), make_seed("other"))
    assert isinstance(found, Weaken)


def test_a_weakened_placement_is_assumed_weakened() -> None:
    shoot = make_shoot(ha=ANYWAY)
    found = decide_on(shoot, make_seed("plain"))
    assert isinstance(found, Bind)
    assert found.placement.weakened
    weak = placer.assumed(found.placement)
    assert (weak.spec.seed_name, ha.effective(weak).type) == ("plain", "single-zone")
    assert weak.resource_version == shoot.resource_version
    assert placer.binding_patch(found.placement) == {
        "metadata": {
            "uid": shoot.uid,
            "resourceVersion": "1",
            "annotations": {"espalier.gardener.cloud/effective-failure-domain": "single-zone"},
        },
        "spec": {"seedName": "plain"},
    }
    again = msgspec.structs.replace(
        weak, status=read(Shoot, {"status": {"seedName": "plain"}}).status
    )
    assert decide_on(again, make_seed("plain"), multi_zonal("wide")) is None


def made(name: str, purpose: str, created: str) -> Shoot:
    raw = raw_shoot(name, purpose=purpose)
    raw["metadata"]["creationTimestamp"] = created
    return read(Shoot, raw)


def test_the_highest_purpose_comes_first_then_the_oldest() -> None:
    shoots = [
        made("c", "evaluation", "2026-01-02T00:00:00Z"),
        made("b", "production", "2026-01-03T00:00:00Z"),
        made("a", "infrastructure", "2026-01-04T00:00:00Z"),
        made("e", "testing", "2026-01-01T00:00:00Z"),
        made("d", "production", "2026-01-01T00:00:00Z"),
        made("f", "testing", "2026-01-01T00:00:00Z"),
    ]
    snapshot = Snapshot.of(shoots)
    assert [shoot.name for shoot in decision.list_pending(snapshot)] == [
        "a",
        "d",
        "b",
        "e",
        "f",
        "c",
    ]


def test_pending_are_the_unassigned_and_the_misplaced() -> None:
    tolerant = {**MULTI_ZONE, "failureTolerance": 2}
    snapshot = Snapshot.of(
        [
            make_seed("plain"),
            multi_zonal("wide"),
            make_shoot("unassigned"),
            make_shoot("theirs", schedulerName="mine"),
            make_shoot("assigned", seed="plain"),
            make_shoot("misplaced", seed="plain", ha=MULTI_ZONE),
            make_shoot("happy", seed="wide", ha=MULTI_ZONE),
            make_shoot("tolerant", seed="wide", ha=tolerant),
        ]
    )
    found = [shoot.name for shoot in decision.list_pending(snapshot)]
    assert found == ["misplaced", "tolerant", "unassigned"]


LEAVING = make_managed_seed("s", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, make_seed(), True, id="a seed is added"),
        pytest.param(make_seed(), None, True, id="a seed that may have been nearer is gone"),
        pytest.param(make_seed(ready=False), make_seed(), True, id="a seed becomes ready"),
        pytest.param(make_seed(), make_seed(labels={"a": "b"}), True, id="a seed is relabelled"),
        pytest.param(make_seed(shoots=1), make_seed(shoots=2), True, id="a seed grows"),
        pytest.param(make_seed(), make_seed(), False, id="a seed reports itself"),
        pytest.param(make_shoot(seed="s"), None, True, id="a placed shoot is gone"),
        pytest.param(make_shoot(), None, False, id="an unplaced shoot is gone"),
        pytest.param(None, make_shoot(seed="s"), False, id="a placed shoot appears"),
        pytest.param(
            make_shoot(seed="t", actual_seed="s"),
            make_shoot(seed="t", actual_seed="t"),
            True,
            id="a shoot has moved away",
        ),
        pytest.param(
            make_shoot(seed="s"), make_shoot(seed="s", actual_seed="s"), False, id="a shoot arrives"
        ),
        pytest.param(LEAVING, make_managed_seed("s"), True, id="a managed seed stays after all"),
        pytest.param(
            make_profile(), make_profile(seedSelector={"matchLabels": {}}), True, id="a selector"
        ),
        pytest.param(make_profile(), make_profile(machineTypes=[]), False, id="a machine type"),
    ],
)
def test_may_make_schedulable(old: Any, new: Any, expected: bool) -> None:
    assert decision.may_make_schedulable(old, new) is expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, make_shoot(seed="s"), True, id="placed"),
        pytest.param(make_shoot(), make_shoot(seed="s"), True, id="placed now"),
        pytest.param(make_shoot(seed="s"), make_shoot(seed="t"), True, id="moves"),
        pytest.param(
            make_shoot(seed="s"), make_shoot(seed="s", actual_seed="s"), False, id="counted already"
        ),
        pytest.param(make_shoot(seed="s"), None, False, id="gone"),
        pytest.param(None, make_seed(), False, id="no shoot"),
    ],
)
def test_fills_seed(old: Any, new: Any, expected: bool) -> None:
    assert decision.fills_seed(old, new) is expected


def test_a_shoot_waits_for_nearer_seeds_to_fill_up() -> None:
    options = Options(scheduling=SchedulingOptions(strategy="MinimalDistance"))
    seeds = [make_seed("near", shoots=1), multi_zonal("far", region="us-east-1")]
    shoot = make_shoot(ha=MULTI_ZONE)
    found = decide_on(shoot, *seeds, options=options)
    assert isinstance(found, Unschedulable)
    assert found.nearest_only
    full = decide_on(shoot, *seeds, make_shoot("other", seed="near"), options=options)
    assert isinstance(full, Bind)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, make_shoot(), True, id="new"),
        pytest.param(None, make_shoot(seed="s"), False, id="placed already"),
        pytest.param(None, make_shoot(seed="s", ha=MULTI_ZONE), True, id="may be misplaced"),
        pytest.param(make_shoot(), make_shoot(), False, id="nothing of interest"),
        pytest.param(make_shoot(), make_shoot(purpose="production"), True, id="another purpose"),
        pytest.param(make_shoot(), make_shoot(annotations={"a": "b"}), True, id="an annotation"),
        pytest.param(
            make_shoot(seed="s", actual_seed="t"),
            make_shoot(seed="s", actual_seed="s"),
            True,
            id="arrived",
        ),
        pytest.param(None, make_shoot(schedulerName="mine"), False, id="of another scheduler"),
        pytest.param(make_shoot(), None, False, id="gone"),
    ],
)
def test_needs_decision(old: Shoot | None, new: Shoot | None, expected: bool) -> None:
    assert decision.needs_decision(old, new, Options()) is expected
