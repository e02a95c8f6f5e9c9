"""machinedeployment.pool: every MachineDeployment has valid bounds of its whole pool."""

from collections.abc import Iterable
from typing import Final

from webhook.admission.decision import Finding, Request
from webhook.api.core import CustomResourceDefinition
from webhook.api.extensions import Cluster
from webhook.api.machines import MachineDeployment
from webhook.domain.pools import pool_definition, pool_fields
from webhook.kube.meta import Draft, ObjectKey
from webhook.state.indexes import WORKERS_BY_NAMESPACE
from webhook.state.snapshot import Snapshot

_MINIMUM: Final = "spec.poolMinimum"
_MAXIMUM: Final = "spec.poolMaximum"


def mutate(draft: Draft, request: Request, snapshot: Snapshot) -> None:
    """Set the fields of the pool from the shoot's Worker and Cluster; opt-in beside a Gardener."""
    deployment = request.object_as(MachineDeployment)
    namespace = request.key.namespace
    workers = snapshot.by_index(WORKERS_BY_NAMESPACE, namespace)
    cluster = snapshot.get(Cluster, ObjectKey("", namespace))
    beside = snapshot.options.beside_gardener
    if beside and not pool_definition.is_sizing_requested(deployment, cluster):
        return
    wanted = pool_definition.wanted_fields(deployment, workers[0] if workers else None, cluster)
    if pool_definition.missing_annotations(deployment, workers[0] if workers else None, cluster):
        key = ObjectKey("", pool_fields.CRD_NAME)
        kept = pool_fields.served_fields(snapshot.get(CustomResourceDefinition, key))
        pool_fields.set_fields(draft, wanted, kept)


def validate(request: Request, snapshot: Snapshot) -> Iterable[Finding]:
    """Reject bounds that contradict each other, and new pools with zones that can have no node.

    Other conflicts exclude the zone from its pool, with an Event: objects change one at a time, so
    two of them may contradict each other for a while.
    """
    deployment = request.object_as(MachineDeployment)
    minimum = pool_definition.read_number(deployment, "poolMinimum")
    maximum = pool_definition.read_number(deployment, "poolMaximum")
    zones = pool_definition.read_number(deployment, "zoneCount")
    if maximum is None:
        return
    if minimum is not None and minimum > maximum:
        yield Finding.invalid(
            _MINIMUM, minimum, f"must not be above the pool's maximum of {maximum}"
        )
    if zones is not None and maximum < zones:
        message = f"the pool has {zones} zones, allow at least as many nodes"
        if request.operation == "CREATE":
            yield Finding.invalid(_MAXIMUM, maximum, message)
        else:
            yield Finding.warning(_MAXIMUM, message)
