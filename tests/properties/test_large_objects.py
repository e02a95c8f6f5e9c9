"""Objects with one large field, whichever it is: each review gets a short response soon."""

from typing import Any

import msgspec
import pytest

from tests.properties.test_admission import decide
from tests.support.full_objects import enlarge, make_full
from tests.support.reviews import make_review
from webhook.admission import response, review
from webhook.admission.response import MAX_CAUSES
from webhook.admission.table import POLICIES
from webhook.api.kinds import Kind, kind_of_model

SIZE = 200_000
MAX_RESPONSE = 1000 * MAX_CAUSES
KINDS = {kind.name: kind for policy in POLICIES for kind in map(kind_of_model, policy.models)}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_large_field_gets_a_short_response(kind: Kind) -> None:
    """A cost that grows with the square of a field's size takes longer than a test may."""
    full = make_full(kind)
    for field, large in enlarge(full, SIZE):
        for verb in ("mutate", "validate"):
            body = msgspec.json.encode(make_review(large, full, "UPDATE"))
            request = review.decode_whole(body)
            encoded = response.encode(request, decide(verb, request))
            found: dict[str, Any] = msgspec.json.decode(encoded)["response"]
            assert found["uid"] == request.uid, field
            assert len(encoded) < MAX_RESPONSE or "patch" in found, field
