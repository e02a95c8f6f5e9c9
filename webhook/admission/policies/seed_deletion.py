"""seed.deletion and managedseed.deletion: a seed with shoots cannot be deleted."""

from collections.abc import Iterator

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import hosted_shoots
from webhook.state.indexes import SHOOTS_BY_SEED
from webhook.state.snapshot import Snapshot


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Reject while the spec or status of a shoot names the seed, which has the object's name."""
    shoots = snapshot.by_index(SHOOTS_BY_SEED, request.key.name)
    if shoots:
        yield Finding.denied(
            f"seed {request.key.name} still hosts {hosted_shoots.describe(shoots)}, "
            "delete them or move them to another seed first"
        )
