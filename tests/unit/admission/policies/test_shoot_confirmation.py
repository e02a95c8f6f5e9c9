"""shoot.confirmation: a shoot is deleted only if its deletion is confirmed."""

from typing import Any

import pytest

from tests.support.admission import validate
from tests.support.builders import make_shoot
from webhook.api import names
from webhook.domain.options import AdmissionOptions, Options

STRICT = Options(admission=AdmissionOptions(modes={"shoot.confirmation": "deny"}))
FIELD = f"metadata.annotations[{names.DELETION_CONFIRMATION}]"


def shoot(**annotations: str) -> dict[str, Any]:
    return make_shoot(metadata={"annotations": annotations})


@pytest.mark.parametrize(
    ("annotations", "confirmed"),
    [
        pytest.param({names.DELETION_CONFIRMATION: "true"}, True, id="confirmed"),
        pytest.param({}, False, id="not confirmed"),
        pytest.param({names.DELETION_CONFIRMATION: "yes"}, False, id="confirmed by another word"),
    ],
)
def test_deletion(annotations: dict[str, str], confirmed: bool) -> None:
    result = validate("shoot.confirmation", old=shoot(**annotations), options=STRICT)
    assert result.refused == (set() if confirmed else {(FIELD, "Denied")})


def test_it_warns_by_default() -> None:
    result = validate("shoot.confirmation", old=shoot())
    assert (result.refused, result.warned) == (set(), {FIELD})
    assert (
        f"kubectl annotate shoot shoot -n garden-dev {names.DELETION_CONFIRMATION}=true"
        in (result.messages[0])
    )
