"""shoot.workers: worker pools are valid and the cloud profile offers what they use."""

from typing import Any

import pytest

from tests.support.admission import ValidationResult, validate
from tests.support.builders import make_cloud_profile, make_shoot, make_worker
from webhook.domain.options import AdmissionOptions, Options

PATH = "spec.provider.workers"
WEAKER = Options(admission=AdmissionOptions(worker_rule="system-components"))


def validate_pools(
    workers: list[dict[str, Any]],
    old: list[dict[str, Any]] | None = None,
    options: Options | None = None,
    **spec: Any,
) -> ValidationResult:
    stored = None if old is None else make_shoot(workers=old)
    return validate(
        "shoot.workers",
        make_shoot(workers=workers, spec=spec),
        stored,
        around=[make_cloud_profile()],
        options=options,
    )


def pool(zones: str = "abc", maximum: int = 3, **changes: Any) -> dict[str, Any]:
    return make_worker(zones=zones, maximum=maximum, **changes)


@pytest.mark.parametrize(
    ("workers", "refused"),
    [
        pytest.param([pool(maximum=3)], set(), id="as many nodes as zones"),
        pytest.param([pool(maximum=2)], {f"{PATH}[0].maximum"}, id="fewer nodes than zones"),
        pytest.param(
            [pool(), pool(name="off", maximum=0, minimum=0)], set(), id="maximum 0 is exempt"
        ),
        pytest.param(
            [pool(), pool(name="two", maximum=2)],
            {f"{PATH}[1].maximum"},
            id="a big pool with the same zones does not cover a small one",
        ),
        pytest.param(
            [pool(), pool(name="two", maximum=2, systemComponents={"allow": False})],
            {f"{PATH}[1].maximum"},
            id="nor does it matter who runs system components",
        ),
        pytest.param([pool(zones="", maximum=1)], set(), id="no zones at all"),
    ],
)
def test_each_pool_can_have_a_node_in_each_zone(
    workers: list[dict[str, Any]], refused: set[str]
) -> None:
    assert validate_pools(workers).fields == refused


@pytest.mark.parametrize(
    ("old", "new", "refused", "warned"),
    [
        pytest.param(pool(maximum=2), pool(maximum=2), False, True, id="an unchanged violation"),
        pytest.param(
            pool(maximum=2), pool(maximum=2, labels={"a": "b"}), False, True, id="a label besides"
        ),
        pytest.param(pool(maximum=1), pool(maximum=2), True, False, id="a changed maximum"),
        pytest.param(
            pool(zones="ab", maximum=1, minimum=1),
            pool(zones="abc", maximum=1, minimum=1),
            True,
            False,
            id="one zone more",
        ),
        pytest.param(pool(maximum=3), pool(maximum=2), True, False, id="a new violation"),
        pytest.param(pool(maximum=2), pool(maximum=3), False, False, id="a repaired one"),
    ],
)
def test_stored_violations_are_warnings(
    old: dict[str, Any], new: dict[str, Any], refused: bool, warned: bool
) -> None:
    result = validate_pools([new], [old])
    assert result.fields == ({f"{PATH}[0].maximum"} if refused else set())
    assert result.warned == ({f"{PATH}[0].maximum"} if warned else set())
    if result.messages:
        assert "pool pool has 3 zones" in result.messages[0]
        assert "raise maximum to 3 or remove zones" in result.messages[0]


@pytest.mark.parametrize("update", [False, True], ids=["on create", "on update"])
@pytest.mark.parametrize(
    ("first", "second", "refused"),
    [
        pytest.param((3, True, "abc"), (1, False, "a"), set(), id="3 and 1, the second without"),
        pytest.param((1, True, "abc"), (3, True, "abc"), set(), id="the second covers the first"),
        pytest.param((3, True, "abc"), (1, True, "abc"), set(), id="the first covers the second"),
        pytest.param((2, True, "abc"), (1, False, "a"), {0}, id="2 nodes for 3 zones"),
        pytest.param((2, True, "abc"), (1, True, "cde"), {0, 1}, id="two sets of zones"),
        pytest.param((2, True, "abc"), (1, False, "cab"), {0}, id="same zones in another order"),
    ],
)
def test_the_six_vectors_of_gardeners_weaker_rule(
    first: tuple[int, bool, str], second: tuple[int, bool, str], refused: set[int], update: bool
) -> None:
    workers = [
        make_worker(
            f"pool-{index}",
            zones=zones,
            minimum=0,
            maximum=maximum,
            systemComponents={"allow": allow},
        )
        for index, (maximum, allow, zones) in enumerate((first, second))
    ]
    regions = [{"name": "here", "zones": [{"name": zone} for zone in "abcde"]}]
    stored = make_shoot(workers=[make_worker("other")]) if update else None
    result = validate(
        "shoot.workers",
        make_shoot(workers=workers),
        stored,
        around=[make_cloud_profile(regions=regions)],
        options=WEAKER,
    )
    assert result.refused == {(f"{PATH}[{index}].maximum", "Forbidden") for index in refused}


def test_the_weaker_rule_exempts_pools_without_nodes() -> None:
    idle = make_worker("idle", zones="abc", minimum=0, maximum=0)
    assert validate_pools([pool(), idle], options=WEAKER).fields == set()


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        pytest.param({"name": "a" * 15}, None, id="a name of 15 characters"),
        pytest.param({"name": "a" * 16}, ("name", "TooLong"), id="one of 16"),
        pytest.param({"name": "Pool"}, ("name", "Invalid"), id="no DNS label"),
        pytest.param({"name": "a.b"}, ("name", "Invalid"), id="a dot"),
        pytest.param({"name": ""}, ("name", "Required"), id="no name"),
        pytest.param({"minimum": 0}, None, id="minimum 0"),
        pytest.param({"minimum": -1}, ("minimum", "Invalid"), id="minimum below 0"),
        pytest.param({"minimum": 3, "maximum": 3}, None, id="minimum equal to maximum"),
        pytest.param({"minimum": 4}, ("maximum", "Forbidden"), id="minimum above maximum"),
        pytest.param({"maxSurge": "10%"}, None, id="surge in percent"),
        pytest.param(
            {"maxSurge": "ten", "maxUnavailable": 1}, ("maxSurge", "Invalid"), id="surge in words"
        ),
        pytest.param({"maxSurge": -1}, ("maxSurge", "Invalid"), id="negative surge"),
        pytest.param({"maxSurge": 0, "maxUnavailable": 1}, None, id="no surge, one unavailable"),
        pytest.param(
            {"maxSurge": 0, "maxUnavailable": 0}, ("maxUnavailable", "Invalid"), id="both zero"
        ),
        pytest.param(
            {"maxSurge": "0%", "maxUnavailable": "0%"},
            ("maxUnavailable", "Invalid"),
            id="both zero percent",
        ),
        pytest.param({"maxUnavailable": "100%"}, None, id="all unavailable"),
        pytest.param({"maxUnavailable": "101%"}, ("maxUnavailable", "Invalid"), id="more than all"),
        pytest.param({"machine": {"type": ""}}, ("machine.type", "Required"), id="no machine type"),
        pytest.param({"volume": None}, None, id="no volume"),
        pytest.param({"volume": {"size": "1Ti"}}, ("volume.size", "Invalid"), id="not in Gi"),
        pytest.param({"priority": -1}, None, id="priority -1"),
        pytest.param({"priority": -2}, ("priority", "Invalid"), id="priority -2"),
    ],
)
def test_one_pool(changes: dict[str, Any], refused: tuple[str, str] | None) -> None:
    expected = set() if refused is None else {(f"{PATH}[0].{refused[0]}", refused[1])}
    assert validate_pools([pool(**changes)]).refused == expected


def test_pools_have_different_names() -> None:
    assert validate_pools([pool(), pool()]).refused == {(f"{PATH}[1].name", "Duplicate")}


@pytest.mark.parametrize(
    ("workers", "refused"),
    [
        pytest.param([], set(), id="no pools at all"),
        pytest.param([pool(systemComponents={"allow": True})], set(), id="one that allows them"),
        pytest.param([pool(systemComponents={"allow": False})], {PATH}, id="none that allows them"),
        pytest.param([pool(systemComponents={})], {PATH}, id="without allow"),
        pytest.param([pool(systemComponents=None)], set(), id="labelled falsething of them"),
        pytest.param([pool(minimum=0, maximum=0)], {PATH}, id="none with nodes"),
    ],
)
def test_system_components_need_a_pool(workers: list[dict[str, Any]], refused: set[str]) -> None:
    assert validate_pools(workers).fields == refused


def test_workers_are_neither_all_added_nor_all_removed() -> None:
    assert validate_pools([], [pool()]).refused == {(PATH, "Forbidden")}
    assert validate_pools([pool()], []).refused == {(PATH, "Forbidden")}


@pytest.mark.parametrize(
    ("new", "old", "refused"),
    [
        pytest.param(pool(zones="ab"), None, set(), id="known zones"),
        pytest.param(
            pool(zones="ax"), None, {(f"{PATH}[0].zones[1]", "NotSupported")}, id="an unknown zone"
        ),
        pytest.param(
            pool(zones="aba"), None, {(f"{PATH}[0].zones[2]", "Duplicate")}, id="a zone twice"
        ),
        pytest.param(pool(zones="ax"), pool(zones="ax"), set(), id="unknown, but stored so"),
        pytest.param(
            pool(zones="axb"),
            pool(zones="ax"),
            {(f"{PATH}[0].zones[1]", "NotSupported")},
            id="unknown, and changed",
        ),
    ],
)
def test_zones_are_in_the_cloud_profile(
    new: dict[str, Any], old: dict[str, Any] | None, refused: set[tuple[str, str]]
) -> None:
    assert validate_pools([new], None if old is None else [old]).refused == refused


def test_a_region_without_zones_allows_none() -> None:
    profile = make_cloud_profile(regions=[{"name": "here"}])
    result = validate("shoot.workers", make_shoot(), around=[profile])
    assert result.refused == {(f"{PATH}[0].zones[0]", "Invalid")}


def test_a_new_region_is_validated_again() -> None:
    new = make_shoot(workers=[pool()], spec={"region": "there"})
    result = validate(
        "shoot.workers", new, make_shoot(workers=[pool()]), around=[make_cloud_profile()]
    )
    assert result.fields == {f"{PATH}[0].zones[{index}]" for index in range(3)} | {"spec.region"}


UPSTREAM: dict[str, Any] = {
    "regions": [
        {
            "name": "here",
            "zones": [
                {
                    "name": "a",
                    "unavailableMachineTypes": ["large"],
                    "unavailableVolumeTypes": ["faster"],
                },
                {"name": "b"},
                {"name": "c"},
            ],
        }
    ]
}
DOCUMENT: dict[str, Any] = {
    "providerConfig": {
        "constraints": {
            "zones": [
                {
                    "region": "here",
                    "zones": [
                        {
                            "name": "a",
                            "unavailableMachineTypes": [{"name": "large"}],
                            "unavailableVolumeTypes": [{"name": "faster"}],
                        },
                        {"name": "b"},
                    ],
                }
            ]
        }
    }
}


@pytest.mark.parametrize(
    "profile", [UPSTREAM, DOCUMENT], ids=["as Gardener writes it", "as document 001 writes it"]
)
@pytest.mark.parametrize(
    ("worker", "refused"),
    [
        pytest.param(pool(zones="ab"), set(), id="types that both zones have"),
        pytest.param(
            pool(zones="bc", maximum=2, machine={"type": "large"}), set(), id="zone not used"
        ),
        pytest.param(
            pool(zones="ab", machine={"type": "large"}),
            {f"{PATH}[0].machine.type"},
            id="a machine type that a zone lacks",
        ),
        pytest.param(
            pool(zones="ab", volume={"type": "faster"}),
            {f"{PATH}[0].volume.type"},
            id="a volume type that a zone lacks",
        ),
        pytest.param(
            pool(zones="ab", dataVolumes=[{"name": "d", "type": "faster", "size": "1Gi"}]),
            {f"{PATH}[0].dataVolumes[0].type"},
            id="a data volume's type that a zone lacks",
        ),
    ],
)
def test_types_that_are_unavailable_in_a_zone(
    profile: dict[str, Any], worker: dict[str, Any], refused: set[str]
) -> None:
    result = validate(
        "shoot.workers", make_shoot(workers=[worker]), around=[make_cloud_profile(**profile)]
    )
    assert result.fields == refused


@pytest.mark.parametrize(
    "odd", [5, [], {"constraints": 5}, {"constraints": {"zones": [5, {"region": 5}]}}]
)
def test_provider_config_is_ignored(odd: Any) -> None:
    result = validate(
        "shoot.workers", make_shoot(), around=[make_cloud_profile(providerConfig=odd)]
    )
    assert result.refused == set()


def test_an_unknown_machine_type_is_a_warning() -> None:
    result = validate_pools([pool(machine={"type": "smal"})])
    assert (result.fields, result.warned) == (set(), {f"{PATH}[0].machine.type"})


def test_unavailable_types_in_use_are_allowed() -> None:
    worker = pool(zones="ab", machine={"type": "large"})
    changed = make_shoot(workers=[worker | {"maximum": 5}])
    result = validate(
        "shoot.workers",
        changed,
        make_shoot(workers=[worker]),
        around=[make_cloud_profile(**UPSTREAM)],
    )
    assert result.refused == set()


@pytest.mark.parametrize(("limit", "refused"), [(2, set()), (1, {PATH})])
def test_the_sum_of_minimums_stays_within_the_profiles_limit(limit: int, refused: set[str]) -> None:
    profile = make_cloud_profile(limits={"maxNodesTotal": limit})
    workers = [pool(minimum=1), pool(name="two", minimum=1)]
    assert (
        validate("shoot.workers", make_shoot(workers=workers), around=[profile]).fields == refused
    )


def test_a_missing_profile_is_a_warning() -> None:
    result = validate("shoot.workers", make_shoot())
    assert (result.fields, result.warned) == (set(), {"spec.cloudProfileName"})
    today = make_shoot(
        spec={"cloudProfileName": None, "cloudProfile": {"kind": "CloudProfile", "name": "x"}}
    )
    assert validate("shoot.workers", today).warned == {"spec.cloudProfile.name"}


def test_a_project_may_have_a_profile_of_its_own() -> None:
    own = {
        "apiVersion": "core.gardener.cloud/v1beta1",
        "kind": "NamespacedCloudProfile",
        "metadata": {"name": "mine", "namespace": "garden-dev"},
        "spec": {
            "parent": {"kind": "CloudProfile", "name": "local"},
            "machineTypes": [{"name": "huge", "cpu": "64", "gpu": "0", "memory": "1Ti"}],
        },
    }
    reference = {"kind": "NamespacedCloudProfile", "name": "mine"}
    shoot = make_shoot(
        workers=[pool(zones="ax", machine={"type": "huge"})],
        spec={"cloudProfileName": None, "cloudProfile": reference},
    )
    result = validate("shoot.workers", shoot, around=[own, make_cloud_profile()])
    assert (result.fields, result.warned) == ({f"{PATH}[0].zones[1]"}, set())
