"""seed.deletion and managedseed.deletion: a seed with shoots on it cannot be deleted."""

from collections.abc import Iterator

from webhook.admission.decision import Finding, Request
from webhook.admission.rules import in_use
from webhook.state.snapshot import Snapshot


def validate(request: Request, snapshot: Snapshot) -> Iterator[Finding]:
    """Refuse while a shoot's spec or status names the seed; a ManagedSeed has its seed's name."""
    shoots = in_use.hosted(snapshot, request.key.name)
    if shoots:
        yield Finding.denied(
            f"seed {request.key.name} still hosts {in_use.listed(shoots)}, "
            "delete them or move them to another seed first"
        )
