"""shoot.identity: new shoots have names, projects and finalizers that Gardener accepts."""

from typing import Any

import pytest

from tests.support.admission import validate
from tests.support.builders import CORE, make_object, make_shoot, merged
from webhook.domain.options import AdmissionOptions, Options

ON = Options(admission=AdmissionOptions(modes={"shoot.identity": "deny"}))


def project(**metadata: Any) -> dict[str, Any]:
    named = make_object(CORE, "Project", "five5", spec={"namespace": "garden-dev"})
    return merged(named, {"metadata": metadata})


@pytest.mark.parametrize(
    ("metadata", "refused"),
    [
        pytest.param({}, set(), id="an ordinary one"),
        pytest.param({"name": "sixteen-letters0"}, set(), id="21 letters with the project"),
        pytest.param(
            {"name": "seventeen-letters"}, {("metadata.name", "TooLong")}, id="22 with the project"
        ),
        pytest.param({"name": "a.b"}, {("metadata.name", "Invalid")}, id="a name with a dot"),
        pytest.param(
            {"name": None, "generateName": "eleven-let-"}, set(), id="room for five more letters"
        ),
        pytest.param(
            {"name": None, "generateName": "twelve-lett-"},
            {("metadata.generateName", "TooLong")},
            id="room for four",
        ),
        pytest.param({"finalizers": ["example.org/mine"]}, set(), id="another finalizer"),
        pytest.param(
            {"finalizers": ["example.org/mine", "gardener"]},
            {("metadata.finalizers[1]", "Forbidden")},
            id="the finalizer of controllers",
        ),
    ],
)
def test_a_new_shoot(metadata: dict[str, Any], refused: set[tuple[str, str]]) -> None:
    shoot = merged(make_shoot(), {"metadata": metadata})
    assert validate("shoot.identity", shoot, around=[project()], options=ON).refused == refused


@pytest.mark.parametrize(
    "around",
    [
        pytest.param([], id="none"),
        pytest.param([project(deletionTimestamp="2026-01-01T00:00:00Z")], id="one that goes"),
    ],
)
def test_a_shoot_needs_a_project_that_is_not_being_deleted(around: list[dict[str, Any]]) -> None:
    result = validate("shoot.identity", make_shoot(), around=around, options=ON)
    assert result.refused == {("metadata.namespace", "Denied")}


def test_it_is_off_by_default() -> None:
    assert validate("shoot.identity", make_shoot("a-name-that-is-much-too-long")).refused == set()
