"""Measure the seeds of a set by one metric."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final, NamedTuple, Protocol

from webhook.api import names, quantity
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Draft, ObjectKey
from webhook.api.quantity import QuantityError
from webhook.api.seedautoscalers import Metric, ResourceMetric
from webhook.api.seeds import Seed
from webhook.domain import health
from webhook.domain.measuring import Load, Measure, Target, TargetType
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_USAGE

UTILIZATION: Final[TargetType] = "Utilization"
AVERAGE_VALUE: Final[TargetType] = "AverageValue"
_NONE: Final = Decimal(0)


class Samples(Protocol):
    """What somebody else has measured."""

    def latest(self, resource: str) -> Mapping[str, Decimal] | None:
        """Give the use of a resource by seed; None if nobody knows it now."""


class NoSamples:
    """Nobody measures but ourselves."""

    def latest(self, resource: str) -> Mapping[str, Decimal] | None:
        return None


class Member(NamedTuple):
    """A seed of a set; one that is not registered yet has none."""

    managed_seed: ManagedSeed
    seed: Seed | None

    @property
    def is_ready(self) -> bool:
        return self.seed is not None and health.is_seed_ready(self.seed)


def members(owner: ManagedSeedSet, snapshot: Snapshot) -> Sequence[Member]:
    """List the seeds of a set, less those that are on their way out."""
    found = sorted(snapshot.children(ManagedSeed, owner), key=lambda each: each.name)
    return [
        Member(each, snapshot.get(Seed, ObjectKey("", each.name)))
        for each in found
        if not each.is_deleting and names.SCALE_IN not in each.metadata.annotations
    ]


def loads(
    resource: str,
    seeds: Sequence[Member],
    snapshot: Snapshot,
    samples: Samples,
    arriving: Mapping[str, Mapping[str, Decimal]],
) -> Sequence[Load] | None:
    """Say how full each seed is or will be; None where another source should know and does not."""
    sampled: Mapping[str, Decimal] | None = None
    if resource in snapshot.options.seeds.queries:
        sampled = samples.latest(resource)
        if sampled is None:
            return None
    found = [_load(resource, member, snapshot, sampled) for member in seeds]
    extra = [arriving.get(member.managed_seed.name, {}).get(resource, _NONE) for member in seeds]
    return [load._replace(used=load.used + more) for load, more in zip(found, extra, strict=True)]


def target_of(metric: ResourceMetric) -> Target | None:
    """Read what a metric is held at; None if that makes no sense."""
    target = metric.target
    if target.type == UTILIZATION and target.average_utilization:
        return Target(UTILIZATION, Decimal(target.average_utilization))
    if target.type == AVERAGE_VALUE and target.average_value is not None:
        try:
            return Target(AVERAGE_VALUE, quantity.parse(target.average_value))
        except QuantityError:
            return None
    return None


def describe(metric: Metric, measured: Measure) -> Draft | None:
    """Tell the present value of a metric."""
    resource, current = metric.resource, measured.current
    if resource is None or current is None:
        return None
    told: Draft = {"name": resource.name}
    if resource.target.type == UTILIZATION:
        told["averageUtilization"] = int(current)
    else:
        told["averageValue"] = quantity.format_canonical(round(current, 3))
    return {"type": metric.type, "resource": told}


def _load(
    resource: str, member: Member, snapshot: Snapshot, sampled: Mapping[str, Decimal] | None
) -> Load:
    seed = member.seed
    if seed is None:
        return Load(_NONE, _NONE, ready=False)
    offered = _offered(seed, resource)
    if sampled is None:
        used = snapshot.total(SEED_USAGE, seed.name).get(resource, _NONE)
        return Load(used, offered, ready=member.is_ready)
    measured = sampled.get(seed.name)
    return Load(measured or _NONE, offered, ready=member.is_ready and measured is not None)


def _offered(seed: Seed, resource: str) -> Decimal:
    given = seed.status.allocatable.get(resource, seed.status.capacity.get(resource))
    try:
        return quantity.parse(given) if given is not None else _NONE
    except QuantityError:
        return _NONE
