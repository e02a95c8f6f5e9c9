"""machinedeployment.rolling: a zone of an adaptive pool neither rolls nor grows by a static share.

Actuators write each zone's share of surge, unavailability and size at every reconciliation. A
share of 0/0 would never roll, and a zone cut to its share would lose live nodes.
"""

import re
from functools import lru_cache

from webhook.admission.decision import Grant, Request
from webhook.api import decode
from webhook.api.machines import MachineDeployment
from webhook.api.meta import Draft, Raw
from webhook.domain import poolfields
from webhook.domain.pools import Pool
from webhook.state import fleets
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> Grant | None:
    """Give a zone the pool's full numbers, keep its size from actuators, and bound its growth."""
    if request.user.username == snapshot.options.user:
        return None
    deployment = _deployment(draft, request, snapshot)
    pool = fleets.pool_of(deployment, snapshot) if deployment is not None else None
    if pool is None or not pool.is_adaptive:
        return None
    if not request.subresource:
        _set_strategy(draft, pool)
    old = request.old_raw()
    size, asked = _replicas(old), _replicas(draft)
    if old is not None and _keeps_size(old, draft, request, snapshot):
        asked = draft["spec"]["replicas"] = size
    if asked <= size:
        return None
    version = ((old or {}).get("metadata") or {}).get("resourceVersion", "")
    return Grant(pool.key, request.key.name, "", size, asked, version)


def _deployment(draft: Draft, request: Request, snapshot: Snapshot) -> MachineDeployment | None:
    if request.subresource:
        # A scale says nothing but how many.
        return snapshot.look_up(MachineDeployment, request.key)
    return decode.convert(MachineDeployment, draft)


def _set_strategy(draft: Draft, pool: Pool) -> None:
    """Write the pool's numbers: whether a zone may use them is decided set by set."""
    strategy = draft["spec"].setdefault("strategy", {})
    if strategy.get("type") not in (None, "", "RollingUpdate"):
        return
    permits = pool.permits
    strategy["type"] = "RollingUpdate"
    strategy["rollingUpdate"] = {
        **(strategy.get("rollingUpdate") or {}),
        "maxSurge": permits.surge,
        "maxUnavailable": permits.unavailable,
    }


def _keeps_size(old: Raw, new: Raw, request: Request, snapshot: Snapshot) -> bool:
    """Tell whether an actuator's number is to be ignored: it means only a zone's static share."""
    users = snapshot.options.nodegroups.actuators
    if not any(_pattern(user).fullmatch(request.user.username) for user in users):
        return False
    if not _replicas(new) or not _replicas(old):
        return False  # hibernation and its end are meant
    return not poolfields.changed(old, new)


def _replicas(raw: Raw | None) -> int:
    found = ((raw or {}).get("spec") or {}).get("replicas")
    return found if isinstance(found, int) else 0


@lru_cache(maxsize=64)
def _pattern(user: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, user.split("*"))), re.DOTALL)
