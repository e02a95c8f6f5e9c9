"""TOTALS: the table of all sums that are maintained for decisions."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from webhook.api.shoots import Shoot
from webhook.domain.options import Options
from webhook.domain.seeds import shoot_counts, usage
from webhook.domain.shoots import cloud_profiles, quota
from webhook.kube.meta import KindKey, Object, ObjectKey

T = TypeVar("T", bound=Object)
Other = TypeVar("Other", bound=Object)

Vector: TypeAlias = Mapping[str, Decimal]


class Reader(Protocol):
    """Gives a vector function the settings and other objects that it reads."""

    @property
    def options(self) -> Options: ...
    def get(self, model: type[Other], key: ObjectKey) -> Other | None: ...


def needs_nothing(_obj: Object) -> tuple[KindKey, ...]:
    """Return no references: the vector is computed from its own object only."""
    return ()


@dataclass(frozen=True, slots=True, eq=False)
class Total(Generic[T]):
    """The groups that objects of a kind count in, and how much of each resource they add.

    The functions must be pure. A vector that is computed from other objects names them in
    `needs`; it is recomputed when one of them changes, and only then.
    """

    name: str
    model: type[T]
    groups: Callable[[T], Iterable[str]]
    vector: Callable[[T, Reader], Vector]
    needs: Callable[[T], Iterable[KindKey]] = needs_nothing


def _usage_of_shoot(shoot: Shoot, reader: Reader) -> Vector:
    return usage.usage_of(shoot, reader.options.usage)


SEED_USAGE: Final = Total("seed_usage", Shoot, usage.seeds_of, _usage_of_shoot)
"""What shoots use of a seed, by the seed's name; a shoot that migrates counts on both seeds."""


def _binding_of_shoot(shoot: Shoot) -> Iterable[str]:
    return filter(None, (quota.group(shoot),))


def _cost_of_shoot(shoot: Shoot, reader: Reader) -> Vector:
    return quota.cost_of(shoot, reader.get)


def _profile_of_shoot(shoot: Shoot) -> Iterable[KindKey]:
    return filter(None, (cloud_profiles.reference(shoot.spec, shoot.namespace),))


QUOTA_USAGE: Final = Total(
    "quota_usage", Shoot, _binding_of_shoot, _cost_of_shoot, _profile_of_shoot
)
"""What the shoots of a binding use of its quotas, by the binding."""


def _health_of_shoot(shoot: Shoot, _reader: Reader) -> Vector:
    return shoot_counts.vector_of(shoot)


SEED_HEALTH: Final = Total("seed_health", Shoot, shoot_counts.seeds_of, _health_of_shoot)
"""How many shoots a seed hosts and how many of them are ready, by the seed's name."""

TOTALS: Final[tuple[Total[Any], ...]] = (SEED_USAGE, QUOTA_USAGE, SEED_HEALTH)
