"""machinedeployment.pool: every zone carries the numbers of its whole pool, and sane ones."""

from collections.abc import Iterable

from webhook.admission.decision import Finding, Request
from webhook.api.core import CustomResourceDefinition
from webhook.api.extensions import Cluster
from webhook.api.machines import MachineDeployment
from webhook.api.meta import Draft, ObjectKey
from webhook.domain import definitions, poolfields
from webhook.state.indexes import WORKERS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot

MINIMUM = "spec.poolMinimum"
MAXIMUM = "spec.poolMaximum"


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> None:
    """Fill in what the shoot's Worker and Cluster say of the pool; beside a Gardener on request."""
    deployment = request.object_as(MachineDeployment)
    namespace = request.key.namespace
    workers = snapshot.by_index(WORKERS_BY_NAMESPACE, namespace)
    cluster = snapshot.get(Cluster, ObjectKey("", namespace))
    beside = snapshot.options.beside_gardener
    if beside and not definitions.is_asked_for(deployment, cluster):
        return
    wanted = definitions.wanted(deployment, workers[0] if workers else None, cluster)
    if definitions.missing(deployment, workers[0] if workers else None, cluster):
        key = ObjectKey("", poolfields.DEFINITION)
        kept = poolfields.served(snapshot.get(CustomResourceDefinition, key))
        poolfields.fill(draft, wanted, kept)


def validate(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
    """Refuse bounds that contradict each other, and new pools with zones that can have no node.

    Everything else that does not fit is left out of the pools and named by an Event: objects
    change one at a time, so what two of them say together may be wrong for a while.
    """
    deployment = request.object_as(MachineDeployment)
    minimum = definitions.number(deployment, "poolMinimum")
    maximum = definitions.number(deployment, "poolMaximum")
    zones = definitions.number(deployment, "zoneCount")
    if maximum is None:
        return
    if minimum is not None and minimum > maximum:
        yield Finding.invalid(
            MINIMUM, minimum, f"must not be above the pool's maximum of {maximum}"
        )
    if zones is not None and maximum < zones:
        message = f"the pool has {zones} zones, allow at least as many nodes"
        if request.operation == "CREATE":
            yield Finding.invalid(MAXIMUM, maximum, message)
        else:
            yield Finding.warning(MAXIMUM, message)
