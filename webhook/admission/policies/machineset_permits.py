"""machineset.permits: MachineSets of an adaptive pool are scaled within the permits of the pool.

machine-controller-manager scales each zone by itself and sometimes exceeds its own surge. Admission
of its writes to MachineSets is the only place to enforce a limit over all zones.
"""

from webhook.admission.decision import Grant, Request
from webhook.api.machines import MachineDeployment, MachineSet
from webhook.domain.pools import discovery, machine_sets
from webhook.domain.pools.discovery import PoolKey
from webhook.kube.meta import Draft, ObjectKey
from webhook.state.snapshot import Snapshot


def mutate(_draft: Draft, request: Request, snapshot: Snapshot) -> Grant | None:
    """Return a Grant for the requested size, unless it is unchanged or the set is not counted."""
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
        # One that the cache does not have yet is read by the code that takes the permit.
        found = _pool(deployment, snapshot)
        if found is None:
            return None
        pool = found
    uid = machine_sets.identity(wanted) or request.key.name
    return Grant(pool, name, uid, size, wanted.spec.replicas)


def _deployment(wanted: MachineSet, request: Request, snapshot: Snapshot) -> str:
    if request.subresource:
        # A Scale identifies its MachineSet by name only.
        found = snapshot.look_up(MachineSet, request.key)
        return machine_sets.deployment_of(found) if found is not None else ""
    return machine_sets.deployment_of(wanted)


def _pool(deployment: MachineDeployment, snapshot: Snapshot) -> PoolKey | None:
    if not machine_sets.has_permits(deployment):
        return None
    return discovery.key_of(
        deployment, discovery.discoveries(snapshot.options.nodegroups.discovery)
    )
