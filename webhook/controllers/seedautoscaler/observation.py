"""What the plan for a SeedAutoscaler reads: its set, the seeds, and their measurements."""

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from webhook.api import names
from webhook.api.managedseeds import ManagedSeedSet
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.controllers.seedautoscaler import cordon, demand, measurement, status_history
from webhook.controllers.seedautoscaler.demand import Demand
from webhook.controllers.seedautoscaler.measurement import MemberSeed, Samples
from webhook.domain.sets import replica_calculator, rollout
from webhook.domain.sets.replica_calculator import MetricProposal
from webhook.domain.sets.scale_in import Blocked
from webhook.kube import quantity
from webhook.state.snapshot import Snapshot


class ScaleObservation(NamedTuple):
    """A set that can be scaled, and its measurements."""

    autoscaler: SeedAutoscaler
    owner: ManagedSeedSet
    seeds: Sequence[MemberSeed]
    demand: Demand
    measures: Sequence[MetricProposal]
    snapshot: Snapshot

    @property
    def replicas(self) -> int:
        wanted = self.owner.spec.replicas
        return 1 if wanted is None else wanted

    @property
    def limits(self) -> tuple[int, int]:
        least = demand.least_replicas(self.autoscaler)
        return least, max(least, self.autoscaler.spec.max_replicas)

    @property
    def is_rolling(self) -> bool:
        """Whether replicas that Gardener creates are being updated to another revision."""
        is_rolled = self.owner.metadata.annotations.get(names.ROLLOUT) == "true"
        beside = self.snapshot.options.beside_gardener
        return beside and is_rolled and rollout.is_progressing(self.owner)

    @property
    def is_disabled(self) -> bool:
        return demand.is_disabled(self.autoscaler, self.owner)

    @property
    def present(self) -> int:
        """The seeds that exist or will: a scale-in that is blocked leaves more than are wanted."""
        return max(self.replicas, len(self.seeds))

    def blocked(self, replicas: int) -> tuple[Blocked, ...]:
        """Return the seeds that keep the set from shrinking to a number of replicas."""
        blockers = [(each, each.blocker) for each in self.seeds]
        removable = sum(blocker is None for _, blocker in blockers)
        if len(self.seeds) - replicas <= removable:
            return ()
        return tuple(
            Blocked(each.managed_seed.name, blocker)
            for each, blocker in blockers
            if blocker is not None
        )

    @property
    def draining(self) -> tuple[Blocked, ...]:
        """The cordoned seeds that still host shoots."""
        cordoned = [
            each for each in self.seeds if each.seed is not None and cordon.is_cordoned(each.seed)
        ]
        return tuple(
            Blocked(each.managed_seed.name, each.blocker or "") for each in cordoned if each.users
        )


def observe(
    autoscaler: SeedAutoscaler, owner: ManagedSeedSet, snapshot: Snapshot, samples: Samples
) -> ScaleObservation:
    """Measure the seeds of a set by every metric."""
    seeds = measurement.members(owner, snapshot)
    wanted = demand.of_set(owner, snapshot)
    view = ScaleObservation(autoscaler, owner, seeds, wanted, (), snapshot)
    sizes = demand.allocatable(owner, snapshot.options.capacity)
    tolerance = status_history.tolerance_of(autoscaler)
    found: list[MetricProposal] = []
    for metric in autoscaler.spec.metrics:
        resource = metric.resource
        target = measurement.target_of(resource) if resource is not None else None
        if resource is None or target is None:
            found.append(MetricProposal(None, None))
            continue
        loads = measurement.loads(resource.name, seeds, snapshot, samples, wanted.arriving)
        if loads is None:
            found.append(MetricProposal(None, None))
            continue
        pending = wanted.amounts.get(resource.name, Decimal(0))
        size = quantity.parse(sizes.get(resource.name, "0"))
        found.append(
            replica_calculator.propose_replicas(
                view.replicas, loads, target, pending, tolerance, size
            )
        )
    return view._replace(measures=tuple(found))
