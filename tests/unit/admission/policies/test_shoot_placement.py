"""shoot.placement: who may set spec.seedName, and whether the seed fits the shoot."""

from typing import Any

import pytest

from tests.support.admission import JANE, make_request, read, validate
from tests.support.builders import (
    CORE,
    make_cloud_profile,
    make_object,
    make_seed,
    make_shoot,
    merged,
)
from webhook.admission.decision import Needs
from webhook.admission.engine import TABLE
from webhook.api import names
from webhook.state.live_reads import AccessReview
from webhook.state.snapshot import Snapshot

FIELD = "spec.seedName"
DENIED = {(FIELD, "Denied")}


def shoot(seed: str | None = None, **changes: Any) -> dict[str, Any]:
    return merged(make_shoot(spec={"seedName": seed} if seed else {}), changes)


def multi_zone(tolerance: int = 1) -> dict[str, Any]:
    wanted = {"enabled": True, "type": "multi-zone", "failureTolerance": tolerance}
    return {"spec": {"kubernetes": {"controlPlane": {"highAvailability": wanted}}}}


def place(
    changes: dict[str, Any] | None = None,
    seed: dict[str, Any] | None = None,
    *,
    others: list[dict[str, Any]] | None = None,
    profile: dict[str, Any] | None = None,
) -> Any:
    around = [merged(make_seed(), seed or {}), make_cloud_profile(**(profile or {}))]
    return validate(
        "shoot.placement",
        shoot("seed", **(changes or {})),
        shoot(),
        around=[*around, *(others or ())],
        allowed=True,
    )


@pytest.mark.parametrize(
    ("old", "new", "allowed", "refused"),
    [
        pytest.param(None, None, False, False, id="created without a seed"),
        pytest.param(None, "seed", True, False, id="created on a seed by someone who may"),
        pytest.param(None, "seed", False, True, id="created on a seed by someone who may not"),
        pytest.param("", "seed", True, False, id="placed by someone who may"),
        pytest.param("", "seed", False, True, id="placed by someone who may not"),
        pytest.param("seed", "seed", False, False, id="left where it is by anybody"),
        pytest.param("other", "seed", True, False, id="moved by someone who may"),
        pytest.param("other", "seed", False, True, id="moved by someone who may not"),
        pytest.param("seed", "", True, True, id="never removed"),
    ],
)
def test_who_may_choose(old: str | None, new: str | None, allowed: bool, refused: bool) -> None:
    result = validate(
        "shoot.placement",
        shoot(new),
        None if old is None else shoot(old),
        around=[make_seed(), make_cloud_profile()],
        allowed=allowed,
    )
    assert result.refused == (DENIED if refused else set())


def test_the_access_review_is_for_the_user() -> None:
    snapshot = Snapshot.of([read(make_seed()), read(make_cloud_profile())])
    assert TABLE.validate(make_request(shoot("seed"), shoot()), snapshot) == Needs(
        (
            AccessReview(
                JANE.username, "", (), (), "update", "core.gardener.cloud", "shoots", "binding",
                "garden-dev", "shoot",
            ),
        )
    )  # fmt: skip


def test_the_binding_subresource_needs_no_access_review() -> None:
    result = validate(
        "shoot.placement",
        shoot("seed"),
        shoot(),
        around=[make_seed(), make_cloud_profile()],
        subresource="binding",
    )
    assert result.refused == set()


def test_the_seed_must_exist() -> None:
    result = validate("shoot.placement", shoot("nowhere"), shoot(), allowed=True)
    assert result.refused == {(FIELD, "Invalid")}


TAINTED = {"spec": {"taints": [{"key": "a", "value": "b"}]}}
RESTRICTED = {"spec": {"accessRestrictions": [{"name": "eu"}]}}


@pytest.mark.parametrize(
    ("changes", "seed", "profile", "refused"),
    [
        pytest.param({}, {}, {}, None, id="a plain seed"),
        pytest.param(
            {},
            {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
            {},
            "is being deleted",
            id="a seed that is being deleted",
        ),
        pytest.param({}, TAINTED, {}, "taints (a)", id="a taint"),
        pytest.param(
            {"spec": {"tolerations": [{"key": "a", "value": "b"}]}},
            TAINTED,
            {},
            None,
            id="a tolerated taint",
        ),
        pytest.param(
            {"spec": {"tolerations": [{"key": "a"}]}},
            TAINTED,
            {},
            "taints (a)",
            id="a toleration without the taint's value",
        ),
        pytest.param(
            {"spec": {"seedSelector": {"matchLabels": {"x": "y"}}}},
            {},
            {},
            "does not match spec.seedSelector",
            id="the shoot selects others",
        ),
        pytest.param(
            {"spec": {"seedSelector": {"matchLabels": {"x": "y"}}}},
            {"metadata": {"labels": {"x": "y"}}},
            {},
            None,
            id="the shoot selects it",
        ),
        pytest.param(
            {},
            {},
            {"seedSelector": {"matchLabels": {"x": "y"}}},
            "seedSelector of the cloud profile",
            id="the profile selects others",
        ),
        pytest.param(
            {},
            {"spec": {"provider": {"type": "aws"}}},
            {},
            "runs on aws",
            id="another provider",
        ),
        pytest.param(
            {},
            {"spec": {"provider": {"type": "aws"}}},
            {"seedSelector": {"providerTypes": ["*"]}},
            None,
            id="another provider that the profile allows",
        ),
        pytest.param(
            {"spec": {"seedSelector": {"providerTypes": ["*"]}}},
            {},
            {},
            "providerTypes lacks it",
            id="a wildcard in the shoot's own selector matches nothing",
        ),
        pytest.param(RESTRICTED, {}, {}, "access restriction eu", id="a restriction"),
        pytest.param(RESTRICTED, RESTRICTED, {}, None, id="a supported restriction"),
        pytest.param(
            multi_zone(),
            {"spec": {"provider": {"zones": ["a", "b"]}}},
            {},
            "is not multi-zonal",
            id="multi-zone on two zones",
        ),
        pytest.param(
            multi_zone(),
            {"spec": {"provider": {"zones": ["a", "b", "c"]}}},
            {},
            None,
            id="multi-zone on three zones",
        ),
        pytest.param(
            multi_zone(),
            {
                "metadata": {"labels": {names.MULTI_ZONAL: "false"}},
                "spec": {"provider": {"zones": ["a", "b", "c"]}},
            },
            {},
            "is not multi-zonal",
            id="multi-zone on a seed that denies it",
        ),
        pytest.param(
            multi_zone(2),
            {"spec": {"provider": {"zones": ["a", "b", "c", "d"]}}},
            {},
            "failureTolerance 2 needs 5",
            id="tolerance 2 on four zones",
        ),
        pytest.param(
            multi_zone(2),
            {"spec": {"provider": {"zones": ["a", "b", "c", "d", "e"]}}},
            {},
            None,
            id="tolerance 2 on five zones",
        ),
        pytest.param(
            merged(
                multi_zone(),
                {"metadata": {"annotations": {names.EFFECTIVE_FAILURE_DOMAIN: "single-zone"}}},
            ),
            {},
            {},
            None,
            id="multi-zone that the scheduler weakened",
        ),
        pytest.param(
            {"spec": {"controlPlane": {"zones": ["b"]}}},
            {},
            {},
            "lacks zones b",
            id="pinned to a zone that the seed lacks",
        ),
        pytest.param(
            {"spec": {"controlPlane": {"zones": ["a"]}}}, {}, {}, None, id="pinned to its zone"
        ),
    ],
)
def test_requirements_on_the_seed(
    changes: dict[str, Any], seed: dict[str, Any], profile: dict[str, Any], refused: str | None
) -> None:
    result = place(changes, seed, profile=profile)
    assert {each for each in result.refused if each[0] == "spec.seedName"} == (
        DENIED if refused else set()
    )
    assert refused is None or any(refused in message for message in result.messages)


def taken(name: str, seed: str = "seed", moving_to: str = "") -> dict[str, Any]:
    return make_shoot(name, spec={"seedName": moving_to or seed}, status={"seedName": seed})


@pytest.mark.parametrize(
    ("allocatable", "others", "refused"),
    [
        pytest.param({"shoots": "2"}, [taken("a")], False, id="room for one more"),
        pytest.param({"shoots": "1"}, [taken("a")], True, id="full"),
        pytest.param({"shoots": "0"}, [], True, id="room for none"),
        pytest.param({}, [taken("a")], False, id="no limit"),
        pytest.param({"shoots": "1"}, [taken("a", "other")], False, id="taken elsewhere"),
        pytest.param(
            {"shoots": "1"}, [taken("a", "seed", "other")], True, id="one that has not left yet"
        ),
        pytest.param({"persistent-volumes": "0"}, [], True, id="another resource used up"),
        pytest.param({"shoots": "lots"}, [], True, id="a limit that cannot be read"),
    ],
)
def test_capacity(allocatable: dict[str, str], others: list[dict[str, Any]], refused: bool) -> None:
    status = {"allocatable": allocatable}
    seed = make_seed(status=None) | {"status": status}
    result = validate(
        "shoot.placement",
        shoot("seed"),
        shoot(),
        around=[seed, make_cloud_profile(), *others],
        allowed=True,
    )
    assert result.refused == (DENIED if refused else set())


def test_the_capacity_used_by_the_shoot_itself_is_ignored() -> None:
    arriving = shoot("other", status={"seedName": "seed"})
    back = shoot("seed", status={"seedName": "seed"})
    full = make_seed(status={"allocatable": {"shoots": "1"}})
    result = validate(
        "shoot.placement",
        back,
        arriving,
        around=[full, make_cloud_profile(), arriving],
        allowed=True,
    )
    assert result.refused == set()


@pytest.mark.parametrize(
    ("old", "new", "zones", "warned"),
    [
        pytest.param({}, multi_zone(), "ab", True, id="not supported by its seed"),
        pytest.param({}, multi_zone(), "abc", False, id="supported by its seed"),
        pytest.param(multi_zone(), multi_zone(), "ab", False, id="no warning without a change"),
        pytest.param({}, {}, "ab", False, id="no high availability"),
    ],
)
def test_a_change_that_moves_the_shoot_is_a_warning(
    old: dict[str, Any], new: dict[str, Any], zones: str, warned: bool
) -> None:
    result = validate(
        "shoot.placement",
        shoot("seed", **new),
        shoot("seed", **old),
        around=[make_seed(zones=zones)],
    )
    assert result.refused == set()
    assert result.warned == ({FIELD} if warned else set())


PROVIDER_TYPES = "spec.seedSelector.providerTypes"


@pytest.mark.parametrize(
    ("spec", "refused"),
    [
        pytest.param({"tolerations": [{"key": "a"}, {"key": "a", "value": "b"}]}, set(), id="well"),
        pytest.param(
            {"tolerations": [{"value": "b"}]},
            {("spec.tolerations[0].key", "Required")},
            id="a toleration without a key",
        ),
        pytest.param(
            {"tolerations": [{"key": "not a key"}]},
            {("spec.tolerations[0].key", "Invalid")},
            id="a toleration of no taint there can be",
        ),
        pytest.param(
            {"tolerations": [{"key": "a"}, {"key": "a"}]},
            {("spec.tolerations[1]", "Duplicate")},
            id="a toleration twice",
        ),
        pytest.param(
            {"seedSelector": {"matchLabels": {"not a key": "x"}}},
            {("spec.seedSelector.matchLabels", "Invalid")},
            id="a bad label",
        ),
        pytest.param(
            {"seedSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            {("spec.seedSelector.matchExpressions[0].values", "Required")},
            id="a list without values",
        ),
        pytest.param(
            {
                "seedSelector": {
                    "matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]
                }
            },
            {("spec.seedSelector.matchExpressions[0].values", "Forbidden")},
            id="existence with a value",
        ),
    ],
)
def test_fields_that_select_seeds(spec: dict[str, Any], refused: set[tuple[str, str]]) -> None:
    assert validate("shoot.placement", make_shoot(spec=spec)).refused == refused
    assert validate("shoot.placement", make_shoot(spec=spec), make_shoot()).refused == refused
    stored = make_shoot(spec=spec)
    assert validate("shoot.placement", stored, stored).refused == set()


@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        pytest.param(None, {"matchLabels": {"x": "y"}}, set(), id="one that selects the seed"),
        pytest.param(None, {"matchLabels": {"x": "z"}}, {"spec.seedSelector"}, id="another"),
        pytest.param(None, {"providerTypes": ["local"]}, set(), id="the seed's provider"),
        pytest.param(None, {"providerTypes": ["aws"]}, {PROVIDER_TYPES}, id="another provider"),
        pytest.param(None, {"providerTypes": ["*"]}, {PROVIDER_TYPES}, id="no wildcard here"),
        pytest.param({"matchLabels": {"x": "y"}}, None, {"spec.seedSelector"}, id="taken away"),
        pytest.param({"matchLabels": {"x": "z"}}, {"matchLabels": {"x": "z"}}, set(), id="kept"),
    ],
)
def test_the_selector_must_match_the_seed_of_the_shoot(
    before: dict[str, Any] | None, after: dict[str, Any] | None, fields: set[str]
) -> None:
    old = shoot("seed", spec={"seedSelector": before})
    new = shoot("seed", spec={"seedSelector": after})
    around = [make_seed(metadata={"labels": {"x": "y"}})]
    assert validate("shoot.placement", new, old, around=around).fields == fields


@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        pytest.param([], ["eu"], set(), id="one that the seed supports"),
        pytest.param([], ["eu", "us"], {"spec.accessRestrictions[1]"}, id="one that it does not"),
        pytest.param(["us"], ["us", "eu"], set(), id="one that it never did"),
        pytest.param(["eu"], [], set(), id="taken away"),
    ],
)
def test_new_access_restrictions_need_support_of_the_seed(
    before: list[str], after: list[str], fields: set[str]
) -> None:
    old, new = (
        shoot("seed", spec={"accessRestrictions": [{"name": name} for name in each]})
        for each in (before, after)
    )
    around = [make_seed(spec={"accessRestrictions": [{"name": "eu"}]})]
    assert validate("shoot.placement", new, old, around=around).fields == fields


@pytest.mark.parametrize(
    ("networking", "fields"),
    [
        pytest.param({"pods": "10.2.0.0/16"}, set(), id="the seed's own IPv4 range"),
        pytest.param({"pods": "241.0.0.0/16"}, {"spec.networking.pods"}, id="a reserved range"),
        pytest.param({"nodes": "fd00::/64"}, {"spec.networking.nodes"}, id="the seed's IPv6 range"),
        pytest.param({"nodes": "fd01::/64"}, set(), id="an IPv6 range beside it"),
    ],
)
def test_networks_fit_the_seed(networking: dict[str, str], fields: set[str]) -> None:
    seed = {"spec": {"networks": {"nodes": "fd00::/60"}}}
    assert place({"spec": {"networking": networking}}, seed).fields == fields


@pytest.mark.parametrize(
    ("listed", "wanted", "fields"),
    [
        pytest.param([], [{"key": "b"}], set(), id="a project that lists none"),
        pytest.param([{"key": "a"}], [{"key": "a", "value": "x"}], set(), id="any value"),
        pytest.param([{"key": "a"}], [{"key": "b"}], {"spec.tolerations[0]"}, id="another"),
        pytest.param(
            [{"key": "a", "value": "x"}], [{"key": "a"}], {"spec.tolerations[0]"}, id="one value"
        ),
        pytest.param([{"key": "a"}], [{"key": names.SEED_PROTECTED}], set(), id="the default"),
    ],
)
def test_tolerations_that_a_project_allows(
    listed: list[dict[str, str]], wanted: list[dict[str, str]], fields: set[str]
) -> None:
    spec = {"namespace": "garden-dev", "tolerations": {"whitelist": listed}}
    project = make_object(CORE, "Project", "dev", spec=spec)
    new = make_shoot(spec={"tolerations": wanted})
    assert validate("shoot.placement", new, around=[project]).fields == fields
    more = merged(new, {"spec": {"seedSelector": {"matchLabels": {"x": "y"}}}})
    assert validate("shoot.placement", more, new, around=[project]).fields == set()
