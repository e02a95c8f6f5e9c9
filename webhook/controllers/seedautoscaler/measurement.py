"""Measures the seeds of a set by one metric."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Final, NamedTuple, Protocol

from webhook.api import names
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.seedautoscalers import Metric, ResourceMetric
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.domain.seeds import readiness
from webhook.domain.sets import scale_in
from webhook.domain.sets.replica_calculator import MetricProposal, SeedLoad, TargetType, TargetValue
from webhook.domain.sets.replicas import Replica
from webhook.kube import quantity
from webhook.kube.meta import Draft, ObjectKey
from webhook.kube.quantity import QuantityError
from webhook.placement import hosted_shoots
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_USAGE

UTILIZATION: Final[TargetType] = "Utilization"
AVERAGE_VALUE: Final[TargetType] = "AverageValue"
_NONE: Final = Decimal(0)


class Samples(Protocol):
    """Values that were sampled elsewhere."""

    def latest(self, resource: str) -> Mapping[str, Decimal] | None:
        """Return the use of a resource by seed; None if there are no recent samples."""


class NoSamples:
    """No values are sampled elsewhere."""

    def latest(self, resource: str) -> Mapping[str, Decimal] | None:
        return None


class MemberSeed(NamedTuple):
    """A ManagedSeed of a set with its Seed; None while it is not registered."""

    managed_seed: ManagedSeed
    seed: Seed | None
    shoot: Shoot | None = None
    users: int = 0
    """The shoots on the seed."""

    @property
    def is_ready(self) -> bool:
        return self.seed is not None and readiness.is_seed_ready(self.seed)

    @property
    def is_protected(self) -> bool:
        return self._replica.is_protected

    @property
    def blocker(self) -> str | None:
        """Why the set cannot remove it now; None if it can."""
        return scale_in.removal_blocker(self._replica)

    @property
    def _replica(self) -> Replica:
        name = self.managed_seed.name
        return Replica(name, 0, self.shoot, self.managed_seed, self.seed, users=self.users)


def members(owner: ManagedSeedSet, snapshot: Snapshot) -> Sequence[MemberSeed]:
    """List the seeds of a set, without those that are being removed."""
    found = sorted(snapshot.children(ManagedSeed, owner), key=lambda each: each.name)
    return [
        MemberSeed(
            each,
            snapshot.get(Seed, ObjectKey("", each.name)),
            snapshot.get(Shoot, ObjectKey(each.namespace, each.name)),
            hosted_shoots.count(each.name, snapshot),
        )
        for each in found
        if not each.is_deleting and names.SCALE_IN not in each.metadata.annotations
    ]


def loads(
    resource: str,
    seeds: Sequence[MemberSeed],
    snapshot: Snapshot,
    samples: Samples,
    arriving: Mapping[str, Mapping[str, Decimal]],
) -> Sequence[SeedLoad] | None:
    """Return the load of each seed with arriving shoots; None if samples are missing."""
    sampled: Mapping[str, Decimal] | None = None
    if resource in snapshot.options.seeds.queries:
        sampled = samples.latest(resource)
        if sampled is None:
            return None
    found = [
        _load(resource, member, snapshot, sampled)._replace(removable=member.blocker is None)
        for member in seeds
    ]
    extra = [arriving.get(member.managed_seed.name, {}).get(resource, _NONE) for member in seeds]
    return [load._replace(used=load.used + more) for load, more in zip(found, extra, strict=True)]


def target_of(metric: ResourceMetric) -> TargetValue | None:
    """Read the target of a metric; None if it is invalid."""
    target = metric.target
    if target.type == UTILIZATION and target.average_utilization:
        return TargetValue(UTILIZATION, Decimal(target.average_utilization))
    if target.type == AVERAGE_VALUE and target.average_value is not None:
        try:
            return TargetValue(AVERAGE_VALUE, quantity.parse(target.average_value))
        except QuantityError:
            return None
    return None


def describe(metric: Metric, measured: MetricProposal) -> Draft | None:
    """Return the present value of a metric for the status."""
    resource, current = metric.resource, measured.current
    if resource is None or current is None:
        return None
    value: Draft = {"name": resource.name}
    if resource.target.type == UTILIZATION:
        value["averageUtilization"] = int(current)
    else:
        value["averageValue"] = quantity.format_canonical(round(current, 3))
    return {"type": metric.type, "resource": value}


def _load(
    resource: str, member: MemberSeed, snapshot: Snapshot, sampled: Mapping[str, Decimal] | None
) -> SeedLoad:
    seed = member.seed
    if seed is None:
        return SeedLoad(_NONE, _NONE, ready=False)
    offered = _offered(seed, resource)
    if sampled is None:
        used = snapshot.total(SEED_USAGE, seed.name).get(resource, _NONE)
        return SeedLoad(used, offered, ready=member.is_ready)
    measured = sampled.get(seed.name)
    return SeedLoad(measured or _NONE, offered, ready=member.is_ready and measured is not None)


def _offered(seed: Seed, resource: str) -> Decimal:
    given = seed.status.allocatable.get(resource, seed.status.capacity.get(resource))
    try:
        return quantity.parse(given) if given is not None else _NONE
    except QuantityError:
        return _NONE
