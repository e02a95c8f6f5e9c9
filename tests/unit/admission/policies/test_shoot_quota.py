"""shoot.quota: all shoots of a quota together stay within its limits."""

from typing import Any

import pytest

from tests.support.admission import ValidationResult, validate
from tests.support.builders import (
    CORE,
    make_cloud_profile,
    make_object,
    make_shoot,
    make_worker,
    merged,
)
from webhook.api import names

WORKERS = "spec.provider.workers"


def make_quota(scope: str = "Project", name: str = "q", **spec: Any) -> dict[str, Any]:
    return make_object(
        CORE, "Quota", name, "garden", spec={"scope": {"apiVersion": "v1", "kind": scope}, **spec}
    )


def make_binding(
    name: str = "b", namespace: str = "garden-dev", kind: str = "SecretBinding", quotas: str = "q"
) -> dict[str, Any]:
    version = CORE if kind == "SecretBinding" else "security.gardener.cloud/v1alpha1"
    return make_object(
        version,
        kind,
        name,
        namespace,
        quotas=[{"name": quota, "namespace": "garden"} for quota in quotas],
    )


def shoot(name: str = "mine", count: int = 2, **changes: Any) -> dict[str, Any]:
    """A pool of machines with 2 cpu, 8Gi and a standard volume of 50Gi each."""
    made = make_shoot(
        name,
        workers=[make_worker(zones="a", maximum=count)],
        spec={"secretBindingName": "b"},
    )
    return merged(made, changes)


def within(
    metrics: dict[str, str],
    new: dict[str, Any] | None = None,
    old: dict[str, Any] | None = None,
    *others: dict[str, Any],
    scope: str = "Project",
) -> ValidationResult:
    around = [
        make_quota(scope, metrics=metrics),
        make_binding(),
        make_binding("b", "garden-other"),
        make_binding("c", kind="CredentialsBinding"),
        make_cloud_profile(),
        *others,
    ]
    return validate("shoot.quota", new or shoot(), old, around=around)


@pytest.mark.parametrize(
    ("metrics", "refused"),
    [
        pytest.param({"cpu": "4"}, False, id="exactly the cpu allowed"),
        pytest.param({"cpu": "3999m"}, True, id="a thousandth too much cpu"),
        pytest.param({"memory": "16Gi"}, False, id="exactly the memory allowed"),
        pytest.param({"memory": "16G"}, True, id="16G is less than 16Gi"),
        pytest.param({"gpu": "0"}, False, id="no gpu"),
        pytest.param({"storage.standard": "100Gi"}, False, id="exactly the storage allowed"),
        pytest.param({"storage.standard": "99Gi"}, True, id="too much storage"),
        pytest.param({"storage.premium": "0"}, False, id="no premium storage"),
        pytest.param({"loadbalancer": "1"}, False, id="one load balancer"),
        pytest.param({"loadbalancer": "0"}, True, id="no load balancer allowed"),
        pytest.param({}, False, id="no limit"),
    ],
)
def test_creation(metrics: dict[str, str], refused: bool) -> None:
    result = within(metrics)
    assert bool(result.refused) is refused
    assert all(reason == "Denied" for _, reason in result.refused)


def test_the_message_names_quota_metric_and_amounts() -> None:
    result = within({"memory": "10Gi", "cpu": "1"})
    assert len(result.messages) == 2
    assert "Quota garden/q allows 10Gi of memory, this would take 16Gi" in result.messages[1]
    assert "allows 1 of cpu, this would take 4" in result.messages[0]


def elsewhere(name: str = "other", count: int = 2) -> dict[str, Any]:
    return merged(shoot(name, count), {"metadata": {"namespace": "garden-other"}})


@pytest.mark.parametrize(
    ("others", "scope", "refused"),
    [
        pytest.param([], "Project", False, id="no other shoots"),
        pytest.param([shoot("a", 1)], "Project", False, id="another one, together within"),
        pytest.param([shoot("a", 2)], "Project", True, id="another one, together beyond"),
        pytest.param([elsewhere()], "Project", False, id="another project's do not count"),
        pytest.param([elsewhere()], "Secret", True, id="unless the credentials are limited"),
        pytest.param(
            [shoot("a", 2, spec={"secretBindingName": None, "credentialsBindingName": "c"})],
            "Project",
            True,
            id="one with another binding to the same quota",
        ),
        pytest.param(
            [shoot("a", 2, spec={"secretBindingName": "z"})],
            "Project",
            False,
            id="one whose binding has no quota",
        ),
    ],
)
def test_other_shoots_of_the_quota_count(
    others: list[dict[str, Any]], scope: str, refused: bool
) -> None:
    assert bool(within({"cpu": "6"}, None, None, *others, scope=scope).refused) is refused


def nginx(enabled: bool) -> dict[str, Any]:
    return {"spec": {"addons": {"nginxIngress": {"enabled": enabled}}}}


@pytest.mark.parametrize(
    ("new", "checked"),
    [
        pytest.param(shoot(count=3), False, id="nothing that costs"),
        pytest.param(shoot(count=3, metadata={"labels": {"a": "b"}}), False, id="a label"),
        pytest.param(shoot(count=4), True, id="a larger maximum"),
        pytest.param(shoot(count=2), True, id="a smaller maximum is checked too"),
        pytest.param(
            shoot(
                spec={"provider": {"workers": [make_worker(maximum=3, machine={"type": "large"})]}}
            ),
            True,
            id="another machine type",
        ),
        pytest.param(
            shoot(
                spec={"provider": {"workers": [make_worker(maximum=3, volume={"size": "51Gi"})]}}
            ),
            True,
            id="another volume",
        ),
        pytest.param(
            shoot(spec={"provider": {"workers": [make_worker(maximum=3), make_worker("new")]}}),
            True,
            id="a new pool",
        ),
        pytest.param(shoot(spec={"provider": {"workers": []}}), False, id="a pool less"),
        pytest.param(shoot(count=3, **nginx(True)), True, id="nginx switched on"),
        pytest.param(shoot(count=3, **nginx(False)), False, id="nginx stays off"),
        pytest.param(
            shoot(count=9, metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
            False,
            id="while it is being deleted",
        ),
    ],
)
def test_updates_are_checked_only_where_they_may_cost_more(
    new: dict[str, Any], checked: bool
) -> None:
    old = shoot(count=3)
    assert bool(within({"cpu": "3"}, new, old, old).refused) is checked


def test_a_shoot_counts_once() -> None:
    old, new = shoot(count=2), shoot(count=3)
    assert within({"cpu": "6"}, new, old, old).refused == set()
    assert within({"cpu": "5"}, new, old, old).refused == {(WORKERS, "Denied")}


def test_nginx_needs_a_second_load_balancer() -> None:
    assert within({"loadbalancer": "1"}, shoot(**nginx(True))).refused == {
        ("spec.addons", "Denied")
    }
    assert within({"loadbalancer": "2"}, shoot(**nginx(True))).refused == set()


PREMIUM = {"provider": {"workers": [make_worker(maximum=1, volume={"type": "faster"})]}}
LOCAL_DISK = {
    "machineTypes": [
        {
            "name": "small",
            "cpu": "2",
            "gpu": "0",
            "memory": "8Gi",
            "storage": {"class": "premium", "size": "20Gi"},
        }
    ]
}


@pytest.mark.parametrize(
    ("spec", "profile", "metric", "amount"),
    [
        pytest.param(PREMIUM, {}, "storage.premium", "50Gi", id="by the volume's class"),
        pytest.param(
            {"provider": {"workers": [make_worker(maximum=1, volume=None)]}},
            LOCAL_DISK,
            "storage.premium",
            "20Gi",
            id="the machine type's own disk",
        ),
        pytest.param(
            {"provider": {"workers": [make_worker(maximum=1)]}},
            LOCAL_DISK,
            "storage.premium",
            "50Gi",
            id="the machine type's class, the volume's size",
        ),
    ],
)
def test_storage(spec: dict[str, Any], profile: dict[str, Any], metric: str, amount: str) -> None:
    for limit, refused in ((amount, False), ("1Gi", True)):
        around = [
            make_quota(metrics={metric: limit}),
            make_binding(),
            make_cloud_profile(**profile),
        ]
        result = validate("shoot.quota", shoot(spec=spec), around=around)
        assert bool(result.refused) is refused


def test_all_quotas_are_checked() -> None:
    around = [
        make_quota(metrics={"cpu": "100"}, name="q"),
        make_quota(metrics={"cpu": "1"}, name="r"),
        make_binding(quotas="qr"),
        make_cloud_profile(),
    ]
    result = validate("shoot.quota", shoot(), around=around)
    assert result.refused == {(WORKERS, "Denied")}
    assert "Quota garden/r" in result.messages[0]


def test_a_missing_binding_means_no_quota() -> None:
    result = validate("shoot.quota", shoot(), around=[make_cloud_profile()])
    assert (result.refused, result.warned) == (set(), {"spec.secretBindingName"})
    credentials = shoot(spec={"secretBindingName": None, "credentialsBindingName": "c"})
    assert validate("shoot.quota", credentials).warned == {"spec.credentialsBindingName"}
    unbound = shoot(spec={"secretBindingName": None})
    assert validate("shoot.quota", unbound).messages == ()


def test_a_missing_quota_is_a_warning() -> None:
    result = validate("shoot.quota", shoot(), around=[make_binding(), make_cloud_profile()])
    assert (result.refused, result.warned) == (set(), {"spec.secretBindingName"})


def test_an_unknown_machine_type_is_a_warning_and_not_counted() -> None:
    unknown = shoot(spec={"provider": {"workers": [make_worker(machine={"type": "x"})]}})
    result = within({"cpu": "0"}, unknown)
    assert (result.refused, result.warned) == (set(), {WORKERS})


def test_a_malformed_limit_is_a_warning() -> None:
    result = within({"cpu": "much"})
    assert (result.refused, result.warned) == (set(), {""})


EXPIRY = f"metadata.annotations[{names.EXPIRATION_TIMESTAMP}]"


def expiring(at: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {names.EXPIRATION_TIMESTAMP: at}}}


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        pytest.param({}, expiring("2026-01-22T12:00:00Z"), set(), id="as long as allowed"),
        pytest.param(
            {}, expiring("2026-01-22T12:00:01Z"), {(EXPIRY, "Denied")}, id="a second longer"
        ),
        pytest.param(
            expiring("2027-01-01T00:00:00Z"),
            expiring("2027-01-01T00:00:00Z"),
            set(),
            id="too long, but unchanged",
        ),
        pytest.param(expiring("2026-01-16T00:00:00Z"), {}, set(), id="taken off"),
        pytest.param({}, expiring("soon"), {(EXPIRY, "Invalid")}, id="no time"),
    ],
)
def test_lifetime(old: dict[str, Any], new: dict[str, Any], refused: set[tuple[str, str]]) -> None:
    around = [
        make_quota(metrics={}, clusterLifetimeDays=7),
        make_quota(metrics={}, clusterLifetimeDays=9, name="r"),
        make_binding(quotas="qr"),
        make_cloud_profile(),
    ]
    result = validate("shoot.quota", shoot(**new), shoot(**old), around=around)
    assert result.refused == refused


def test_the_expiration_of_a_new_shoot_is_not_checked() -> None:
    around = [make_quota(metrics={}, clusterLifetimeDays=7), make_binding(), make_cloud_profile()]
    new = shoot(**expiring("2126-01-01T00:00:00Z"))
    assert validate("shoot.quota", new, around=around).refused == set()
