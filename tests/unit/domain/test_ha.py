"""Every spelling of high availability is read as one value."""

from typing import Any

import msgspec
import pytest

from webhook.api import names
from webhook.api.shoots import Shoot
from webhook.domain import ha
from webhook.domain.ha import HighAvailability


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
        pytest.param(make_shoot(), HighAvailability(), id="nothing asked for"),
        pytest.param(
            make_shoot(**document(enabled=True, type="single-zone")),
            HighAvailability("single-zone"),
            id="the document's type",
        ),
        pytest.param(
            make_shoot(**document(enabled=True, failureDomain={"type": "multi-zone"})),
            HighAvailability("multi-zone"),
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
            HighAvailability("multi-zone", 2, "ScheduleAnyway"),
            id="everything the document has",
        ),
        pytest.param(
            make_shoot(**document(type="multi-zone")),
            HighAvailability(),
            id="a type without enabled asks for nothing",
        ),
        pytest.param(
            make_shoot(**document(enabled=True, type="multi-planet")),
            HighAvailability(),
            id="an unknown type asks for nothing",
        ),
        pytest.param(
            make_shoot(**document(enabled=True, type="multi-zone", failureTolerance=7)),
            HighAvailability("multi-zone", 2),
            id="a tolerance out of bounds is read as the nearest bound",
        ),
        pytest.param(
            make_shoot(**upstream("node")), HighAvailability("single-zone"), id="Gardener's node"
        ),
        pytest.param(
            make_shoot(**upstream("zone")), HighAvailability("multi-zone"), id="Gardener's zone"
        ),
        pytest.param(
            make_shoot(
                {names.HIGH_AVAILABILITY: '{"enabled": true, "type": "multi-zone"}'},
            ),
            HighAvailability("multi-zone"),
            id="the twin annotation",
        ),
        pytest.param(
            make_shoot(TOLERANT, **upstream("zone")),
            HighAvailability("multi-zone", 2, "ScheduleAnyway"),
            id="Gardener's zone, and the twin says the rest",
        ),
        pytest.param(
            make_shoot(TOLERANT, **upstream("node")),
            HighAvailability("single-zone"),
            id="a twin that contradicts Gardener's field says nothing",
        ),
        pytest.param(
            make_shoot(TOLERANT, **document(enabled=True, type="multi-zone")),
            HighAvailability("multi-zone"),
            id="the document's own field says all",
        ),
        pytest.param(
            make_shoot(
                **upstream("zone"), **document(enabled=True, type="multi-zone", failureTolerance=2)
            ),
            HighAvailability("multi-zone", 2),
            id="the document's field before Gardener's",
        ),
        pytest.param(
            make_shoot({names.HIGH_AVAILABILITY: "{nonsense"}),
            HighAvailability(),
            id="a twin that is no JSON asks for nothing",
        ),
        pytest.param(
            make_shoot(
                {names.HIGH_AVAILABILITY: '{"enabled": true, "type": "single-zone"}'},
                **upstream("zone"),
            ),
            HighAvailability("multi-zone"),
            id="of two spellings the field counts before the annotation",
        ),
    ],
)
def test_wanted(shoot: Shoot, expected: HighAvailability) -> None:
    assert ha.wanted(shoot) == expected


def test_a_weakened_placement_is_only_as_available_as_it_is() -> None:
    weakened = {names.EFFECTIVE_FAILURE_DOMAIN: "single-zone"}
    multi = document(enabled=True, type="multi-zone", failureTolerance=2)
    assert ha.effective(make_shoot(weakened, **multi)) == HighAvailability("single-zone", 2)
    assert ha.effective(make_shoot({}, **multi)) == HighAvailability("multi-zone", 2)
    assert ha.effective(make_shoot(weakened)) == HighAvailability()


@pytest.mark.parametrize(
    ("availability", "zones"),
    [
        pytest.param(HighAvailability(), 0, id="no availability needs no zone"),
        pytest.param(HighAvailability("single-zone", 2), 0, id="single-zone needs no zone"),
        pytest.param(HighAvailability("multi-zone", 1), 3, id="one failure needs three zones"),
        pytest.param(HighAvailability("multi-zone", 2), 5, id="two failures need five zones"),
    ],
)
def test_zones_needed(availability: HighAvailability, zones: int) -> None:
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
            id="an unknown word says nothing",
        ),
        pytest.param(
            make_shoot({names.REGION_AFFINITY: "preferred"}), "preferred", id="the twin annotation"
        ),
    ],
)
def test_region_affinity(shoot: Shoot, expected: str) -> None:
    assert ha.region_affinity(shoot) == expected
