"""Worker pools as their MachineDeployments define them: bounds, zones in order, discovery."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from webhook.api import names
from webhook.api.machines import MachineDeployment
from webhook.domain import sizing
from webhook.domain.definitions import Definition, DefinitionError, read
from webhook.domain.sizing import Strategy

DISCOVERER: Final = "mcm"
DEFAULT_DISCOVERY: Final = (f"{DISCOVERER}:{names.WORKER_POOL}",)
"""Without any, whatever carries a pool's label is found."""

_KEY: Final = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?", re.ASCII
)


class DiscoveryError(ValueError):
    """A discovery spec that cannot be used; the message names the remedy."""


class Discovery(NamedTuple):
    """Where node groups are looked for: MachineDeployments that carry a key, perhaps a value."""

    key: str
    value: str | None = None

    @property
    def text(self) -> str:
        """Spell it as the flag does."""
        return f"{DISCOVERER}:{self.key}" + ("" if self.value is None else f"={self.value}")

    def finds(self, deployment: MachineDeployment) -> bool:
        """Tell whether a MachineDeployment carries the key, as a label or as an annotation."""
        metadata = deployment.metadata
        carried = [
            place[self.key]
            for place in (metadata.labels, metadata.annotations)
            if self.key in place
        ]
        return bool(carried) and (self.value is None or self.value in carried)


def parse_discovery(text: str) -> Discovery:
    """Read `mcm:KEY[=VALUE]`; raises DiscoveryError."""
    discoverer, colon, rest = text.partition(":")
    if not colon:
        raise DiscoveryError(
            f"{text!r} names no discoverer, write it like mcm:KEY or mcm:KEY=VALUE"
        )
    if discoverer != DISCOVERER:
        raise DiscoveryError(f"{text!r}: there is no discoverer {discoverer!r}, only {DISCOVERER}")
    key, equals, value = rest.partition("=")
    if not _KEY.fullmatch(key):
        raise DiscoveryError(f"{text!r}: {key!r} is no key of a label or an annotation")
    if equals and (not value or value.strip() != value):
        raise DiscoveryError(f"{text!r}: give a value after the equals sign or leave it out")
    return Discovery(key, value if equals else None)


@cache
def discoveries(texts: tuple[str, ...]) -> tuple[Discovery, ...]:
    """Read the specs of the settings, the default where there are none."""
    return tuple(parse_discovery(text) for text in texts or DEFAULT_DISCOVERY)


class PoolKey(NamedTuple):
    """What makes zones one pool: a namespace, the spec that found them, the pool's name."""

    namespace: str
    discovery: str
    name: str


class Zone(NamedTuple):
    """One zone of a pool: its MachineDeployment, by name and as it stands."""

    name: str
    position: int
    replicas: int
    version: str = ""
    uid: str = ""


class Permits(NamedTuple):
    """How many machines of a whole pool may be too many, or missing, during an update."""

    surge: int
    unavailable: int


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool as all its zones together define it; while they disagree, the smaller numbers."""

    key: PoolKey
    minimum: int
    maximum: int
    zone_count: int
    zones: tuple[Zone, ...]
    """The zones found, in the order of the definition."""
    strategy: Strategy = sizing.DEFAULT_STRATEGY
    surge: int | str = 1
    unavailable: int | str = 0
    disagreements: tuple[str, ...] = ()
    """The fields that zones give different values for."""

    @property
    def is_adaptive(self) -> bool:
        return self.strategy == "Adaptive"

    @property
    def definition(self) -> sizing.Pool:
        """The pool as sizing knows it."""
        return sizing.Pool(self.minimum, self.maximum, self.zone_count, self.strategy)

    @property
    def permits(self) -> Permits:
        """Resolve surge and unavailability for the whole pool.

        A percentage is of the maximum, rounded up, for the surge, and of the minimum, rounded
        down, for what may be missing. Where both come to nothing, one may be missing: nothing
        could ever be updated otherwise, and machine-controller-manager does the same.
        """
        surge = _rounded_up(self.surge, self.maximum)
        unavailable = _rounded_down(self.unavailable, self.minimum)
        return Permits(surge, unavailable if surge or unavailable else 1)

    def zone(self, name: str) -> Zone | None:
        """Give the zone of a MachineDeployment."""
        return next((zone for zone in self.zones if zone.name == name), None)


class Unfit(NamedTuple):
    """A MachineDeployment that was found but cannot be used, and why."""

    name: str
    why: str


Found: TypeAlias = tuple[tuple[Pool, ...], tuple[Unfit, ...]]


def key_of(deployment: MachineDeployment, specs: Sequence[Discovery]) -> PoolKey | None:
    """Tell which pool a MachineDeployment belongs to, if any discovery spec finds it.

    The first spec that does counts. One without the label of a pool is a pool by itself.
    """
    for discovery in specs:
        if discovery.finds(deployment):
            name = deployment.metadata.labels.get(names.WORKER_POOL) or deployment.name
            return PoolKey(deployment.namespace, discovery.text, name)
    return None


def discover(deployments: Iterable[MachineDeployment], specs: Sequence[Discovery]) -> Found:
    """Put the MachineDeployments of one namespace together to pools, by name.

    One that is going, or that does not fit, is left out; it never stops the rest.
    """
    members: dict[PoolKey, list[tuple[MachineDeployment, Definition]]] = {}
    unfit = []
    for deployment in sorted(deployments, key=lambda each: each.name):
        key = key_of(deployment, specs)
        if key is None or deployment.is_deleting:
            continue
        try:
            definition = read(deployment)
        except DefinitionError as error:
            unfit.append(Unfit(deployment.name, str(error)))
            continue
        members.setdefault(key, []).append((deployment, definition))
    pools = []
    for key in sorted(members):
        pool, twins = _assemble(key, members[key])
        pools.append(pool)
        unfit.extend(twins)
    return tuple(pools), tuple(unfit)


def _assemble(
    key: PoolKey, members: Sequence[tuple[MachineDeployment, Definition]]
) -> tuple[Pool, list[Unfit]]:
    zones: dict[int, Zone] = {}
    unfit = []
    definitions = []
    for deployment, definition in members:
        index = definition.position
        if index in zones:
            why = f"zone index {index} of pool {key.name} is that of {zones[index].name} already"
            unfit.append(Unfit(deployment.name, f"{why}, give it another"))
            continue
        zones[index] = Zone(
            deployment.name,
            index,
            deployment.spec.replicas,
            deployment.resource_version,
            deployment.uid,
        )
        definitions.append(definition)
    most = max(zones) + 1
    counts = [definition.zones for definition in definitions if definition.zones]
    pool = Pool(
        key,
        minimum=min(each.minimum for each in definitions),
        maximum=min(each.maximum for each in definitions),
        zone_count=max([most, *counts]),
        zones=tuple(zones[index] for index in sorted(zones)),
        strategy=min((each.strategy for each in definitions), key=_careful),
        surge=_smallest([each.surge for each in definitions]),
        unavailable=_smallest([each.unavailable for each in definitions]),
        disagreements=tuple(_differing(definitions)),
    )
    return pool, unfit


def _careful(strategy: Strategy) -> int:
    return sizing.STRATEGIES.index(strategy)


def _smallest(values: Sequence[int | str]) -> int | str:
    """Give the smallest number; numbers and percentages cannot be compared, numbers win."""
    numbers = [value for value in values if isinstance(value, int)]
    if numbers:
        return min(numbers)
    return min((str(value) for value in values), key=lambda text: int(text.rstrip("%")))


def _differing(definitions: Sequence[Definition]) -> Iterable[str]:
    for field in ("minimum", "maximum", "surge", "unavailable", "strategy", "zones"):
        if len(Counter(getattr(each, field) for each in definitions)) > 1:
            yield field


def _rounded_down(value: int | str, total: int) -> int:
    return value if isinstance(value, int) else int(value.removesuffix("%")) * total // 100


def _rounded_up(value: int | str, total: int) -> int:
    return value if isinstance(value, int) else -(-int(value.removesuffix("%")) * total // 100)
