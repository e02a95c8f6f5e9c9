"""shoot.confirmation: a shoot is deleted only by somebody who said so."""

from typing import Any

import pytest

from tests.admission import judge
from tests.builders import make_shoot
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
    said = judge("shoot.confirmation", old=shoot(**annotations), options=STRICT)
    assert said.refused == (set() if confirmed else {(FIELD, "Denied")})


def test_it_warns_unless_the_operator_wants_more() -> None:
    said = judge("shoot.confirmation", old=shoot())
    assert (said.refused, said.warned) == (set(), {FIELD})
    assert (
        f"kubectl annotate shoot shoot -n garden-dev {names.DELETION_CONFIRMATION}=true"
        in (said.messages[0])
    )
