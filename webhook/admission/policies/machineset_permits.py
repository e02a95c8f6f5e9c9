"""machineset.permits: the sets of an adaptive pool grow and shrink by the pool's permits.

machine-controller-manager knows only zones, and passes its own surge now and then. Admission of
what it writes into machine sets is the one place where a bound over all zones can hold.
"""

from webhook.admission.decision import Grant, Request
from webhook.api.machines import MachineDeployment, MachineSet
from webhook.api.meta import Draft, ObjectKey
from webhook.domain import fleets, pools
from webhook.domain.pools import PoolKey
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> Grant | None:
    """Ask for the size that the set shall have, unless it is what it has or nobody counts it."""
    wanted = request.object_as(MachineSet)
    old = request.old_as(MachineSet)
    size = old.spec.replicas if old is not None else 0
    if wanted.spec.replicas == size:
        return None
    name = _deployment(wanted, request, snapshot)
    if not name:
        return None
    deployment = snapshot.get(MachineDeployment, ObjectKey(request.key.namespace, name))
    pool = PoolKey(request.key.namespace, "", "")
    if deployment is not None:
        # One that memory does not know yet is looked up by whoever takes the permit.
        found = _pool(deployment, snapshot)
        if found is None:
            return None
        pool = found
    uid = fleets.identity(wanted) or request.key.name
    return Grant(pool, name, uid, size, wanted.spec.replicas)


def _deployment(wanted: MachineSet, request: Request, snapshot: Snapshot) -> str:
    if request.subresource:
        # A scale knows its set by name only.
        found = snapshot.look_up(MachineSet, request.key)
        return fleets.deployment_of(found) if found is not None else ""
    return fleets.deployment_of(wanted)


def _pool(deployment: MachineDeployment, snapshot: Snapshot) -> PoolKey | None:
    if not fleets.is_counted(deployment):
        return None
    return pools.key_of(deployment, pools.discoveries(snapshot.options.nodegroups.discovery))
