"""How many shoots count on a seed: those it carries and those that were promised to it."""

from webhook.api.core import ConfigMap
from webhook.api.meta import ObjectKey
from webhook.api.shoots import Shoot
from webhook.domain import usage
from webhook.scheduling import ledger
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_USAGE


def count(seed: str, snapshot: Snapshot) -> int:
    """Count the shoots on a seed and those on their way, which the cache may not show yet."""
    carried = snapshot.total(SEED_USAGE, seed).get(usage.SHOOTS, 0)
    key = ObjectKey(snapshot.options.namespace, ledger.name_of(seed))
    found = snapshot.get(ConfigMap, key)
    if found is None:
        return int(carried)
    promised = ledger.outstanding(ledger.read(found), lambda shoot: snapshot.get(Shoot, shoot))
    return int(carried + promised.get(usage.SHOOTS, 0))
