"""shoot.registered: a Shoot that is registered as a seed stays suitable as one."""

from typing import Any

import pytest

from tests.support.admission import validate
from tests.support.builders import (
    make_managed_seed,
    make_seed,
    make_seed_shoot,
    make_seed_template,
    make_worker,
    merged,
)
from webhook.api import names


def shoot(zones: str = "abc", **changes: Any) -> dict[str, Any]:
    return merged(make_seed_shoot(zones=zones), changes)


def pools(*zones: str) -> dict[str, Any]:
    return {
        "spec": {
            "provider": {"workers": [make_worker(f"p{i}", zone) for i, zone in enumerate(zones)]}
        }
    }


NODES = "spec.networking.nodes"
WORKERS = "spec.provider.workers"


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        pytest.param({}, set(), id="nothing"),
        pytest.param({"metadata": {"labels": {"a": "b"}}}, set(), id="a label"),
        pytest.param(
            {"spec": {"addons": {"nginxIngress": {"enabled": True}}}},
            {("spec.addons.nginxIngress.enabled", "Invalid")},
            id="nginx switched on",
        ),
        pytest.param(
            {"spec": {"addons": {"nginxIngress": {"enabled": False}}}}, set(), id="nginx off"
        ),
        pytest.param(
            {"spec": {"kubernetes": {"verticalPodAutoscaler": {"enabled": False}}}},
            {("spec.kubernetes.verticalPodAutoscaler.enabled", "Invalid")},
            id="autoscaler switched off",
        ),
        pytest.param(
            {"spec": {"kubernetes": {"verticalPodAutoscaler": None}}},
            {("spec.kubernetes.verticalPodAutoscaler.enabled", "Invalid")},
            id="autoscaler removed",
        ),
        pytest.param(
            {"spec": {"networking": {"nodes": "10.9.0.0/16"}}}, {(NODES, "Invalid")}, id="nodes"
        ),
        pytest.param(
            {"spec": {"networking": {"nodes": None}}}, {(NODES, "Invalid")}, id="nodes removed"
        ),
        pytest.param(
            {"spec": {"networking": None}}, {(NODES, "Invalid")}, id="all of networking removed"
        ),
        pytest.param(pools("abc", "ab"), set(), id="another pool"),
        pytest.param(pools("ab", "c"), set(), id="the same zones over two pools"),
        pytest.param(pools("abcd"), set(), id="a zone more"),
        pytest.param(pools("abd"), {(WORKERS, "Forbidden")}, id="a zone that the seed uses, gone"),
    ],
)
def test_update(changes: dict[str, Any], refused: set[tuple[str, str]]) -> None:
    result = validate("shoot.registered", shoot(**changes), shoot(), around=[make_managed_seed()])
    assert result.refused == refused


def test_zones_that_the_seed_does_not_use_can_be_removed() -> None:
    managed = make_managed_seed(template=make_seed_template(zones="ab"))
    result = validate("shoot.registered", shoot(**pools("abd")), shoot(), around=[managed])
    assert result.refused == set()


@pytest.mark.parametrize(
    ("seed", "refused"),
    [
        pytest.param(make_seed(zones="abc"), True, id="a multi-zonal seed"),
        pytest.param(make_seed(zones="ab"), False, id="a seed with two zones"),
        pytest.param(
            make_seed(zones="abc", metadata={"labels": {names.MULTI_ZONAL: "false"}}),
            False,
            id="a seed labelled as not multi-zonal",
        ),
    ],
)
def test_the_shoot_of_a_multi_zonal_seed_keeps_three_zones(
    seed: dict[str, Any], refused: bool
) -> None:
    managed = make_managed_seed(template=make_seed_template(zones=""))
    result = validate("shoot.registered", shoot(**pools("ab")), shoot(), around=[managed, seed])
    assert result.refused == ({(WORKERS, "Forbidden")} if refused else set())


def test_deletion() -> None:
    assert validate("shoot.registered", old=shoot(), around=[make_managed_seed()]).refused == {
        ("", "Denied")
    }
    assert validate("shoot.registered", old=shoot()).refused == set()


@pytest.mark.parametrize("reference", ["other", None])
def test_shoots_that_are_no_seeds_are_allowed(reference: str | None) -> None:
    managed = make_managed_seed(shoot={"name": reference} if reference else None)
    unfit = shoot(spec={"kubernetes": {"verticalPodAutoscaler": None}})
    assert validate("shoot.registered", unfit, shoot(), around=[managed]).refused == set()


def test_a_shoot_of_the_same_name_in_another_namespace_is_allowed() -> None:
    elsewhere = merged(shoot(), {"metadata": {"namespace": "garden-dev"}})
    assert validate("shoot.registered", old=elsewhere, around=[make_managed_seed()]).refused == (
        set()
    )
