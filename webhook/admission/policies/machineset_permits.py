"""machineset.permits: the sets of an adaptive pool grow and shrink by the pool's permits.

machine-controller-manager knows only zones, and passes its own surge now and then. Admission of
what it writes into machine sets is the one place where a bound over all zones can hold.
"""

from webhook.admission.decision import Grant, Request
from webhook.api.machines import MachineDeployment, MachineSet
from webhook.api.meta import Draft, ObjectKey
from webhook.domain import definitions, fleets, pools
from webhook.domain.definitions import DefinitionError
from webhook.state.snapshot import Snapshot


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> Grant | None:
    """Ask for the size that the set shall have, unless it is what it has or nobody counts it."""
    wanted = request.object_as(MachineSet)
    old = request.old_as(MachineSet)
    size = old.spec.replicas if old is not None else 0
    if wanted.spec.replicas == size:
        return None
    deployment = _deployment(wanted, request, snapshot)
    if deployment is None or not _is_counted(deployment):
        return None
    specs = pools.discoveries(snapshot.options.nodegroups.discovery)
    pool = pools.key_of(deployment, specs)
    if pool is None:
        return None
    uid = fleets.identity(wanted) or request.key.name
    return Grant(pool, deployment.name, uid, size, wanted.spec.replicas)


def _deployment(
    wanted: MachineSet, request: Request, snapshot: Snapshot
) -> MachineDeployment | None:
    namespace = request.key.namespace
    if request.subresource:
        # A scale knows its set by name only.
        found = snapshot.look_up(MachineSet, request.key)
        if found is None:
            return None
        wanted = found
    name = fleets.deployment_of(wanted)
    return snapshot.look_up(MachineDeployment, ObjectKey(namespace, name)) if name else None


def _is_counted(deployment: MachineDeployment) -> bool:
    """Only rolling updates of adaptive pools have permits; other updates cannot wait for one."""
    if deployment.spec.strategy.type not in ("", "RollingUpdate"):
        return False
    try:
        return definitions.read(deployment).strategy == "Adaptive"
    except DefinitionError:
        return False
