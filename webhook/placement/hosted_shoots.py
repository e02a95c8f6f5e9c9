"""The number of shoots on a seed: those it hosts and those that are being placed on it."""

from webhook.api.core import ConfigMap
from webhook.api.shoots import Shoot
from webhook.domain.seeds import shoot_counts, usage
from webhook.kube.meta import ObjectKey
from webhook.scheduling import ledger
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_USAGE


def count(seed: str, snapshot: Snapshot) -> int:
    """Count the shoots that a seed hosts."""
    return int(snapshot.total(SEED_USAGE, seed).get(usage.SHOOTS, 0))


def count_with_pending(seed: str, snapshot: Snapshot) -> int:
    """Count the shoots of a seed and those being placed on it, which the cache may not show yet.

    It reads the seed's ledger from the API server, so call it only for seeds that may be removed.
    """
    key = ObjectKey(snapshot.options.namespace, ledger.name_of(seed))
    found = snapshot.look_up(ConfigMap, key)
    if found is None:
        return count(seed, snapshot)
    pending = ledger.outstanding(ledger.read(found), lambda shoot: snapshot.get(Shoot, shoot))
    return count(seed, snapshot) + int(pending.get(usage.SHOOTS, 0))


def watched_state(shoot: Shoot | None) -> tuple[object, ...] | None:
    """Return what the controllers of a seed watch of a shoot on it; None if there is no shoot."""
    if shoot is None:
        return None
    return usage.seeds_of(shoot), shoot.is_deleting, shoot_counts.is_hosted_ready(shoot)
