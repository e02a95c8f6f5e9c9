"""INDEXES: the one table of what objects are found by, besides their keys."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from webhook.api import names
from webhook.api.core import ConfigMap
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Object, ObjectKey
from webhook.api.projects import CredentialsBinding, Project, SecretBinding
from webhook.api.shoots import Shoot
from webhook.domain import ha, regions, usage

T = TypeVar("T", bound=Object)


@dataclass(frozen=True, slots=True, eq=False)
class Index(Generic[T]):
    """Name the values that an object of a kind is found by; the function must be pure.

    An index on `Object` itself is kept for every kind.
    """

    name: str
    model: type[T]
    function: Callable[[T], Iterable[str]]


def _owners(obj: Object) -> Iterable[str]:
    return (reference.uid for reference in obj.metadata.owner_references)


def _shoot_of_managed_seed(managed_seed: ManagedSeed) -> Iterable[str]:
    shoot = managed_seed.spec.shoot
    return (str(ObjectKey(managed_seed.namespace, shoot.name)),) if shoot else ()


def _secret_binding_of_shoot(shoot: Shoot) -> Iterable[str]:
    name = shoot.spec.secret_binding_name
    return (str(ObjectKey(shoot.namespace, name)),) if name else ()


def _credentials_binding_of_shoot(shoot: Shoot) -> Iterable[str]:
    name = shoot.spec.credentials_binding_name
    return (str(ObjectKey(shoot.namespace, name)),) if name else ()


def _quotas_of_binding(binding: SecretBinding | CredentialsBinding) -> Iterable[str]:
    return (
        str(ObjectKey(quota.namespace or binding.namespace, quota.name)) for quota in binding.quotas
    )


def _namespace_of_project(project: Project) -> Iterable[str]:
    return filter(None, (project.spec.namespace,))


def _waits(shoot: Shoot) -> Iterable[str]:
    return () if shoot.spec.seed_name or shoot.is_deleting else (shoot.spec.scheduler_name,)


def zones_on(seed: str, needed: int) -> str:
    """Give the value under which shoots are found that need so many zones of their seed."""
    return f"{needed}/{seed}"


def _zones_of_shoot(shoot: Shoot) -> Iterable[str]:
    seed = shoot.spec.seed_name
    needed = ha.effective(shoot).zones_needed if seed else 0
    return (zones_on(seed, needed),) if needed else ()


def _leaves(managed_seed: ManagedSeed) -> Iterable[str]:
    leaves = managed_seed.is_deleting or names.SCALE_IN in managed_seed.metadata.annotations
    return (LEAVING,) if leaves else ()


def _profiles_of_region_config(config_map: ConfigMap) -> Iterable[str]:
    metadata = config_map.metadata
    if metadata.labels.get(names.REGION_CONFIG_PURPOSE) != names.REGION_CONFIG:
        return ()
    return regions.profiles(metadata.annotations.get(names.REGION_CONFIG_PROFILES, ""))


CHILDREN_BY_OWNER: Final = Index("children_by_owner", Object, _owners)
"""Objects of any kind by the uid of an owner."""

SHOOTS_BY_SEED: Final = Index("shoots_by_seed", Shoot, usage.seeds)
"""Shoots by the name of a seed that carries them, as wished or as reported."""

SHOOTS_BY_SECRET_BINDING: Final = Index("shoots_by_secret_binding", Shoot, _secret_binding_of_shoot)
"""Shoots by the key of their SecretBinding."""

SHOOTS_BY_CREDENTIALS_BINDING: Final = Index(
    "shoots_by_credentials_binding", Shoot, _credentials_binding_of_shoot
)
"""Shoots by the key of their CredentialsBinding."""

SECRET_BINDINGS_BY_QUOTA: Final = Index(
    "secret_bindings_by_quota", SecretBinding, _quotas_of_binding
)
"""SecretBindings by the key of a Quota."""

CREDENTIALS_BINDINGS_BY_QUOTA: Final = Index(
    "credentials_bindings_by_quota", CredentialsBinding, _quotas_of_binding
)
"""CredentialsBindings by the key of a Quota."""

MANAGED_SEEDS_BY_SHOOT: Final = Index("managed_seeds_by_shoot", ManagedSeed, _shoot_of_managed_seed)
"""ManagedSeeds by the key of the shoot that they turn into a seed."""

PROJECTS_BY_NAMESPACE: Final = Index("projects_by_namespace", Project, _namespace_of_project)
"""Projects by the namespace that is theirs."""

WAITING_SHOOTS: Final = Index("waiting_shoots", Shoot, _waits)
"""Shoots without a seed by the name of the scheduler that they wait for."""

SHOOTS_BY_ZONES: Final = Index("shoots_by_zones", Shoot, _zones_of_shoot)
"""Shoots that want their control plane in several zones, by `zones_on` their seed."""

LEAVING: Final = "leaving"
LEAVING_MANAGED_SEEDS: Final = Index("leaving_managed_seeds", ManagedSeed, _leaves)
"""Under `LEAVING`, the ManagedSeeds that are being deleted or are chosen for scale-in."""

REGION_CONFIGS_BY_PROFILE: Final = Index(
    "region_configs_by_profile", ConfigMap, _profiles_of_region_config
)
"""ConfigMaps with distances between regions by the CloudProfiles that they are for."""

INDEXES: Final[tuple[Index[Any], ...]] = (
    CHILDREN_BY_OWNER,
    SHOOTS_BY_SEED,
    SHOOTS_BY_SECRET_BINDING,
    SHOOTS_BY_CREDENTIALS_BINDING,
    SECRET_BINDINGS_BY_QUOTA,
    CREDENTIALS_BINDINGS_BY_QUOTA,
    MANAGED_SEEDS_BY_SHOOT,
    PROJECTS_BY_NAMESPACE,
    WAITING_SHOOTS,
    SHOOTS_BY_ZONES,
    LEAVING_MANAGED_SEEDS,
    REGION_CONFIGS_BY_PROFILE,
)
