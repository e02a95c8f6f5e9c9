"""Shoots that wait for a seed such as a set would make."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final, NamedTuple

import msgspec

from webhook.api import names
from webhook.api.conditions import TRUE, Condition
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet, seed_template_of
from webhook.api.meta import LastOperation, Metadata, ObjectKey
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed, SeedProvider, SeedStatus, SeedTemplate
from webhook.api.shoots import Networking, Shoot
from webhook.domain import capacity, usage, zones
from webhook.domain.capacity import CapacityError
from webhook.domain.options import CapacityOptions
from webhook.scheduling.landscape import Landscape
from webhook.scheduling.pipeline import place
from webhook.state.indexes import AUTOSCALERS_BY_TARGET, SHOOTS_WITHOUT_SEED, WAITING
from webhook.state.snapshot import Snapshot
from webhook.state.totals import SEED_USAGE

AUTO: Final = "Auto"
_NOTHING: Final[Mapping[str, Decimal]] = {}
_NOBODY: Final[Mapping[str, Mapping[str, Decimal]]] = {}
_READY: Final = (
    names.GARDENLET_READY,
    names.SEED_SYSTEM_COMPONENTS_HEALTHY,
    names.BACKUP_BUCKETS_READY,
    names.EXTENSIONS_READY,
)


class Demand(NamedTuple):
    """The shoots that wait for a set to grow, and what they will use."""

    shoots: int = 0
    amounts: Mapping[str, Decimal] = _NOTHING
    arriving: Mapping[str, Mapping[str, Decimal]] = _NOBODY
    """By seed, what shoots will use there that wait only for the scheduler."""


def of_set(owner: ManagedSeedSet, snapshot: Snapshot) -> Demand:
    """Count the waiting shoots that no seed can take now and that a seed of this set could.

    One that several sets could take counts for the first of them by name only, so that it does
    not raise all of them. One that a seed has room for is about to be placed there: it counts as
    that seed's, or the set would seem emptier than it will be in a moment.
    """
    waiting = snapshot.by_index(SHOOTS_WITHOUT_SEED, WAITING)
    if not waiting:
        return Demand()
    rivals = [*_rivals_before(owner, snapshot)]
    examples = [example(each, snapshot.options.capacity) for each in (*rivals, owner)]
    judge = _Judge(examples, snapshot)
    own = examples[-1].name
    sums: dict[str, dict[str, Decimal]] = {own: {}}
    count = 0
    for shoot in waiting:
        chosen = judge.chooses(shoot)
        if chosen is None:
            continue
        count += chosen == own
        place_sums = sums.setdefault(chosen, {})
        for resource, amount in usage.of(shoot, snapshot.options.usage).items():
            place_sums[resource] = place_sums.get(resource, Decimal(0)) + amount
    return Demand(count, sums.pop(own), sums)


class _Judge:
    """Says which seed or example takes a shoot; those that ask for the same are judged once."""

    def __init__(self, examples: Iterable[Seed], snapshot: Snapshot) -> None:
        self._examples = [*examples]
        self._snapshot = snapshot
        self._seeds = Landscape.of(snapshot.list(Seed), snapshot.totals(SEED_USAGE))
        self._known: dict[tuple[str, bytes], str | None] = {}

    def chooses(self, shoot: Shoot) -> str | None:
        wish = (shoot.namespace, msgspec.json.encode((shoot.spec, shoot.metadata.annotations)))
        if wish not in self._known:
            self._known[wish] = self._choose(shoot)
        return self._known[wish]

    def _choose(self, shoot: Shoot) -> str | None:
        found = place(shoot, self._seeds, self._snapshot).seed
        if found is not None:
            return found
        for seed in self._examples:
            if place(shoot, [seed], self._snapshot).seed is not None:
                return seed.name
        return None


def _rivals_before(owner: ManagedSeedSet, snapshot: Snapshot) -> Iterable[ManagedSeedSet]:
    """List the sets that scale by themselves and come before this one by name."""
    for other in sorted(snapshot.list(ManagedSeedSet), key=lambda each: str(each.key)):
        if str(other.key) >= str(owner.key):
            return
        scalers = snapshot.by_index(AUTOSCALERS_BY_TARGET, str(other.key))
        if not other.is_deleting and any(_acts(scaler) for scaler in scalers):
            yield other


def _acts(scaler: SeedAutoscaler) -> bool:
    return scaler.spec.mode == AUTO and not scaler.is_deleting


def example(owner: ManagedSeedSet, options: CapacityOptions) -> Seed:
    """Imagine the seed that a set would make next, ready and empty."""
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
    """Say what a new seed of a set will offer."""
    managed_seed = ManagedSeed(spec=owner.spec.template.spec)
    try:
        found = capacity.configured(managed_seed, options)
    except CapacityError:
        return {}
    return found.allocatable if found is not None else {}


def _zones(owner: ManagedSeedSet, template: SeedTemplate) -> tuple[str, ...]:
    """Return the zones of a new seed: its own, and its Shoot's where those make it multi-zonal."""
    given = template.spec.provider.zones
    of_shoot = zones.shoot_zones(owner.spec.shoot_template)
    wide = len(of_shoot) >= zones.FEWEST
    if given and not (wide and template.metadata.labels.get(names.MULTI_ZONAL) != "false"):
        return given
    return (*given, *sorted(of_shoot - {*given}))


def key_of(autoscaler: SeedAutoscaler) -> ObjectKey:
    """Name the set that an autoscaler scales."""
    return ObjectKey(autoscaler.namespace, autoscaler.spec.scale_target_ref.name)
