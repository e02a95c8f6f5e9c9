"""Simulates days: shoots are created and deleted, the scheduler places them, sets are scaled.

Placement, the plan of the autoscaler and the choice of seeds to remove are the server's own; only
gardenlets and the time that a new seed takes are simulated.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import msgspec

from webhook.api import names
from webhook.api.kinds import KINDS, kind_of_model
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet, ManagedSeedSpec, ManagedSeedStatus
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed
from webhook.api.shoots import Shoot
from webhook.cli.simulate.arrivals import ShootEvent
from webhook.controllers.seedautoscaler import demand, plan
from webhook.domain.options import Options
from webhook.domain.seeds import capacity, usage
from webhook.domain.sets import ordinals, rollout, scale_in
from webhook.domain.sets.replicas import Replica
from webhook.kube import patches
from webhook.kube.conditions import TRUE, Condition
from webhook.kube.meta import LocalReference, Metadata, Object, ObjectKey, OwnerReference
from webhook.runtime.actions import Action, Patch
from webhook.scheduling.pipeline import place
from webhook.scheduling.seed_table import SeedTable
from webhook.state.cluster_state import ClusterState
from webhook.state.snapshot import Snapshot
from webhook.state.store import StoreEntry
from webhook.state.totals import SEED_USAGE

START: Final = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Sample:
    """The state of the landscape at one moment."""

    day: float
    seeds: int
    utilisation: float
    """Percent of the allocatable shoots of the seeds of all sets."""
    waiting: int
    longest: float
    """Minutes that the oldest unscheduled shoot has waited."""


@dataclass(slots=True)
class SimulationResult:
    """What a simulation measured."""

    samples: list[Sample] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    """Minutes that each scheduled shoot waited."""
    created: int = 0
    scalings: int = 0


@dataclass(slots=True)
class _Waiting:
    shoot: Shoot
    since: datetime


class Engine:
    """A landscape in memory with a simulated clock."""

    def __init__(
        self,
        objects: Iterable[Object],
        options: Options,
        step: timedelta,
        provisioning: timedelta,
    ) -> None:
        """`provisioning` is the time until a new seed is ready."""
        self._state = ClusterState([kind.model for kind in KINDS], options=options)
        self._now = START
        self._step = step
        self._provisioning = provisioning
        self._version = 0
        self._waiting: deque[_Waiting] = deque()
        self._pending_seeds: list[tuple[datetime, ManagedSeedSet, str]] = []
        self._seed_table = SeedTable()
        self.result = SimulationResult()
        for obj in objects:
            self._put(obj)
        for owner in self._list(ManagedSeedSet):
            for _ in range(owner.spec.replicas or 0):
                self._register(owner, self._next_name(owner))

    def run(self, events: Sequence[ShootEvent], days: float) -> SimulationResult:
        """Apply all events in order, step by step."""
        upcoming = deque(events)
        end = START + timedelta(days=days)
        while self._now <= end:
            while upcoming and START + upcoming[0].at <= self._now:
                self._apply_event(upcoming.popleft())
            self._finish_seeds()
            self._place()
            self._autoscale()
            for owner in self._list(ManagedSeedSet):
                self._scale_set(owner)
            self._sample()
            self._now += self._step
        return self.result

    def _apply_event(self, event: ShootEvent) -> None:
        key = ObjectKey(event.shape.namespace or "garden-simulated", event.name)
        if event.action == "delete":
            self._waiting = deque(each for each in self._waiting if each.shoot.key != key)
            self._drop(Shoot, key)
            return
        metadata = Metadata(namespace=key.namespace, name=key.name, uid=f"shoot-{key}")
        spec = msgspec.structs.replace(event.shape.spec, seed_name="")
        shoot = Shoot(metadata=metadata, spec=spec)
        self._put(shoot)
        self._waiting.append(_Waiting(shoot, START + event.at))
        self.result.created += 1

    def _place(self) -> None:
        still: deque[_Waiting] = deque()
        unschedulable: set[bytes] = set()
        for each in self._waiting:
            spec = msgspec.json.encode(each.shoot.spec)
            if spec in unschedulable:  # no capacity was freed since an equal shoot did not fit
                still.append(each)
                continue
            seed = place(each.shoot, self._seed_table, self._snapshot()).seed
            if seed is None:
                unschedulable.add(spec)
                still.append(each)
                continue
            bound = msgspec.structs.replace(each.shoot.spec, seed_name=seed)
            self._put(msgspec.structs.replace(each.shoot, spec=bound))
            self.result.waits.append((self._now - each.since).total_seconds() / 60)
        self._waiting = still

    def _autoscale(self) -> None:
        for autoscaler in self._list(SeedAutoscaler):
            for action in plan.plan(autoscaler, self._snapshot()).actions:
                self._apply_action(action)

    def _apply_action(self, action: Action) -> None:
        if not isinstance(action, Patch):
            return
        model = action.kind.model
        raw = self._snapshot().raw(model, action.key)
        if raw is None:
            return
        if action.subresource == "scale":
            self.result.scalings += 1
        self._put(msgspec.convert(patches.merge(raw, action.change), model))

    def _scale_set(self, owner: ManagedSeedSet) -> None:
        """Scale a set: new seeds take time, surplus ones are removed at once."""
        target = 1 if owner.spec.replicas is None else owner.spec.replicas
        pending = [each for each in self._pending_seeds if each[1].key == owner.key]
        existing = [*self._snapshot().children(ManagedSeed, owner)]
        surplus = len(existing) + len(pending) - target
        if surplus < 0:
            slots = rollout.settings_of(owner).max_parallel - len(pending)
            for _ in range(min(-surplus, slots)):
                self._pending_seeds.append(
                    (self._now + self._provisioning, owner, self._next_name(owner))
                )
        elif surplus > 0:
            for replica in scale_in.choose(map(self._replica, existing), surplus).chosen:
                self._drop(ManagedSeed, ObjectKey(owner.namespace, replica.name))
                self._drop(Seed, ObjectKey("", replica.name))
        status = msgspec.structs.replace(owner.status, replicas=len(existing))
        if status != owner.status:
            self._put(msgspec.structs.replace(owner, status=status))

    def _replica(self, managed_seed: ManagedSeed) -> Replica:
        name = managed_seed.name
        used = self._snapshot().total(SEED_USAGE, name).get(usage.SHOOTS, Decimal(0))
        ordinal = int(name.rpartition("-")[2])
        seed = self._state.get(Seed, ObjectKey("", name))
        return Replica(name, ordinal, managed_seed=managed_seed, seed=seed, users=int(used))

    def _finish_seeds(self) -> None:
        due = [each for each in self._pending_seeds if each[0] <= self._now]
        self._pending_seeds = [each for each in self._pending_seeds if each[0] > self._now]
        for _, owner, name in due:
            self._register(owner, name)

    def _next_name(self, owner: ManagedSeedSet) -> str:
        owner = self._state.get(ManagedSeedSet, owner.key) or owner
        ordinal = owner.status.next_replica_number
        status = msgspec.structs.replace(owner.status, next_replica_number=ordinal + 1)
        self._put(msgspec.structs.replace(owner, status=status))
        return ordinals.name_of(owner.name, ordinal)

    def _register(self, owner: ManagedSeedSet, name: str) -> None:
        example = demand.template_seed(owner, self._state.options.capacity)
        metadata = msgspec.structs.replace(example.metadata, name=name, uid=f"seed-{name}")
        self._put(msgspec.structs.replace(example, metadata=metadata))
        reference = OwnerReference(
            kind=kind_of_model(ManagedSeedSet).name, name=owner.name, uid=owner.uid, controller=True
        )
        registered = Condition(type=names.SEED_REGISTERED, status=TRUE)
        self._put(
            ManagedSeed(
                metadata=Metadata(
                    namespace=owner.namespace,
                    name=name,
                    uid=f"managed-{name}",
                    creation_timestamp=self._now.isoformat(),
                    owner_references=(reference,),
                ),
                spec=ManagedSeedSpec(
                    shoot=LocalReference(name=name),
                    seed_template=owner.spec.template.spec.seed_template,
                    gardenlet=owner.spec.template.spec.gardenlet,
                ),
                status=ManagedSeedStatus(conditions=(registered,)),
            )
        )

    def _sample(self) -> None:
        seeds = {each.name for each in self._list(ManagedSeed)}
        snapshot = self._snapshot()
        used = sum(
            (snapshot.total(SEED_USAGE, name).get(usage.SHOOTS, Decimal(0)) for name in seeds),
            Decimal(0),
        )
        offered = Decimal(0)
        for name in seeds:
            seed = self._state.get(Seed, ObjectKey("", name))
            limits = capacity.parse(seed.status.allocatable) if seed is not None else {}
            offered += limits.get(usage.SHOOTS, Decimal(0))
        share = float(used * 100 / offered) if offered else 0.0
        day = (self._now - START) / timedelta(days=1)
        waits = [(self._now - each.since).total_seconds() / 60 for each in self._waiting]
        longest = max(waits, default=0.0)
        self.result.samples.append(Sample(day, len(seeds), share, len(waits), longest))

    def _list(self, model: type[Any]) -> list[Any]:
        return [*self._state.store(model).list()]

    def _snapshot(self) -> Snapshot:
        return Snapshot(self._state, self._now)

    def _put(self, obj: Object) -> None:
        self._version += 1
        entry = StoreEntry(obj, msgspec.json.encode(obj))
        self._state.observe(type(obj), obj.key, entry, str(self._version))

    def _drop(self, model: type[Object], key: ObjectKey) -> None:
        self._version += 1
        self._state.observe(model, key, None, str(self._version))
