"""Reads the worker pools of a seed from its API server, as rows of a table."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from webhook.api import names
from webhook.api.decode import decode
from webhook.api.extensions import Cluster, Worker
from webhook.api.machines import Machine, MachineClass, MachineDeployment, MachineSet
from webhook.api.pool_records import POOL_RECORD
from webhook.cluster.client import Client
from webhook.cluster.errors import NotFoundError
from webhook.cluster.requests import Selection
from webhook.domain.options import NodeGroupsOptions, Options
from webhook.domain.pools.discovery import Pool
from webhook.domain.pools.node_groups import ZoneGroup
from webhook.kube import timestamps
from webhook.kube.meta import Object
from webhook.nodegroups.views import View, build_view
from webhook.state.snapshot import Snapshot

_KINDS: Final = (MachineDeployment, MachineSet, Machine, MachineClass, Worker)
_FIELDS: Final[Mapping[str, str]] = {
    "minimum": "poolMinimum",
    "maximum": "poolMaximum",
    "surge": "poolMaxSurge",
    "unavailable": "poolMaxUnavailable",
    "strategy": "sizingStrategy",
    "zones": "zoneCount",
}
"""Parts of a pool's definition, and the fields of a MachineDeployment that hold them."""


class GroupRow(NamedTuple):
    """One zone of a pool."""

    namespace: str
    pool: str
    zone: str
    minimum: int
    maximum: int
    assigned: int
    ready: int
    health: str
    bad_until: datetime | None
    is_rolling: bool
    strategy: str
    permits: str
    """How much of the pool's surge and unavailability is in use; in the pool's first row."""

    @property
    def json(self) -> dict[str, Any]:
        """Return the row in the JSON of `-o json`."""
        until = timestamps.format_time(self.bad_until) if self.bad_until else None
        return {
            "namespace": self.namespace,
            "pool": self.pool,
            "zone": self.zone,
            "min": self.minimum,
            "max": self.maximum,
            "assigned": self.assigned,
            "ready": self.ready,
            "health": self.health,
            "badUntil": until,
            "rolling": self.is_rolling,
            "strategy": self.strategy,
            "permits": self.permits,
        }


class Disagreement(NamedTuple):
    """A field of a pool that its zones define differently."""

    namespace: str
    pool: str
    field: str
    values: tuple[tuple[str, str], ...]
    """Each zone and its value."""
    used: str
    """The value that counts."""

    @property
    def text(self) -> str:
        """The disagreement as a line of the table."""
        listed = ", ".join(f"{value} in {zone}" for zone, value in self.values)
        where = f"{self.namespace}/{self.pool}: {self.field}"
        return f"zones disagree: {where} is {listed}; {self.used} counts, set one value in all"

    @property
    def json(self) -> dict[str, Any]:
        """Return the disagreement in the JSON of `-o json`."""
        return {**self._asdict(), "values": dict(self.values)}


async def read(
    client: Client, namespace: str, own: str, discovery: tuple[str, ...], now: datetime
) -> Snapshot:
    """Read all objects that pools consist of, in one namespace or in all."""
    objects: list[Object] = []
    for model in _KINDS:
        objects += await _list(client, model, namespace)
    objects += await _list(client, Cluster, "")
    records = Selection(POOL_RECORD, own, labels=names.POOL_LABEL)
    async for page in client.pages(records):
        objects += [decode(POOL_RECORD.model, item) for item in page.items]
    options = Options(namespace=own, nodegroups=NodeGroupsOptions(discovery=discovery))
    return Snapshot.of(objects, taken_at=now, options=options)


def views_of(snapshot: Snapshot) -> list[View]:
    """Build the view of each namespace with node groups or unusable MachineDeployments."""
    found = sorted({each.namespace for each in snapshot.list(MachineDeployment)})
    views = [build_view(snapshot, namespace) for namespace in found]
    return [view for view in views if view.groups or view.unusable]


def rows_of(snapshot: Snapshot, view: View) -> Iterable[GroupRow]:
    """Yield the groups of a namespace as rows, ordered by pool and zone."""
    listed: set[Pool] = set()
    for group in view.groups.values():
        first = group.pool not in listed
        listed.add(group.pool)
        members = [each for each in view.groups.values() if each.pool == group.pool]
        yield GroupRow(
            view.namespace,
            group.pool.key.name,
            group.zone.name,
            *group.bounds,
            group.target,
            group.ready,
            group.health,
            group.bad_until,
            group.is_rolling,
            group.pool.strategy,
            _permits(snapshot, members) if first and group.pool.is_adaptive else "",
        )


def disagreements_of(view: View) -> Iterable[Disagreement]:
    """Yield the fields in which zones of a pool differ, pools by name."""
    for pool in view.pools:
        for name in pool.disagreements:
            values = tuple(
                (zone.name, _shown(getattr(definition, name)))
                for zone, definition in zip(pool.zones, pool.definitions, strict=True)
            )
            used = _shown(pool.zone_count if name == "zones" else getattr(pool, name))
            yield Disagreement(view.namespace, pool.key.name, _FIELDS[name], values, used)


def _shown(value: int | str | None) -> str:
    return "unset" if value is None else str(value)


def _permits(snapshot: Snapshot, members: Sequence[ZoneGroup]) -> str:
    """Describe how much of surge and unavailability all zones use together."""
    allowed = members[0].pool.permits
    surge = unavailable = 0
    for group in members:
        deployment = _deployment(snapshot, group)
        sets = snapshot.children(MachineSet, deployment) if deployment is not None else ()
        surge += max(0, sum(each.spec.replicas for each in sets) - group.target)
        unavailable += max(0, group.target - group.ready)
    return f"surge {surge}/{allowed.surge}, out {unavailable}/{allowed.unavailable}"


def _deployment(snapshot: Snapshot, group: ZoneGroup) -> MachineDeployment | None:
    found = [
        each
        for each in snapshot.list(MachineDeployment)
        if (each.namespace, each.name) == (group.pool.key.namespace, group.zone.name)
    ]
    return found[0] if found else None


async def _list(client: Client, model: type[Object], namespace: str) -> Sequence[Object]:
    try:
        return await client.list_objects(model, namespace)
    except NotFoundError:
        return ()  # the seed does not serve the kind
