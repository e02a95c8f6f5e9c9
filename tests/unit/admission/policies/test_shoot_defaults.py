"""shoot.defaults: default fields of a shoot, and new machine images on maintenance."""

from typing import Any

import pytest

from tests.support.admission import mutate
from tests.support.builders import make_cloud_profile, make_shoot, make_worker, merged
from webhook.api import names

IMAGES: list[dict[str, Any]] = [
    {
        "name": "linux",
        "versions": [
            {"version": "2.0.0"},
            {"version": "2.1.0"},
            {"version": "2.10.0"},
            {"version": "3.0.0", "classification": "preview"},
            {"version": "2.11.0", "expirationDate": "2026-01-01T00:00:00Z"},
            {"version": "2.12.0", "architectures": ["arm64"]},
            {"version": "2.13.0", "classification": "deprecated"},
        ],
    },
    {"name": "other", "versions": [{"version": "1.0.0", "architectures": ["arm64", "amd64"]}]},
]
ARM = {"name": "arm", "cpu": "2", "gpu": "0", "memory": "8Gi", "architecture": "arm64"}


def profile(**changes: Any) -> dict[str, Any]:
    types = make_cloud_profile()["spec"]["machineTypes"]
    return make_cloud_profile(**{"machineImages": IMAGES, "machineTypes": [*types, ARM], **changes})


def default(
    shoot: dict[str, Any], old: dict[str, Any] | None = None, **changes: Any
) -> dict[str, Any]:
    result, warnings = mutate("shoot.defaults", shoot, old, around=[profile(**changes)])
    assert warnings == ()
    again, _ = mutate("shoot.defaults", result, old, around=[profile(**changes)])
    assert again == result
    return result


def machine(result: dict[str, Any]) -> Any:
    return result["spec"]["provider"]["workers"][0]["machine"]


def test_absent_fields_are_set() -> None:
    spec = default(make_shoot())["spec"]
    assert (spec["purpose"], spec["schedulerName"]) == ("evaluation", "default-scheduler")
    assert "tolerations" not in spec
    worker = spec["provider"]["workers"][0]
    assert (worker["maxSurge"], worker["maxUnavailable"]) == (1, 0)
    assert worker["systemComponents"] == {"allow": True}
    assert worker["updateStrategy"] == "AutoRollingUpdate"


def test_empty_system_components_stay_forbidden() -> None:
    worker = default(make_shoot(workers=[make_worker(systemComponents={})]))["spec"]["provider"]
    assert worker["workers"][0]["systemComponents"] == {}


def test_set_fields_stay() -> None:
    worker = make_worker(
        maxSurge=0,
        maxUnavailable=1,
        systemComponents={"allow": False},
        updateStrategy="ManualInPlaceUpdate",
    )
    chosen = make_shoot(workers=[worker], spec={"purpose": "testing", "schedulerName": "espalier"})
    assert default(chosen) == chosen


@pytest.mark.parametrize(
    ("namespace", "given", "expected"),
    [
        pytest.param("garden", None, [{"key": names.SEED_PROTECTED}], id="in the garden"),
        pytest.param("garden-dev", None, None, id="in a project"),
        pytest.param(
            "garden",
            [{"key": "a"}],
            [{"key": "a"}, {"key": names.SEED_PROTECTED}],
            id="beside others",
        ),
        pytest.param(
            "garden",
            [{"key": names.SEED_PROTECTED, "value": "x"}],
            [{"key": names.SEED_PROTECTED, "value": "x"}],
            id="not twice",
        ),
    ],
)
def test_shoots_of_the_garden_tolerate_protected_seeds(
    namespace: str, given: Any, expected: Any
) -> None:
    shoot = make_shoot(namespace=namespace, spec={"tolerations": given} if given else {})
    assert default(shoot)["spec"].get("tolerations") == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(
            {"type": "small"},
            {"name": "linux", "version": "2.10.0"},
            id="the profile's first image in its newest supported version",
        ),
        pytest.param(
            {"type": "small", "image": {"name": "other"}},
            {"name": "other", "version": "1.0.0"},
            id="the newest version of the image that is named",
        ),
        pytest.param(
            {"type": "small", "image": {"name": "linux", "version": "1.0.0"}},
            {"name": "linux", "version": "1.0.0"},
            id="the version that is named",
        ),
        pytest.param(
            {"type": "arm"}, {"name": "linux", "version": "2.12.0"}, id="one for the architecture"
        ),
        pytest.param(
            {"type": "small", "image": {"name": "unknown"}},
            {"name": "unknown"},
            id="nothing for an unknown image",
        ),
    ],
)
def test_a_pool_gets_an_image(given: dict[str, Any], expected: dict[str, str]) -> None:
    worker = make_worker() | {"machine": given}
    assert machine(default(make_shoot(workers=[worker])))["image"] == expected


@pytest.mark.parametrize(
    ("kind", "expected"), [("small", "amd64"), ("arm", "arm64"), ("unknown", "amd64")]
)
def test_the_architecture_is_that_of_the_machine_type(kind: str, expected: str) -> None:
    worker = make_worker() | {"machine": {"type": kind}}
    assert machine(default(make_shoot(workers=[worker])))["architecture"] == expected


def test_an_old_pool_keeps_its_image() -> None:
    old = make_shoot(workers=[make_worker(machine={"image": {"version": "2.1.0"}})])
    new = make_shoot(
        workers=[make_worker(machine={"image": None}), make_worker("new", machine={"image": None})]
    )
    workers = default(new, old)["spec"]["provider"]["workers"]
    assert workers[0]["machine"]["image"] == {"name": "linux", "version": "2.1.0"}
    assert workers[1]["machine"]["image"] == {"name": "linux", "version": "2.10.0"}


def test_a_deprecated_version_is_used_if_there_is_no_other() -> None:
    images = [{"name": "linux", "versions": [{"version": "1.0.0", "classification": "deprecated"}]}]
    worker = make_worker() | {"machine": {"type": "small"}}
    result = default(make_shoot(workers=[worker]), machineImages=images)
    assert machine(result)["image"] == {"name": "linux", "version": "1.0.0"}


def test_without_a_profile_machines_stay_as_they_are() -> None:
    worker = make_worker() | {"machine": {"type": "small"}}
    result, _ = mutate("shoot.defaults", make_shoot(workers=[worker]))
    assert machine(result) == {"type": "small"}


def due(version: str, name: str = "linux", trigger: str = "maintenance") -> dict[str, Any]:
    worker = make_worker(machine={"image": {"name": name, "version": version}})
    annotations = {names.MAINTENANCE_TRIGGER: trigger, "kept": "yes"}
    return make_shoot(workers=[worker], metadata={"annotations": annotations})


@pytest.mark.parametrize(
    ("shoot", "strategy", "expected"),
    [
        pytest.param(due("2.0.0"), "major", "2.10.0", id="to the newest supported version"),
        pytest.param(due("1.0.0"), "major", "2.10.0", id="over a major version"),
        pytest.param(due("1.0.0"), "minor", "1.0.0", id="not where only minor updates are wanted"),
        pytest.param(due("2.0.0"), "minor", "2.10.0", id="within the major version"),
        pytest.param(due("2.0.0"), "patch", "2.0.0", id="within the minor version"),
        pytest.param(due("2.10.0"), "major", "2.10.0", id="already newest"),
        pytest.param(due("9.0.0"), "major", "9.0.0", id="never back"),
        pytest.param(due("1.0.0", "unknown"), "major", "1.0.0", id="unknown image"),
    ],
)
def test_maintenance_updates_images_and_removes_the_annotation(
    shoot: dict[str, Any], strategy: str, expected: str
) -> None:
    images = [IMAGES[0] | {"updateStrategy": strategy}, IMAGES[1]]
    result = default(shoot, shoot, machineImages=images)
    assert machine(result)["image"]["version"] == expected
    assert result["metadata"]["annotations"] == {"kept": "yes"}


def test_other_operations_are_kept() -> None:
    result = default(due("2.0.0", trigger="coffee"))
    assert machine(result)["image"]["version"] == "2.0.0"
    assert names.MAINTENANCE_TRIGGER in result["metadata"]["annotations"]


def test_the_annotation_is_removed_even_without_workers() -> None:
    shoot = merged(due("2.0.0"), {"spec": {"provider": {"workers": []}}})
    shoot["metadata"]["annotations"].pop("kept")
    assert "annotations" not in default(shoot)["metadata"]
