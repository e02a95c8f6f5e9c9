"""The pending shoots that a new seed of a set would help."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final, NamedTuple

import msgspec

from webhook.api import names
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet, seed_template_of
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed, SeedProvider, SeedStatus, SeedTemplate
from webhook.api.shoots import Networking, Shoot
from webhook.domain.options import CapacityOptions
from webhook.domain.seeds import capacity, usage, zones
from webhook.domain.seeds.capacity import CapacityError
from webhook.kube.conditions import TRUE, Condition
from webhook.kube.meta import LastOperation, Metadata, ObjectKey
from webhook.scheduling.pipeline import place
from webhook.scheduling.seed_table import SeedTable
from webhook.state.indexes import AUTOSCALERS_BY_TARGET, SHOOTS_WITHOUT_SEED, WAITING
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_USAGE

AUTO: Final = "Auto"
_NOTHING: Final[Mapping[str, Decimal]] = {}
_NO_ARRIVALS: Final[Mapping[str, Mapping[str, Decimal]]] = {}
_READY: Final = (
    names.GARDENLET_READY,
    names.SEED_SYSTEM_COMPONENTS_HEALTHY,
    names.BACKUP_BUCKETS_READY,
    names.EXTENSIONS_READY,
)


class Demand(NamedTuple):
    """The pending shoots of a set, and the resources that they will use."""

    shoots: int = 0
    amounts: Mapping[str, Decimal] = _NOTHING
    arriving: Mapping[str, Mapping[str, Decimal]] = _NO_ARRIVALS
    """By seed, the resources of pending shoots that fit it and only wait for the scheduler."""


def of_set(owner: ManagedSeedSet, snapshot: Snapshot) -> Demand:
    """Count the pending shoots that no seed can host now and that a new seed of this set could.

    A shoot that several sets could host counts only for the first one by name, so that not all of
    them grow. A shoot that fits an existing seed counts for that seed, where it is about to be
    placed; otherwise the set would look emptier than it will be.
    """
    waiting = snapshot.by_index(SHOOTS_WITHOUT_SEED, WAITING)
    if not waiting:
        return Demand()
    earlier_sets = [*_earlier_sets(owner, snapshot)]
    template_seeds = [
        template_seed(each, snapshot.options.capacity) for each in (*earlier_sets, owner)
    ]
    placements = _Placements(template_seeds, snapshot)
    own = template_seeds[-1].name
    sums: dict[str, dict[str, Decimal]] = {own: {}}
    count = 0
    for shoot in waiting:
        chosen = placements.find(shoot)
        if chosen is None:
            continue
        count += chosen == own
        seed_sums = sums.setdefault(chosen, {})
        for resource, amount in usage.usage_of(shoot, snapshot.options.usage).items():
            seed_sums[resource] = seed_sums.get(resource, Decimal(0)) + amount
    return Demand(count, sums.pop(own), sums)


class _Placements:
    """Finds the seed or template seed for a shoot; equal shoots are evaluated once."""

    def __init__(self, template_seeds: Iterable[Seed], snapshot: Snapshot) -> None:
        self._template_seeds = [*template_seeds]
        self._snapshot = snapshot
        self._seeds = SeedTable.of(snapshot.list(Seed), snapshot.totals(SEED_USAGE))
        self._known: dict[tuple[str, bytes], str | None] = {}

    def find(self, shoot: Shoot) -> str | None:
        request = (shoot.namespace, msgspec.json.encode((shoot.spec, shoot.metadata.annotations)))
        if request not in self._known:
            self._known[request] = self._place(shoot)
        return self._known[request]

    def _place(self, shoot: Shoot) -> str | None:
        found = place(shoot, self._seeds, self._snapshot).seed
        if found is not None:
            return found
        for seed in self._template_seeds:
            if place(shoot, [seed], self._snapshot).seed is not None:
                return seed.name
        return None


def _earlier_sets(owner: ManagedSeedSet, snapshot: Snapshot) -> Iterable[ManagedSeedSet]:
    """List the autoscaled sets that come before this one by name."""
    for other in sorted(snapshot.list(ManagedSeedSet), key=lambda each: str(each.key)):
        if str(other.key) >= str(owner.key):
            return
        scalers = snapshot.by_index(AUTOSCALERS_BY_TARGET, str(other.key))
        if not other.is_deleting and any(
            is_acting(scaler) and not is_disabled(scaler, other) for scaler in scalers
        ):
            yield other


def is_acting(autoscaler: SeedAutoscaler) -> bool:
    """Return whether an autoscaler scales and not only recommends."""
    return autoscaler.spec.mode == AUTO and not autoscaler.is_deleting


def is_disabled(autoscaler: SeedAutoscaler, owner: ManagedSeedSet) -> bool:
    """Return whether somebody has scaled the set to 0, which disables its autoscaler."""
    return owner.spec.replicas == 0 and least_replicas(autoscaler) != 0


def least_replicas(autoscaler: SeedAutoscaler) -> int:
    """Return the least number of seeds that an autoscaler may set."""
    least = autoscaler.spec.min_replicas
    return 1 if least is None else least


def template_seed(owner: ManagedSeedSet, options: CapacityOptions) -> Seed:
    """Return the seed that a set would create next, ready and empty."""
    template = seed_template_of(owner.spec.template.spec) or SeedTemplate()
    shoot = owner.spec.shoot_template
    spec = template.spec
    provider = SeedProvider(
        type=spec.provider.type or shoot.spec.provider.type,
        region=spec.provider.region or shoot.spec.region,
        zones=_zones(owner, template),
    )
    networking = shoot.spec.networking or Networking()
    networks = msgspec.structs.replace(
        spec.networks,
        nodes=spec.networks.nodes or networking.nodes,
        pods=spec.networks.pods or networking.pods,
        services=spec.networks.services or networking.services,
    )
    labels = {
        names.SEED_PROVIDER: provider.type,
        names.SEED_REGION: provider.region,
        **template.metadata.labels,
    }
    limits = allocatable(owner, options)
    return Seed(
        metadata=Metadata(
            name=f"{owner.namespace}/{owner.name}",
            labels=labels,
            annotations=template.metadata.annotations,
        ),
        spec=msgspec.structs.replace(spec, provider=provider, networks=networks),
        status=SeedStatus(
            conditions=tuple(Condition(type=name, status=TRUE) for name in _READY),
            last_operation=LastOperation(type="Reconcile", state="Succeeded"),
            capacity=limits,
            allocatable=limits,
        ),
    )


def allocatable(owner: ManagedSeedSet, options: CapacityOptions) -> Mapping[str, str]:
    """Return the allocatable resources of a new seed of a set."""
    managed_seed = ManagedSeed(spec=owner.spec.template.spec)
    try:
        found = capacity.configured(managed_seed, options)
    except CapacityError:
        return {}
    return found.allocatable if found is not None else {}


def _zones(owner: ManagedSeedSet, template: SeedTemplate) -> tuple[str, ...]:
    """Return the zones of a new seed, with those of its Shoot if they make it multi-zonal."""
    given = template.spec.provider.zones
    of_shoot = zones.shoot_zones(owner.spec.shoot_template)
    wide = len(of_shoot) >= zones.MIN_ZONES
    if given and not (wide and template.metadata.labels.get(names.MULTI_ZONAL) != "false"):
        return given
    return (*given, *sorted(of_shoot - {*given}))


def target_key(autoscaler: SeedAutoscaler) -> ObjectKey:
    """Return the key of an autoscaler's set."""
    return ObjectKey(autoscaler.namespace, autoscaler.spec.scale_target_ref.name)
