"""shoot.ha: high availability of control planes, which is never reduced, and pinned zones."""

from typing import Any

import pytest

from tests.support.admission import validate
from tests.support.builders import make_cloud_profile, make_shoot, merged
from webhook.api import names
from webhook.domain.options import Options

FIELD = "spec.kubernetes.controlPlane.highAvailability"
UPSTREAM = "spec.controlPlane.highAvailability.failureTolerance.type"
TWIN = f"metadata.annotations[{names.HIGH_AVAILABILITY}]"


def document(**availability: Any) -> dict[str, Any]:
    return {"spec": {"kubernetes": {"controlPlane": {"highAvailability": availability}}}}


def upstream(kind: str) -> dict[str, Any]:
    tolerance = {"highAvailability": {"failureTolerance": {"type": kind}}}
    return {"spec": {"controlPlane": tolerance}}


def twin(text: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {names.HIGH_AVAILABILITY: text}}}


def affinity(value: str) -> dict[str, Any]:
    return {"spec": {"kubernetes": {"controlPlane": {"regionAffinity": value}}}}


def shoot(*changes: dict[str, Any]) -> dict[str, Any]:
    result = make_shoot()
    for change in changes:
        result = merged(result, change)
    return result


SINGLE = document(enabled=True, type="single-zone")
MULTI = document(enabled=True, type="multi-zone")
MULTI_2 = document(enabled=True, type="multi-zone", failureTolerance=2)
TWIN_1 = twin('{"enabled": true, "type": "multi-zone"}')
TWIN_2 = twin('{"enabled": true, "type": "multi-zone", "failureTolerance": 2}')
ON_A_SEED = {"spec": {"seedName": "s"}}


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        pytest.param({}, set(), id="no fields"),
        pytest.param(document(), set(), id="an empty section"),
        pytest.param(document(enabled=False), set(), id="explicitly off"),
        pytest.param(SINGLE, set(), id="single-zone"),
        pytest.param(MULTI, set(), id="multi-zone"),
        pytest.param(
            document(enabled=True, type="double-zone"),
            {(f"{FIELD}.type", "NotSupported")},
            id="an unknown type",
        ),
        pytest.param(
            document(enabled=True, failureDomain={"type": "multi-zone"}),
            set(),
            id="a failure domain's type",
        ),
        pytest.param(
            document(enabled=True, failureDomain={"type": "zone"}),
            {(f"{FIELD}.failureDomain.type", "NotSupported")},
            id="a failure domain's unknown type",
        ),
        pytest.param(
            document(enabled=True, type="multi-zone", failureDomain={"type": "multi-zone"}),
            set(),
            id="both types, agreeing",
        ),
        pytest.param(
            document(enabled=True, type="multi-zone", failureDomain={"type": "single-zone"}),
            {(f"{FIELD}.failureDomain.type", "Invalid")},
            id="both types, contradicting each other",
        ),
        pytest.param(
            document(
                enabled=True,
                failureDomain={"type": "multi-zone", "whenUnsatisfied": "ScheduleAnyway"},
            ),
            set(),
            id="schedule anyway",
        ),
        pytest.param(
            document(
                enabled=True, failureDomain={"type": "multi-zone", "whenUnsatisfied": "Panic"}
            ),
            {(f"{FIELD}.failureDomain.whenUnsatisfied", "NotSupported")},
            id="an unknown whenUnsatisfied",
        ),
        pytest.param(
            document(enabled=True, type="multi-zone", failureTolerance=1), set(), id="tolerance 1"
        ),
        pytest.param(MULTI_2, set(), id="tolerance 2"),
        pytest.param(
            document(enabled=True, type="multi-zone", failureTolerance=0),
            {(f"{FIELD}.failureTolerance", "Invalid")},
            id="tolerance 0",
        ),
        pytest.param(
            document(enabled=True, type="multi-zone", failureTolerance=3),
            {(f"{FIELD}.failureTolerance", "Invalid")},
            id="tolerance 3",
        ),
        pytest.param(
            document(enabled=True), {(f"{FIELD}.type", "Required")}, id="on without a type"
        ),
        pytest.param(
            document(type="multi-zone"),
            {(f"{FIELD}.enabled", "Invalid")},
            id="a type without enabled",
        ),
        pytest.param(
            document(enabled=False, failureDomain={"type": "multi-zone"}),
            {(f"{FIELD}.enabled", "Invalid")},
            id="a type with enabled: false",
        ),
        pytest.param(affinity("preferred"), set(), id="preferred region, without HA"),
        pytest.param(affinity("required"), set(), id="required region, without HA"),
        pytest.param(
            affinity("nearby"),
            {("spec.kubernetes.controlPlane.regionAffinity", "NotSupported")},
            id="an unknown affinity",
        ),
        pytest.param(upstream("node"), set(), id="Gardener's node"),
        pytest.param(upstream("zone"), set(), id="Gardener's zone"),
        pytest.param(upstream("region"), {(UPSTREAM, "NotSupported")}, id="Gardener's, unknown"),
        pytest.param(merged(MULTI, upstream("zone")), set(), id="two spellings that agree"),
        pytest.param(
            merged(MULTI, upstream("node")),
            {(UPSTREAM, "Invalid")},
            id="two spellings that contradict each other",
        ),
        pytest.param(
            twin('{"enabled": true, "type": "multi-zone"}'), set(), id="the twin annotation"
        ),
        pytest.param(twin("yes"), {(TWIN, "Invalid")}, id="a twin that is no JSON"),
        pytest.param(
            twin('{"enabled": true, "type": "x"}'),
            {(f"{TWIN}.type", "NotSupported")},
            id="a twin with an unknown type",
        ),
        pytest.param(
            merged(twin('{"enabled": true, "type": "single-zone"}'), upstream("zone")),
            {(TWIN, "Invalid")},
            id="a twin that contradicts the field",
        ),
        pytest.param(
            {"metadata": {"annotations": {names.REGION_AFFINITY: "near"}}},
            {(f"metadata.annotations[{names.REGION_AFFINITY}]", "NotSupported")},
            id="an unknown affinity in its twin",
        ),
        pytest.param(
            merged(
                affinity("required"),
                {"metadata": {"annotations": {names.REGION_AFFINITY: "preferred"}}},
            ),
            {(f"metadata.annotations[{names.REGION_AFFINITY}]", "Invalid")},
            id="an affinity that contradicts its twin",
        ),
    ],
)
def test_fields(changes: dict[str, Any], refused: set[tuple[str, str]]) -> None:
    assert validate("shoot.ha", shoot(changes)).refused == refused


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        pytest.param({}, SINGLE, set(), id="none to single-zone"),
        pytest.param({}, MULTI, set(), id="none to multi-zone"),
        pytest.param(ON_A_SEED, merged(MULTI, ON_A_SEED), set(), id="none to multi-zone, placed"),
        pytest.param(SINGLE, MULTI, set(), id="single to multi, not placed"),
        pytest.param(
            merged(SINGLE, ON_A_SEED),
            merged(MULTI, ON_A_SEED),
            {f"{FIELD}.type"},
            id="single to multi, placed",
        ),
        pytest.param(MULTI, SINGLE, {f"{FIELD}.type"}, id="multi to single, not placed"),
        pytest.param(
            merged(MULTI, ON_A_SEED),
            merged(SINGLE, ON_A_SEED),
            {f"{FIELD}.type"},
            id="multi to single, placed",
        ),
        pytest.param(MULTI, {}, {f"{FIELD}.type"}, id="multi to none"),
        pytest.param(SINGLE, {}, {f"{FIELD}.type"}, id="single to none"),
        pytest.param(MULTI, document(enabled=False), {f"{FIELD}.type"}, id="switched off"),
        pytest.param(MULTI_2, MULTI, {f"{FIELD}.failureTolerance"}, id="tolerance lowered"),
        pytest.param(MULTI, MULTI_2, set(), id="tolerance raised"),
        pytest.param(
            TWIN_2,
            merged(TWIN_2, upstream("zone")),
            set(),
            id="Gardener's field beside the annotation",
        ),
        pytest.param(
            merged(TWIN_2, upstream("zone")),
            upstream("zone"),
            {f"{TWIN}.failureTolerance"},
            id="the annotation with the tolerance is removed",
        ),
        pytest.param(
            merged(TWIN_2, upstream("zone")),
            merged(TWIN_1, upstream("zone")),
            {f"{TWIN}.failureTolerance"},
            id="the twin lowers the tolerance",
        ),
        pytest.param(
            merged(TWIN_1, upstream("zone")),
            upstream("zone"),
            set(),
            id="the annotation had nothing else",
        ),
        pytest.param(
            document(enabled=True, type="single-zone", failureTolerance=2),
            MULTI,
            {f"{FIELD}.failureTolerance"},
            id="tolerance lowered while becoming multi-zone",
        ),
        pytest.param(MULTI, upstream("zone"), set(), id="the same in another spelling"),
        pytest.param(upstream("zone"), upstream("node"), {UPSTREAM}, id="Gardener's zone to node"),
        pytest.param(upstream("node"), {}, {UPSTREAM}, id="Gardener's node to none"),
        pytest.param(
            MULTI_2,
            upstream("zone"),
            {f"{FIELD}.failureTolerance"},
            id="a tolerance the new one lacks",
        ),
    ],
)
def test_availability_is_never_reduced(
    old: dict[str, Any], new: dict[str, Any], fields: set[str]
) -> None:
    result = validate("shoot.ha", shoot(new), shoot(old))
    assert result.refused == {(field, "Forbidden") for field in fields}


@pytest.mark.parametrize(
    ("state", "before", "after", "refused"),
    [
        pytest.param({}, {}, upstream("node"), set(), id="awake"),
        pytest.param(
            {"spec": {"hibernation": {"enabled": False}}}, {}, upstream("node"), set(), id="woken"
        ),
        pytest.param(
            {"spec": {"hibernation": {"enabled": True}}}, {}, upstream("node"), {UPSTREAM},
            id="asleep",
        ),
        pytest.param(
            {"status": {"hibernated": True}}, {}, SINGLE, {f"{FIELD}.type"}, id="waking up"
        ),
        pytest.param(
            {"spec": {"hibernation": {"enabled": True}}}, SINGLE, SINGLE, set(), id="no change"
        ),
    ],
)  # fmt: skip
def test_high_availability_of_a_hibernated_shoot(
    state: dict[str, Any], before: dict[str, Any], after: dict[str, Any], refused: set[str]
) -> None:
    result = validate("shoot.ha", shoot(state, after), shoot(state, before))
    assert result.fields == refused
    beside = Options(beside_gardener=True)
    assert validate(
        "shoot.ha", shoot(state, after), shoot(state, before), options=beside
    ).fields == (set())


ZONES = "spec.controlPlane.zones"
SPREAD = {"highAvailability": {"failureTolerance": {"type": "zone"}}}


def pinned(*zones: str, spread: bool = False) -> dict[str, Any]:
    return make_shoot(spec={"controlPlane": {**(SPREAD if spread else {}), "zones": [*zones]}})


@pytest.mark.parametrize(
    ("new", "refused"),
    [
        pytest.param(pinned("a"), set(), id="one zone"),
        pytest.param(pinned("a", "b", "c", spread=True), set(), id="three zones"),
        pytest.param(pinned("a", "b"), {(ZONES, "Invalid")}, id="two zones"),
        pytest.param(pinned("a", spread=True), {(ZONES, "Invalid")}, id="one zone where 3 go"),
        pytest.param(pinned("a", "a"), {(f"{ZONES}[1]", "Duplicate")}, id="a zone twice"),
    ],
)
def test_pinned_zones(new: dict[str, Any], refused: set[tuple[str, str]]) -> None:
    profile = make_cloud_profile(controlPlane={"allowZonePinning": True})
    assert validate("shoot.ha", new, around=[profile]).refused == refused
    forbidden = refused | {(ZONES, "Forbidden")}
    assert validate("shoot.ha", new, around=[make_cloud_profile()]).refused == forbidden
    assert validate("shoot.ha", new, options=Options(beside_gardener=True)).refused == set()


@pytest.mark.timeout(20)
def test_every_zone_of_a_long_list_is_looked_at_once() -> None:
    """Comparing each one with all before it takes minutes, in which nobody else is answered."""
    found = validate("shoot.ha", pinned(*map(str, range(100_000)), "7"))
    assert found.refused == {(f"{ZONES}[100000]", "Duplicate"), (ZONES, "Invalid")}


@pytest.mark.parametrize(
    ("old", "new", "is_refused"),
    [
        pytest.param(pinned("a"), pinned("a"), False, id="kept"),
        pytest.param(pinned("a"), make_shoot(), False, id="unpinned"),
        pytest.param(make_shoot(), pinned("a"), True, id="set later"),
        pytest.param(pinned("a"), pinned("b"), True, id="moved"),
        pytest.param(pinned("a"), pinned("b", "a", "c", spread=True), False, id="grown into three"),
        pytest.param(
            pinned("a"), pinned("b", "c", "d", spread=True), True, id="grown without the first"
        ),
        pytest.param(
            pinned("a", "b", "c", spread=True),
            pinned("c", "b", "a", spread=True),
            True,
            id="in another order",
        ),
    ],
)
def test_pinned_zones_stay(old: dict[str, Any], new: dict[str, Any], is_refused: bool) -> None:
    refused = {(ZONES, "Forbidden")} if is_refused else set()
    assert validate("shoot.ha", new, old).refused == refused


def test_a_tolerance_without_a_type() -> None:
    field = "spec.controlPlane.highAvailability.failureTolerance.type"
    new = make_shoot(spec={"controlPlane": {"highAvailability": {"failureTolerance": {}}}})
    assert validate("shoot.ha", new).refused == {(field, "NotSupported")}
