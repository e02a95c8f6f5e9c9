"""shoot.binding: changes of spec.seedName as Gardener allows them."""

from typing import Any

import pytest

from tests.support.admission import JANE, decide, make_request, validate
from tests.support.builders import make_seed, make_shoot, merged
from webhook.admission.decision import UserInfo
from webhook.api import names
from webhook.domain.options import AdmissionOptions, Options

US = UserInfo(username="system:serviceaccount:espalier-system:espalier")
ON = Options(user=US.username, admission=AdmissionOptions(modes={"shoot.binding": "deny"}))
FIELD = "spec.seedName"
BACKUP = {"provider": "local", "credentialsRef": {"name": "c"}}
GOING = {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}


def seed(name: str, **spec: Any) -> dict[str, Any]:
    defaults = [{"domain": "d.example.org"}]
    whole = make_seed(name, spec={"backup": BACKUP, "dns": {"defaults": defaults}})
    return merged(whole, {"spec": spec})


def shoot(on: str = "", **changes: Any) -> dict[str, Any]:
    spec = {"dns": {"domain": "s.p.d.example.org"}} | ({"seedName": on} if on else {})
    return merged(make_shoot(spec=spec), changes)


@pytest.mark.parametrize("before", ["", "old"])
@pytest.mark.parametrize(
    ("user", "subresource", "refused"),
    [
        pytest.param(JANE, "", True, id="a user, on the shoot itself"),
        pytest.param(JANE, "binding", False, id="a user, through the binding"),
        pytest.param(US, "", False, id="our own scheduler, where there is no binding"),
    ],
)
def test_the_seed_changes_through_the_binding_only(
    before: str, user: UserInfo, subresource: str, refused: bool
) -> None:
    request = make_request(shoot("new"), shoot(before), user=user, subresource=subresource)
    around = [seed("old"), seed("new")]
    decision = decide("validate", "shoot.binding", request, around, ON)
    assert {finding.field for finding in decision.findings} == ({FIELD} if refused else set())


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        pytest.param({}, {}, False, id="two that are alike"),
        pytest.param({"backup": None}, {}, True, id="no backups to move from"),
        pytest.param({}, {"backup": None}, True, id="no backups to move to"),
        pytest.param({}, {"dns": {"internal": {"domain": "x.org"}}}, True, id="another domain"),
        pytest.param({}, {"dns": {"internal": None}}, True, id="no internal domain"),
        pytest.param({}, {"dns": {"defaults": None}}, True, id="the shoot's domain is not served"),
        pytest.param(
            {"dns": {"defaults": [{"domain": "e.example.org"}]}},
            {"dns": {"defaults": None}},
            False,
            id="the shoot has a domain of its own",
        ),
    ],
)
def test_requirements_on_both_seeds_of_a_migration(
    old: dict[str, Any], new: dict[str, Any], refused: bool
) -> None:
    around = [seed("old", **old), seed("new", **new)]
    result = validate(
        *("shoot.binding", shoot("new"), shoot("old")),
        around=around,
        options=ON,
        subresource="binding",
    )
    assert result.refused == ({(FIELD, "Denied")} if refused else set())


@pytest.mark.parametrize(
    ("before", "refused"),
    [pytest.param("", set(), id="placed"), pytest.param("old", {FIELD}, id="moved")],
)
def test_no_other_field_changes_with_the_seed(before: str, refused: set[str]) -> None:
    new = shoot("new", spec={"hibernation": {"schedules": []}})
    result = validate(
        *("shoot.binding", new, shoot(before)),
        around=[seed("old"), seed("new")],
        options=ON,
        subresource="binding",
    )
    assert result.fields == refused


@pytest.mark.parametrize(
    ("status", "frozen"),
    [
        pytest.param({}, False, id="new"),
        pytest.param({"seedName": "old"}, False, id="settled"),
        pytest.param({"seedName": "other"}, False, id="no operation yet"),
        pytest.param(
            {"seedName": "other", "lastOperation": {"type": "Create"}}, True, id="not arrived yet"
        ),
        pytest.param({"lastOperation": {"type": "Reconcile"}}, False, id="reconciled"),
        pytest.param({"lastOperation": {"type": "Migrate"}}, True, id="leaving"),
        pytest.param(
            {"lastOperation": {"type": "Restore", "state": "Processing"}}, True, id="arriving"
        ),
        pytest.param(
            {"lastOperation": {"type": "Restore", "state": "Succeeded"}}, False, id="arrived"
        ),
    ],
)
def test_the_spec_is_immutable_during_a_migration(status: dict[str, Any], frozen: bool) -> None:
    old = shoot("old", status=status)
    around = [seed("old")]
    changed = merged(old, {"spec": {"purpose": "testing"}})
    result = validate("shoot.binding", changed, old, around=around, options=ON)
    assert result.fields == ({"spec"} if frozen else set())
    labelled = merged(old, {"metadata": {"labels": {"a": "b"}}})
    assert validate("shoot.binding", labelled, old, around=around, options=ON).refused == set()


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        pytest.param({"spec": {"purpose": "testing"}}, {"spec"}, id="spec"),
        pytest.param({"metadata": {"labels": {"a": "b"}}}, set(), id="labels"),
        pytest.param(
            {"metadata": {"annotations": {"a": "b"}}}, {"metadata.annotations"}, id="annotations"
        ),
        pytest.param(
            {"metadata": {"annotations": {names.DELETION_CONFIRMATION: "true"}}},
            set(),
            id="confirmed for deletion",
        ),
    ],
)
def test_a_shoot_on_a_deleting_seed_can_only_be_deleted(
    change: dict[str, Any], refused: set[str]
) -> None:
    old, new = shoot("old"), merged(shoot("old"), change)
    going = [merged(seed("old"), GOING)]
    assert validate("shoot.binding", new, old, around=going, options=ON).fields == refused
    assert validate("shoot.binding", new, old, around=[seed("old")], options=ON).refused == set()


ZONAL = {"spec": {"controlPlane": {"highAvailability": {"failureTolerance": {"type": "zone"}}}}}
FEW = {"provider": {"zones": ["a", "b"]}}
MANY = {"provider": {"zones": ["a", "b", "c"]}}
ZONE_FIELD = "spec.controlPlane.highAvailability.failureTolerance.type"


@pytest.mark.parametrize(
    ("zones", "spec", "refused"),
    [
        pytest.param(MANY, ZONAL, False, id="a seed with three zones"),
        pytest.param(FEW, ZONAL, True, id="a seed with two"),
        pytest.param(FEW, {}, False, id="a seed with two, no high availability"),
        pytest.param(
            FEW,
            {**ZONAL, "metadata": {"annotations": {names.EFFECTIVE_FAILURE_DOMAIN: "single-zone"}}},
            False,
            id="a seed with two, weakened by ScheduleAnyway",
        ),
    ],
)
def test_multi_zone_needs_a_multi_zonal_seed(
    zones: dict[str, Any], spec: dict[str, Any], refused: bool
) -> None:
    result = validate(
        *("shoot.binding", shoot("old", **spec), shoot("old")),
        around=[seed("old", **zones)],
        options=ON,
    )
    assert result.fields == ({ZONE_FIELD} if refused else set())


def test_it_is_off_by_default() -> None:
    assert validate("shoot.binding", shoot("new"), shoot("old")).refused == set()
