"""controllerregistration.rules: each kind and type of extension has one primary controller."""

from typing import Any

import pytest

from tests.support.admission import validate
from tests.support.builders import CORE, make_object


def registration(
    *resources: str, name: str = "mine", primary: bool | None = None
) -> dict[str, Any]:
    entries = []
    for resource in resources:
        kind, _, kind_type = resource.partition("/")
        entries.append(
            {"kind": kind, "type": kind_type} | ({} if primary is None else {"primary": primary})
        )
    return make_object(CORE, "ControllerRegistration", name, spec={"resources": entries})


OTHER = registration("Infrastructure/aws", "Infrastructure/gcp", "DNS/route53", name="other")


@pytest.mark.parametrize(
    ("obj", "refused"),
    [
        pytest.param(registration(), set(), id="nothing"),
        pytest.param(registration("Infrastructure/azure"), set(), id="a free type"),
        pytest.param(registration("Worker/aws"), set(), id="a free kind"),
        pytest.param(
            registration("Infrastructure/aws"),
            {("spec.resources[0]", "Duplicate")},
            id="the first type of the other one",
        ),
        pytest.param(
            registration("Infrastructure/gcp"),
            {("spec.resources[0]", "Duplicate")},
            id="the last type of the other one",
        ),
        pytest.param(
            registration("Worker/aws", "Infrastructure/aws", "Infrastructure/azure", "DNS/route53"),
            {("spec.resources[1]", "Duplicate"), ("spec.resources[3]", "Duplicate")},
            id="some free, some taken",
        ),
        pytest.param(
            registration("Infrastructure/aws", primary=False), set(), id="a secondary controller"
        ),
        pytest.param(
            registration("Worker/a", "Worker/b", "Worker/a"),
            {("spec.resources[2]", "Duplicate")},
            id="twice in one object, another between",
        ),
        pytest.param(registration("/aws"), {("spec.resources[0].kind", "Required")}, id="no kind"),
        pytest.param(
            registration("Worker/"), {("spec.resources[0].type", "Required")}, id="no type"
        ),
    ],
)
def test_rules(obj: dict[str, Any], refused: set[tuple[str, str]]) -> None:
    assert validate("controllerregistration.rules", obj, around=[OTHER]).refused == refused


TAKEN = registration("Infrastructure/aws")
TWICE = registration("Worker/a", "Worker/a")


@pytest.mark.parametrize(
    ("old", "new", "refused", "warned"),
    [
        pytest.param(TAKEN, TAKEN, set(), {"spec.resources[0]"}, id="taken, as it was"),
        pytest.param(
            TAKEN,
            registration("Worker/a", "Infrastructure/aws"),
            *(set(), {"spec.resources[1]"}),
            id="taken as it was, at another place",
        ),
        pytest.param(
            TAKEN,
            registration("Infrastructure/aws", "Infrastructure/gcp"),
            *({"spec.resources[1]"}, {"spec.resources[0]"}),
            id="another is taken besides",
        ),
        pytest.param(
            registration("Infrastructure/aws", primary=False),
            *(TAKEN, {"spec.resources[0]"}, set()),
            id="a secondary one becomes primary",
        ),
        pytest.param(
            TAKEN,
            registration("Infrastructure/aws", "Infrastructure/aws"),
            *({"spec.resources[1]"}, {"spec.resources[0]"}),
            id="and named once more",
        ),
        pytest.param(TWICE, TWICE, set(), {"spec.resources[1]"}, id="twice, as it was"),
    ],
)
def test_a_stored_conflict_is_a_warning(
    old: dict[str, Any], new: dict[str, Any], refused: set[str], warned: set[str]
) -> None:
    result = validate("controllerregistration.rules", new, old, around=[OTHER, old])
    assert (result.fields, result.warned) == (refused, warned)


def test_an_object_does_not_conflict_with_itself() -> None:
    result = validate("controllerregistration.rules", OTHER, OTHER, around=[OTHER])
    assert result.refused == set()


def test_the_message_names_the_other_registration() -> None:
    result = validate("controllerregistration.rules", registration("DNS/route53"), around=[OTHER])
    assert result.messages == ("is already registered by ControllerRegistration other",)
