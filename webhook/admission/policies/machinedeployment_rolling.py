"""machinedeployment.rolling: adaptive pools roll and grow by the numbers of the whole pool.

Actuators write each zone's share of surge, unavailability and replicas at every reconciliation. A
share of 0/0 would never roll, and a zone scaled down to its share would lose running nodes, even
when the maximum of the pool is raised.
"""

import re
from functools import lru_cache

from webhook.admission.decision import Grant, Request
from webhook.api import decode
from webhook.api.machines import MachineDeployment
from webhook.domain.pools import even_sizes, pool_definition
from webhook.domain.pools.discovery import Pool
from webhook.domain.pools.even_sizes import ZoneRange
from webhook.kube.meta import Draft, Raw
from webhook.state import worker_pools
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> Grant | None:
    """Set the pool's surge and unavailability, ignore replicas of actuators, and limit growth."""
    if request.user.username == snapshot.options.user:
        return None
    deployment = _deployment(draft, request, snapshot)
    pool = worker_pools.pool_of(deployment, snapshot) if deployment is not None else None
    if deployment is None or pool is None or not pool.is_adaptive:
        return None
    if not request.subresource:
        _set_strategy(draft, pool)
    old = request.old_raw()
    size, requested = _replicas(old), _replicas(draft)
    # Hibernation and wake-up are intended.
    if size and requested and _is_actuator(request, snapshot):
        requested = draft["spec"]["replicas"] = _present_size(deployment, size, pool)
    if requested <= size:
        return None
    version = ((old or {}).get("metadata") or {}).get("resourceVersion", "")
    return Grant(pool.key, request.key.name, "", size, requested, version)


def _deployment(draft: Draft, request: Request, snapshot: Snapshot) -> MachineDeployment | None:
    if request.subresource:
        # A Scale has nothing but replicas.
        return snapshot.look_up(MachineDeployment, request.key)
    return decode.convert(MachineDeployment, draft)


def _set_strategy(draft: Draft, pool: Pool) -> None:
    """Set the numbers of the pool; machineset.permits decides which zone may use them.

    They are numbers, because a percentage would be one of the zone again.
    """
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


def _is_actuator(request: Request, snapshot: Snapshot) -> bool:
    """Return whether the replicas of a user are only a zone's static share."""
    users = snapshot.options.nodegroups.actuators
    return any(_pattern(user).fullmatch(request.user.username) for user in users)


def _present_size(deployment: MachineDeployment, size: int, pool: Pool) -> int:
    """Return the present size of a zone, cut only if the pool is above the maximum as written.

    All zones are cut evenly by the same numbers, so it does not matter which is written first. The
    maximum is that of the written zone: while a maximum is raised, the pool still has the old one.
    """
    zones = [
        ZoneRange(zone.name, size if zone.name == deployment.name else zone.replicas, size)
        for zone in pool.zones
    ]
    maximum = pool_definition.read(deployment).maximum
    return even_sizes.shrunk(zones, maximum)[deployment.name]


def _replicas(raw: Raw | None) -> int:
    found = ((raw or {}).get("spec") or {}).get("replicas")
    return found if isinstance(found, int) else 0


@lru_cache(maxsize=64)
def _pattern(user: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, user.split("*"))), re.DOTALL)
