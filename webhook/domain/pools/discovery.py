"""Worker pools, built from the MachineDeployments that discovery specs select."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from webhook.api import names
from webhook.api.machines import MachineDeployment
from webhook.domain.pools import sizing
from webhook.domain.pools.pool_definition import PoolDefinition, PoolDefinitionError, read
from webhook.domain.pools.sizing import SizingStrategy

DISCOVERER: Final = "mcm"
DEFAULT_DISCOVERY: Final = (f"{DISCOVERER}:{names.WORKER_POOL}",)
"""By default, everything with a pool label is discovered. A group is shown only to a client with a
certificate for its namespace, so nothing is offered by accident."""

SHOOT_KEY: Final = "k8s.io/cluster-autoscaler"
"""The document discovers the pools of a shoot by the key `k8s.io/cluster-autoscaler/SHOOT`. No
label and no annotation can have a key with two slashes, so the spec stands for this key with the
shoot's name as its value, and for the namespace of that shoot."""

_PREFIX: Final = re.compile(
    r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*", re.ASCII
)
_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)
_MAX_PREFIX: Final = 253


class DiscoveryError(ValueError):
    """An invalid discovery spec; the message names the remedy."""


class Discovery(NamedTuple):
    """A discovery spec, `mcm:KEY[=VALUE]`: selects MachineDeployments by label or annotation."""

    key: str
    value: str | None = None
    is_shoot: bool = False
    """Whether it is written as `mcm:k8s.io/cluster-autoscaler/SHOOT`; the value is the shoot."""

    @property
    def text(self) -> str:
        """The spec as in the flag."""
        if self.is_shoot:
            return f"{DISCOVERER}:{self.key}/{self.value}"
        return f"{DISCOVERER}:{self.key}" + ("" if self.value is None else f"={self.value}")

    def selects(self, deployment: MachineDeployment) -> bool:
        """Return whether a MachineDeployment has the key as a label or annotation.

        If label and annotation have different values, either may match. The spec of a shoot also
        selects all MachineDeployments in its namespace, `shoot--PROJECT--SHOOT`.
        """
        if self.is_shoot and _shoot_of(deployment.namespace) == self.value:
            return True
        metadata = deployment.metadata
        values = [
            place[self.key]
            for place in (metadata.labels, metadata.annotations)
            if self.key in place
        ]
        return bool(values) and (self.value is None or self.value in values)


def parse_discovery(text: str) -> Discovery:
    """Parse `mcm:KEY[=VALUE]`; raises DiscoveryError."""
    discoverer, colon, rest = text.partition(":")
    if not colon:
        raise DiscoveryError(
            f"{text!r} names no discoverer, write it like mcm:KEY or mcm:KEY=VALUE"
        )
    if discoverer != DISCOVERER:
        raise DiscoveryError(f"{text!r}: there is no discoverer {discoverer!r}, only {DISCOVERER}")
    key, equals, value = rest.partition("=")
    shoot = key.removeprefix(f"{SHOOT_KEY}/")
    if shoot != key and _NAME.fullmatch(shoot):
        if equals:
            raise DiscoveryError(f"{text!r} names a shoot by its key, leave out the value")
        return Discovery(SHOOT_KEY, shoot, is_shoot=True)
    if not _is_qualified_name(key):
        raise DiscoveryError(
            f"{text!r}: {key!r} is not the key of a label or annotation and would match nothing,"
            f" write [PREFIX/]NAME or {SHOOT_KEY}/SHOOT"
        )
    if equals and (not value or value.strip() != value):
        raise DiscoveryError(f"{text!r}: give a value after the equals sign or leave it out")
    return Discovery(key, value if equals else None)


def _is_qualified_name(key: str) -> bool:
    """Return whether a label or annotation can have a key."""
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > _MAX_PREFIX or not _PREFIX.fullmatch(prefix)):
        return False
    return bool(_NAME.fullmatch(name))


def _shoot_of(namespace: str) -> str:
    """Return the shoot whose control plane a namespace holds; empty if it is of none."""
    parts = namespace.split("--")
    return parts[2] if len(parts) == 3 and parts[0] == "shoot" else ""


@cache
def discoveries(texts: tuple[str, ...]) -> tuple[Discovery, ...]:
    """Parse the specs of the settings; without any, the default."""
    return tuple(parse_discovery(text) for text in texts or DEFAULT_DISCOVERY)


class PoolKey(NamedTuple):
    """What identifies a pool: its namespace, the spec that selects it, and its name."""

    namespace: str
    discovery: str
    name: str


class PoolZone(NamedTuple):
    """One zone of a pool: the current state of its MachineDeployment."""

    name: str
    position: int
    replicas: int
    version: str = ""
    uid: str = ""


class Permits(NamedTuple):
    """How many machines of a pool may be surplus, or unavailable, during an update."""

    surge: int
    unavailable: int


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool as its zones define it; where they disagree, the smaller numbers count."""

    key: PoolKey
    minimum: int
    maximum: int
    zone_count: int
    zones: tuple[PoolZone, ...]
    """The zones that exist, in the order of the definition."""
    strategy: SizingStrategy = sizing.DEFAULT_STRATEGY
    surge: int | str = 1
    unavailable: int | str = 0
    disagreements: tuple[str, ...] = ()
    """The fields in which zones differ."""
    definitions: tuple[PoolDefinition, ...] = field(default=(), compare=False)
    """What each of the zones defines, in their order."""

    @property
    def is_adaptive(self) -> bool:
        return self.strategy == "Adaptive"

    @property
    def bounds(self) -> sizing.PoolBounds:
        """The bounds of the whole pool."""
        return sizing.PoolBounds(self.minimum, self.maximum, self.zone_count, self.strategy)

    @property
    def permits(self) -> Permits:
        """Resolve surge and unavailability for the whole pool.

        A percentage is of the maximum and rounded up for the surge, of the minimum and rounded down
        for unavailability. If both are 0, one machine may be unavailable: otherwise nothing could
        be updated, and machine-controller-manager does the same.
        """
        surge = _rounded_up(self.surge, self.maximum)
        unavailable = _rounded_down(self.unavailable, self.minimum)
        return Permits(surge, unavailable if surge or unavailable else 1)

    def zone(self, name: str) -> PoolZone | None:
        """Return the zone of a MachineDeployment; None if it is not of this pool."""
        return next((zone for zone in self.zones if zone.name == name), None)


class UnusableDeployment(NamedTuple):
    """A MachineDeployment that was discovered but cannot be used, and why."""

    name: str
    why: str


DiscoveredPools: TypeAlias = tuple[tuple[Pool, ...], tuple[UnusableDeployment, ...]]


def key_of(deployment: MachineDeployment, specs: Sequence[Discovery]) -> PoolKey | None:
    """Return the pool of a MachineDeployment; None if no discovery spec selects it.

    The first spec that does counts. One without a pool label is a pool by itself.
    """
    for discovery in specs:
        if discovery.selects(deployment):
            name = deployment.metadata.labels.get(names.WORKER_POOL) or deployment.name
            return PoolKey(deployment.namespace, discovery.text, name)
    return None


def discover(
    deployments: Iterable[MachineDeployment], specs: Sequence[Discovery]
) -> DiscoveredPools:
    """Group the MachineDeployments of one namespace into pools, sorted by name.

    One that is being deleted or cannot be used is left out and does not affect the others.
    """
    members: dict[PoolKey, list[tuple[MachineDeployment, PoolDefinition]]] = {}
    unusable = []
    for deployment in sorted(deployments, key=lambda each: each.name):
        key = key_of(deployment, specs)
        if key is None or deployment.is_deleting:
            continue
        try:
            definition = read(deployment)
        except PoolDefinitionError as error:
            unusable.append(UnusableDeployment(deployment.name, str(error)))
            continue
        members.setdefault(key, []).append((deployment, definition))
    pools = []
    for key in sorted(members):
        pool, duplicates = _assemble(key, members[key])
        pools.append(pool)
        unusable.extend(duplicates)
    return tuple(pools), tuple(unusable)


def _assemble(
    key: PoolKey, members: Sequence[tuple[MachineDeployment, PoolDefinition]]
) -> tuple[Pool, list[UnusableDeployment]]:
    zones: dict[int, PoolZone] = {}
    unusable = []
    by_zone: dict[int, PoolDefinition] = {}
    for deployment, definition in members:
        index = definition.position
        if index in zones:
            why = f"zone index {index} of pool {key.name} is already used by {zones[index].name}"
            unusable.append(UnusableDeployment(deployment.name, f"{why}, set another"))
            continue
        zones[index] = PoolZone(
            deployment.name,
            index,
            deployment.spec.replicas,
            deployment.resource_version,
            deployment.uid,
        )
        by_zone[index] = definition
    highest = max(zones) + 1
    definitions = tuple(by_zone[index] for index in sorted(zones))
    counts = [definition.zones for definition in definitions if definition.zones]
    pool = Pool(
        key,
        minimum=min(each.minimum for each in definitions),
        maximum=min(each.maximum for each in definitions),
        zone_count=max([highest, *counts]),
        zones=tuple(zones[index] for index in sorted(zones)),
        strategy=min((each.strategy for each in definitions), key=_precedence),
        surge=_smallest([each.surge for each in definitions]),
        unavailable=_smallest([each.unavailable for each in definitions]),
        disagreements=tuple(_differing(definitions)),
        definitions=definitions,
    )
    return pool, unusable


def _precedence(strategy: SizingStrategy) -> int:
    """Return the rank of a strategy; where zones disagree, the one that promises less counts."""
    return sizing.STRATEGIES.index(strategy)


def _smallest(values: Sequence[int | str]) -> int | str:
    """Return the smallest number; numbers take precedence over percentages."""
    numbers = [value for value in values if isinstance(value, int)]
    if numbers:
        return min(numbers)
    return min((str(value) for value in values), key=lambda text: int(text.rstrip("%")))


def _differing(definitions: Sequence[PoolDefinition]) -> Iterable[str]:
    for name in ("minimum", "maximum", "surge", "unavailable", "strategy", "zones"):
        if len(Counter(getattr(each, name) for each in definitions)) > 1:
            yield name


def _rounded_down(value: int | str, total: int) -> int:
    return value if isinstance(value, int) else int(value.removesuffix("%")) * total // 100


def _rounded_up(value: int | str, total: int) -> int:
    return value if isinstance(value, int) else -(-int(value.removesuffix("%")) * total // 100)
