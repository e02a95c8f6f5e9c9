"""seed.zones: which seeds may be labelled multi-zonal; multi-zonal seeds stay multi-zonal."""

from typing import Any

import pytest

from tests.support.admission import mutate, validate
from tests.support.builders import (
    make_managed_seed,
    make_seed,
    make_seed_shoot,
    make_seed_template,
    make_shoot,
    make_worker,
)
from webhook.api import names
from webhook.domain.options import AdmissionOptions, Options

LABEL = f"metadata.labels[{names.MULTI_ZONAL}]"
ZONES = "spec.provider.zones"
TEMPLATE = "spec.gardenlet.config.seedConfig"
NO_LABELS = Options(admission=AdmissionOptions(label_multi_zonal=False))


def labelled(value: str | None) -> dict[str, Any]:
    return {"labels": {} if value is None else {names.MULTI_ZONAL: value}}


def seed(zones: str = "abc", label: str | None = None) -> dict[str, Any]:
    return make_seed(zones=zones, metadata=labelled(label))


def managed(zones: str = "abc", label: str | None = None) -> dict[str, Any]:
    return make_managed_seed(template=make_seed_template(zones=zones, metadata=labelled(label)))


@pytest.mark.parametrize(
    ("given", "around", "options", "expected"),
    [
        pytest.param(
            None, [managed(), make_seed_shoot(zones="abc")], None, "true", id="a shoot of 3 zones"
        ),
        pytest.param(
            None, [managed(), make_seed_shoot(zones="ab")], None, None, id="a shoot of 2 zones"
        ),
        pytest.param(
            "false", [managed(), make_seed_shoot(zones="abc")], None, "false", id="labelled false"
        ),
        pytest.param(None, [], None, None, id="a seed without a ManagedSeed"),
        pytest.param(None, [managed()], None, None, id="a shoot that is missing"),
        pytest.param(
            None,
            [managed(), make_seed_shoot(zones="abc")],
            NO_LABELS,
            None,
            id="switched off",
        ),
    ],
)
def test_the_label_is_set_on_multi_zonal_seeds(
    given: str | None, around: list[dict[str, Any]], options: Options | None, expected: str | None
) -> None:
    result, _ = mutate("seed.zones", seed(label=given), around=around, options=options)
    assert result["metadata"]["labels"].get(names.MULTI_ZONAL) == expected


@pytest.mark.parametrize(
    ("label", "around", "refused"),
    [
        pytest.param("true", [managed(), make_seed_shoot(zones="abc")], False, id="3 zones"),
        pytest.param("true", [managed(), make_seed_shoot(zones="ab")], True, id="2 zones"),
        pytest.param("true", [managed(), make_seed_shoot(zones="")], True, id="no zones"),
        pytest.param("false", [managed(), make_seed_shoot(zones="ab")], False, id="label is false"),
        pytest.param(None, [managed(), make_seed_shoot(zones="ab")], False, id="no label"),
        pytest.param("true", [], False, id="nobody manages it"),
        pytest.param("true", [managed()], False, id="its shoot is missing"),
    ],
)
def test_the_label_needs_a_shoot_with_three_zones(
    label: str | None, around: list[dict[str, Any]], refused: bool
) -> None:
    for old in (None, seed(label="false")):
        result = validate("seed.zones", seed(label=label), old, around=around)
        assert result.refused == ({(LABEL, "Forbidden")} if refused else set())


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        pytest.param(("ab", "true"), ("ab", "true"), False, id="as it is stored"),
        pytest.param(("ab", "true"), ("a", "true"), False, id="with a zone less"),
        pytest.param(("ab", "true"), ("abc", "true"), True, id="with a zone more"),
        pytest.param(("ab", None), ("ab", "true"), True, id="labelled anew"),
        pytest.param(("ab", "false"), ("ab", "true"), True, id="relabelled"),
    ],
)
def test_a_stored_label_on_too_few_zones_is_a_warning(
    old: tuple[str, str | None], new: tuple[str, str | None], refused: bool
) -> None:
    shoot = make_seed_shoot(zones="ab")
    result = validate("seed.zones", seed(*new), seed(*old), around=[managed(), shoot])
    assert (result.fields, result.warned) == (({LABEL}, set()) if refused else (set(), {LABEL}))
    result = validate("seed.zones", managed(*new), managed(*old), around=[shoot])
    field = {f"{TEMPLATE}.{LABEL}"}
    assert (result.fields, result.warned) == ((field, set()) if refused else (set(), field))


def test_a_stored_label_is_rejected_for_another_shoot() -> None:
    old = make_managed_seed(
        shoot={"name": "other"}, template=make_seed_template(zones="ab", metadata=labelled("true"))
    )
    shoot = make_seed_shoot(zones="ab")
    result = validate("seed.zones", managed("ab", "true"), old, around=[shoot])
    assert result.fields == {f"{TEMPLATE}.{LABEL}"}


def test_zones_of_all_pools_count() -> None:
    pools = [make_worker("a", "a"), make_worker("b", "b"), make_worker("c", "cb")]
    shoot = make_seed_shoot(provider={"workers": pools})
    assert validate("seed.zones", seed(label="true"), around=[managed(), shoot]).refused == set()


@pytest.mark.parametrize("hosts", [False, True], ids=["without shoots", "with shoots"])
@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        pytest.param(("abc", None), ("abcd", None), set(), id="a zone more"),
        pytest.param(("abc", "true"), ("abc", None), set(), id="the label gone, the zones there"),
        pytest.param(("abc", None), ("abc", "false"), {LABEL}, id="denied by label"),
        pytest.param(("abc", "true"), ("abc", "false"), {LABEL}, id="the label turned"),
        pytest.param(("abc", None), ("ab", None), {ZONES}, id="too few zones left"),
        pytest.param(("abc", "true"), ("ab", "false"), {LABEL, ZONES}, id="both"),
        pytest.param(("abc", "false"), ("abc", None), set(), id="becoming multi-zonal"),
        pytest.param(
            ("ab", "true"), ("ab", None), set(), id="too few zones, whatever the label was"
        ),
        pytest.param(("abc", "false"), ("abc", "false"), set(), id="never was, and is not"),
    ],
)
def test_multi_zonal_seeds_stay_multi_zonal(
    old: tuple[str, str | None], new: tuple[str, str | None], fields: set[str], hosts: bool
) -> None:
    around = [make_shoot(spec={"seedName": "seed"})] if hosts else []
    result = validate("seed.zones", seed(*new), seed(*old), around=around)
    assert result.refused == {(field, "Forbidden") for field in fields}


@pytest.mark.parametrize(
    ("old", "new", "hosts", "refused"),
    [
        pytest.param("ab", "a", False, False, id="gone from an empty seed"),
        pytest.param("ab", "a", True, True, id="gone from under shoots"),
        pytest.param("abcd", "abc", True, True, id="gone, though three are left"),
        pytest.param("ab", "abc", True, False, id="added"),
        pytest.param("ab", "ba", True, False, id="reordered"),
    ],
)
def test_zones_in_use_cannot_be_removed(old: str, new: str, hosts: bool, refused: bool) -> None:
    around = [make_shoot(status={"seedName": "seed"})] if hosts else []
    result = validate("seed.zones", seed(new), seed(old), around=around)
    assert result.refused == ({(ZONES, "Forbidden")} if refused else set())


@pytest.mark.parametrize(
    ("zones", "label", "refused"),
    [("abc", "true", False), ("ab", "true", True), ("ab", None, False)],
)
def test_the_label_of_a_template_is_validated_too(
    zones: str, label: str | None, refused: bool
) -> None:
    result = validate("seed.zones", managed(zones, label), around=[make_seed_shoot(zones=zones)])
    assert result.refused == ({(f"{TEMPLATE}.{LABEL}", "Forbidden")} if refused else set())


@pytest.mark.parametrize(
    ("old", "new", "fields"),
    [
        pytest.param(("abc", None), ("abc", "false"), {f"{TEMPLATE}.{LABEL}"}, id="by label"),
        pytest.param(("abc", None), ("ab", None), {f"{TEMPLATE}.{ZONES}"}, id="by zones"),
        pytest.param(("ab", None), ("abc", None), set(), id="becoming multi-zonal"),
    ],
)
def test_multi_zonal_templates_stay_multi_zonal(
    old: tuple[str, str | None], new: tuple[str, str | None], fields: set[str]
) -> None:
    result = validate(
        "seed.zones", managed(*new), managed(*old), around=[make_seed_shoot(zones="abc")]
    )
    assert result.refused == {(field, "Forbidden") for field in fields}


def test_the_template_in_a_gardenlet_too() -> None:
    template = make_seed_template(zones="ab", metadata=labelled("true"))
    obj = make_managed_seed(gardenlet=None, seedTemplate=template)
    result = validate("seed.zones", obj, around=[make_seed_shoot(zones="ab")])
    assert result.fields == {f"spec.seedTemplate.{LABEL}"}
    bare = make_managed_seed(gardenlet=None)
    assert validate("seed.zones", bare).refused == set()
