"""seed.deletion and managedseed.deletion: a seed with shoots cannot be deleted."""

from typing import Any

import pytest

from tests.support.admission import validate
from tests.support.builders import make_managed_seed, make_seed, make_shoot


def on(wanted: str | None, actual: str | None, name: str = "a") -> dict[str, Any]:
    return make_shoot(
        name,
        spec={"seedName": wanted} if wanted else {},
        status={"seedName": actual} if actual else {},
    )


SUBJECTS = [
    pytest.param("seed.deletion", make_seed("seed"), id="a seed"),
    pytest.param("managedseed.deletion", make_managed_seed("seed"), id="a managed seed"),
]


@pytest.mark.parametrize(("policy", "obj"), SUBJECTS)
@pytest.mark.parametrize(
    ("shoots", "refused"),
    [
        pytest.param([], False, id="empty"),
        pytest.param([on("other", "other")], False, id="shoots elsewhere"),
        pytest.param([on("seed", None)], True, id="one that is to come"),
        pytest.param([on(None, "seed")], True, id="one that is there"),
        pytest.param([on("other", "seed")], True, id="one that is leaving"),
        pytest.param([on("seed", "other")], True, id="one that is arriving"),
    ],
)
def test_deletion(
    policy: str, obj: dict[str, Any], shoots: list[dict[str, Any]], refused: bool
) -> None:
    result = validate(policy, old=obj, around=shoots)
    assert result.refused == ({("", "Denied")} if refused else set())


def test_the_message_has_the_number_and_the_first_five_names() -> None:
    shoots = [on("seed", "seed", name) for name in "gfedcba"]
    message = validate("seed.deletion", old=make_seed("seed"), around=shoots).messages[0]
    assert "7 shoots (garden-dev/a, garden-dev/b, garden-dev/c, garden-dev/d, garden-dev/e" in (
        message
    )
    assert "and 2 more" in message
    one = validate("seed.deletion", old=make_seed("seed"), around=shoots[:1]).messages[0]
    assert "1 shoot (garden-dev/g)" in one
