"""The availability of a control plane from each of its sources."""

from typing import Any

import msgspec
import pytest

from webhook.api import names
from webhook.api.shoots import Shoot
from webhook.domain.shoots import ha
from webhook.domain.shoots.ha import Availability


def make_shoot(annotations: dict[str, str] | None = None, **spec: Any) -> Shoot:
    return msgspec.convert(
        {"metadata": {"annotations": annotations or {}}, "spec": spec}, Shoot, strict=False
    )


def document(**availability: Any) -> dict[str, Any]:
    return {"kubernetes": {"controlPlane": {"highAvailability": availability}}}


def upstream(kind: str) -> dict[str, Any]:
    return {"controlPlane": {"highAvailability": {"failureTolerance": {"type": kind}}}}


TOLERANT = {
    names.HIGH_AVAILABILITY: '{"enabled": true, "failureTolerance": 2, "failureDomain":'
    ' {"type": "multi-zone", "whenUnsatisfied": "ScheduleAnyway"}}'
}


@pytest.mark.parametrize(
    ("shoot", "expected"),
    [
        pytest.param(make_shoot(), Availability(), id="nothing requested"),
        pytest.param(
            make_shoot(**document(enabled=True, type="single-zone")),
            Availability("single-zone"),
            id="the document's type",
        ),
        pytest.param(
            make_shoot(**document(enabled=True, failureDomain={"type": "multi-zone"})),
            Availability("multi-zone"),
            id="the document's failure domain",
        ),
        pytest.param(
            make_shoot(
                **document(
                    enabled=True,
                    failureDomain={"type": "multi-zone", "whenUnsatisfied": "ScheduleAnyway"},
                    failureTolerance=2,
                )
            ),
            Availability("multi-zone", 2, "ScheduleAnyway"),
            id="everything the document has",
        ),
        pytest.param(
            make_shoot(**document(type="multi-zone")),
            Availability(),
            id="a type without enabled requests nothing",
        ),
        pytest.param(
            make_shoot(**document(enabled=True, type="multi-planet")),
            Availability(),
            id="an unknown type requests nothing",
        ),
        pytest.param(
            make_shoot(**document(enabled=True, type="multi-zone", failureTolerance=7)),
            Availability("multi-zone", 2),
            id="a tolerance out of bounds is read as the nearest bound",
        ),
        pytest.param(
            make_shoot(**upstream("node")), Availability("single-zone"), id="Gardener's node"
        ),
        pytest.param(
            make_shoot(**upstream("zone")), Availability("multi-zone"), id="Gardener's zone"
        ),
        pytest.param(
            make_shoot(
                {names.HIGH_AVAILABILITY: '{"enabled": true, "type": "multi-zone"}'},
            ),
            Availability("multi-zone"),
            id="the annotation",
        ),
        pytest.param(
            make_shoot(TOLERANT, **upstream("zone")),
            Availability("multi-zone", 2, "ScheduleAnyway"),
            id="Gardener's zone, with the rest from the annotation",
        ),
        pytest.param(
            make_shoot(TOLERANT, **upstream("node")),
            Availability("single-zone"),
            id="an annotation that contradicts Gardener's field is ignored",
        ),
        pytest.param(
            make_shoot(TOLERANT, **document(enabled=True, type="multi-zone")),
            Availability("multi-zone"),
            id="the document's own field defines all",
        ),
        pytest.param(
            make_shoot(
                **upstream("zone"), **document(enabled=True, type="multi-zone", failureTolerance=2)
            ),
            Availability("multi-zone", 2),
            id="the document's field before Gardener's",
        ),
        pytest.param(
            make_shoot({names.HIGH_AVAILABILITY: "{nonsense"}),
            Availability(),
            id="an annotation that is not JSON is ignored",
        ),
        pytest.param(
            make_shoot(
                {names.HIGH_AVAILABILITY: '{"enabled": true, "type": "single-zone"}'},
                **upstream("zone"),
            ),
            Availability("multi-zone"),
            id="of two spellings the field counts before the annotation",
        ),
    ],
)
def test_wanted(shoot: Shoot, expected: Availability) -> None:
    assert ha.requested(shoot) == expected


def test_a_reduced_failure_domain_reduces_the_effective_availability() -> None:
    weakened = {names.EFFECTIVE_FAILURE_DOMAIN: "single-zone"}
    multi = document(enabled=True, type="multi-zone", failureTolerance=2)
    assert ha.effective(make_shoot(weakened, **multi)) == Availability("single-zone", 2)
    assert ha.effective(make_shoot({}, **multi)) == Availability("multi-zone", 2)
    assert ha.effective(make_shoot(weakened)) == Availability()


@pytest.mark.parametrize(
    ("availability", "zones"),
    [
        pytest.param(Availability(), 0, id="no availability needs no zone"),
        pytest.param(Availability("single-zone", 2), 0, id="single-zone needs no zone"),
        pytest.param(Availability("multi-zone", 1), 3, id="one failure needs three zones"),
        pytest.param(Availability("multi-zone", 2), 5, id="two failures need five zones"),
    ],
)
def test_zones_needed(availability: Availability, zones: int) -> None:
    assert availability.zones_needed == zones


@pytest.mark.parametrize(
    ("shoot", "expected"),
    [
        pytest.param(make_shoot(), "", id="unset"),
        pytest.param(
            make_shoot(kubernetes={"controlPlane": {"regionAffinity": "required"}}),
            "required",
            id="required",
        ),
        pytest.param(
            make_shoot(kubernetes={"controlPlane": {"regionAffinity": "nearby"}}),
            "",
            id="an unknown value is ignored",
        ),
        pytest.param(
            make_shoot({names.REGION_AFFINITY: "preferred"}), "preferred", id="the annotation"
        ),
    ],
)
def test_region_affinity(shoot: Shoot, expected: str) -> None:
    assert ha.region_affinity(shoot) == expected
