"""How many shoots count on a seed: those it carries and those that were promised to it."""

from webhook.api.core import ConfigMap
from webhook.api.meta import ObjectKey
from webhook.api.shoots import Shoot
from webhook.domain import usage
from webhook.scheduling import ledger
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_USAGE


def count(seed: str, snapshot: Snapshot) -> int:
    """Count the shoots that a seed carries."""
    return int(snapshot.total(SEED_USAGE, seed).get(usage.SHOOTS, 0))


def count_all(seed: str, snapshot: Snapshot) -> int:
    """Count also the shoots that are on their way to a seed, which the cache may not show yet.

    It takes a look at the seed's ledger in the API server, so it is for seeds that may go.
    """
    key = ObjectKey(snapshot.options.namespace, ledger.name_of(seed))
    found = snapshot.look_up(ConfigMap, key)
    if found is None:
        return count(seed, snapshot)
    promised = ledger.outstanding(ledger.read(found), lambda shoot: snapshot.get(Shoot, shoot))
    return count(seed, snapshot) + int(promised.get(usage.SHOOTS, 0))
