"""Objects with one large field, whichever it is: each review gets a short response soon."""

from typing import Any

import msgspec
import pytest

from tests.properties.test_admission import decide
from tests.support.campaigns import IN_SOAK
from tests.support.full_objects import enlarge, make_full
from tests.support.reviews import make_review
from webhook.admission import response, review
from webhook.admission.response import MAX_CAUSES
from webhook.api.core import HorizontalPodAutoscaler
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.machines import MachineDeployment
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.shoots import Shoot

SIZE = 3_000_000 if IN_SOAK else 100_000
"""As large as API servers accept, if there is time."""
MAX_RESPONSE = 1000 * MAX_CAUSES
KINDS = [
    kind_of_model(model)
    for model in (Shoot, ScheduledScaling, Tortoise, HorizontalPodAutoscaler, MachineDeployment)
]
"""What users of a namespace write."""


@pytest.mark.timeout(300 if IN_SOAK else 120)
@pytest.mark.parametrize("verb", ["mutate", "validate"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_large_field_gets_a_short_response(kind: Kind, verb: str) -> None:
    """If the cost grows with the square of the size, one field takes longer than the test may."""
    full = make_full(kind)
    for field, large in enlarge(full, SIZE):
        body = msgspec.json.encode(make_review(large, None, "CREATE"))
        request = review.decode_whole(body)
        encoded = response.encode(request, decide(verb, request))
        found: dict[str, Any] = msgspec.json.decode(encoded)["response"]
        assert found["uid"] == request.uid, field
        assert len(encoded) < MAX_RESPONSE or "patch" in found, field
