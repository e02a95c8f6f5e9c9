"""TOTALS: the one table of sums that are kept at hand for decisions."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from webhook.api.meta import Object, ObjectKey
from webhook.api.shoots import Shoot
from webhook.domain import health, profiles, quota, usage
from webhook.domain.options import Options

T = TypeVar("T", bound=Object)
Other = TypeVar("Other", bound=Object)

Vector: TypeAlias = Mapping[str, Decimal]
Reference: TypeAlias = tuple[type[Object], ObjectKey]


class Reader(Protocol):
    """Where a vector finds the settings and the other objects that it is computed from."""

    @property
    def options(self) -> Options: ...
    def get(self, model: type[Other], key: ObjectKey) -> Other | None: ...


def needs_nothing(_obj: Object) -> tuple[Reference, ...]:
    """Say that a vector is computed from its own object alone."""
    return ()


@dataclass(frozen=True, slots=True, eq=False)
class Total(Generic[T]):
    """Say which groups an object of a kind counts in, and with how much of each resource.

    The functions must be pure. A vector that is computed from other objects names them in
    `needs`; it is computed anew when one of them changes, and only then.
    """

    name: str
    model: type[T]
    groups: Callable[[T], Iterable[str]]
    vector: Callable[[T, Reader], Vector]
    needs: Callable[[T], Iterable[Reference]] = needs_nothing


def _usage_of_shoot(shoot: Shoot, reader: Reader) -> Vector:
    return usage.of(shoot, reader.options.usage)


SEED_USAGE: Final = Total("seed_usage", Shoot, usage.seeds, _usage_of_shoot)
"""What the shoots of a seed use of it, by the seed's name; a shoot that moves counts on both."""


def _binding_of_shoot(shoot: Shoot) -> Iterable[str]:
    return filter(None, (quota.group(shoot),))


def _cost_of_shoot(shoot: Shoot, reader: Reader) -> Vector:
    return quota.cost_of(shoot, reader.get)


def _profile_of_shoot(shoot: Shoot) -> Iterable[Reference]:
    return filter(None, (profiles.reference(shoot.spec, shoot.namespace),))


QUOTA_USAGE: Final = Total(
    "quota_usage", Shoot, _binding_of_shoot, _cost_of_shoot, _profile_of_shoot
)
"""What the shoots of a binding cost of its quotas, by the binding."""


def _health_of_shoot(shoot: Shoot, _reader: Reader) -> Vector:
    return health.count(shoot)


SEED_HEALTH: Final = Total("seed_health", Shoot, health.hosts, _health_of_shoot)
"""How many shoots a seed carries and how many of them are ready, by the seed's name."""

TOTALS: Final[tuple[Total[Any], ...]] = (SEED_USAGE, QUOTA_USAGE, SEED_HEALTH)
