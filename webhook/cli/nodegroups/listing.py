"""Read a seed's worker pools from its API server, and put them into rows."""

from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from webhook.api import names, timestamps
from webhook.api.decode import decode
from webhook.api.extensions import Cluster, Worker
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.machines import Machine, MachineClass, MachineDeployment, MachineSet
from webhook.api.meta import Object
from webhook.api.poolobjects import POOL_OBJECT
from webhook.cluster.client import Client
from webhook.cluster.errors import NotFoundError
from webhook.cluster.requests import Selection
from webhook.domain.groups import Group
from webhook.domain.options import NodeGroupsOptions, Options
from webhook.domain.pools import Pool
from webhook.nodegroups.views import View, look
from webhook.state.snapshot import Snapshot

_KINDS: Final = (MachineDeployment, MachineSet, Machine, MachineClass, Worker)


class Row(NamedTuple):
    """One zone of a pool, as people see it."""

    namespace: str
    pool: str
    zone: str
    minimum: int
    maximum: int
    assigned: int
    ready: int
    standing: str
    bad_until: datetime | None
    is_rolling: bool
    strategy: str
    permits: str
    """What of the pool's surge and unavailability is in use, in the pool's first row."""

    @property
    def json(self) -> dict[str, Any]:
        """Spell it for programs."""
        until = timestamps.format_time(self.bad_until) if self.bad_until else None
        return {
            "namespace": self.namespace,
            "pool": self.pool,
            "zone": self.zone,
            "min": self.minimum,
            "max": self.maximum,
            "assigned": self.assigned,
            "ready": self.ready,
            "standing": self.standing,
            "badUntil": until,
            "rolling": self.is_rolling,
            "strategy": self.strategy,
            "permits": self.permits,
        }


async def read(
    client: Client, namespace: str, own: str, discovery: tuple[str, ...], now: datetime
) -> Snapshot:
    """Read everything that pools are made of, in one namespace or in all."""
    objects: list[Object] = []
    for model in _KINDS:
        objects += [each async for each in _list(client, kind_of_model(model), namespace)]
    objects += [each async for each in _list(client, kind_of_model(Cluster), "")]
    records = Selection(POOL_OBJECT, own, labels=names.POOL_LABEL)
    objects += [each async for each in _pages(client, records)]
    options = Options(namespace=own, nodegroups=NodeGroupsOptions(discovery=discovery))
    return Snapshot.of(objects, taken_at=now, options=options)


def views_of(snapshot: Snapshot) -> list[View]:
    """Work out every namespace that has pools, or what was meant to be one."""
    found = sorted({each.namespace for each in snapshot.list(MachineDeployment)})
    views = [look(snapshot, namespace) for namespace in found]
    return [view for view in views if view.groups or view.unfit]


def rows_of(snapshot: Snapshot, view: View) -> Iterable[Row]:
    """Put the groups of a namespace into rows, in the order of pools and zones."""
    told: set[Pool] = set()
    for group in view.groups.values():
        first = group.pool not in told
        told.add(group.pool)
        members = [each for each in view.groups.values() if each.pool == group.pool]
        yield Row(
            view.namespace,
            group.pool.key.name,
            group.zone.name,
            *group.bounds,
            group.target,
            group.ready,
            group.standing,
            group.bad_until,
            group.is_rolling,
            group.pool.strategy,
            _permits(snapshot, members) if first and group.pool.is_adaptive else "",
        )


def _permits(snapshot: Snapshot, members: Sequence[Group]) -> str:
    """Tell how much of surge and unavailability all zones use together."""
    allowed = members[0].pool.permits
    surplus = lacking = 0
    for group in members:
        deployment = _deployment(snapshot, group)
        sets = snapshot.children(MachineSet, deployment) if deployment is not None else ()
        surplus += max(0, sum(each.spec.replicas for each in sets) - group.target)
        lacking += max(0, group.target - group.ready)
    return f"surge {surplus}/{allowed.surge}, out {lacking}/{allowed.unavailable}"


def _deployment(snapshot: Snapshot, group: Group) -> MachineDeployment | None:
    found = [
        each
        for each in snapshot.list(MachineDeployment)
        if (each.namespace, each.name) == (group.pool.key.namespace, group.zone.name)
    ]
    return found[0] if found else None


async def _list(client: Client, kind: Kind, namespace: str) -> AsyncIterator[Object]:
    try:
        async for each in _pages(client, Selection(kind, namespace)):
            yield each
    except NotFoundError:
        return  # a seed need not have every kind


async def _pages(client: Client, selection: Selection) -> AsyncIterator[Object]:
    token = ""
    while True:
        page = await client.page(selection, token)
        for item in page.items:
            yield decode(selection.kind.model, item)
        token = page.token
        if not token:
            return
