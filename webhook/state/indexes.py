"""INDEXES: the one table of what objects are found by, besides their keys."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from webhook.api import names
from webhook.api.core import ConfigMap, HorizontalPodAutoscaler
from webhook.api.extensions import Worker
from webhook.api.machines import MachineDeployment, MachineSet
from webhook.api.managedseeds import ManagedSeed
from webhook.api.meta import Object, ObjectKey
from webhook.api.projects import CredentialsBinding, Project, SecretBinding
from webhook.api.registrations import ControllerRegistration
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.shoots import Shoot
from webhook.domain import ha, hosting, notes, ordinals, regions, schedules, usage

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
    return (shoot.spec.scheduler_name,) if hosting.waits(shoot) else ()


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


def _target_of_autoscaler(autoscaler: SeedAutoscaler) -> Iterable[str]:
    target = autoscaler.spec.scale_target_ref.name
    return (str(ObjectKey(autoscaler.namespace, target)),) if target else ()


def _kinds_of_registration(registration: ControllerRegistration) -> Iterable[str]:
    return (
        f"{resource.kind}/{resource.type}"
        for resource in registration.spec.resources
        if resource.primary is not False
    )


def _tortoise_of_scaling(scaling: ScheduledScaling) -> Iterable[str]:
    tortoise = ObjectKey(scaling.namespace, scaling.spec.target_refs.tortoise_name)
    return (str(tortoise), scaling.namespace)


def _autoscaler_of_tortoise(tortoise: Tortoise) -> Iterable[str]:
    return (str(ObjectKey(tortoise.namespace, schedules.autoscaler_of(tortoise))),)


def stage(namespace: str, of: str) -> str:
    """Give the value under which a namespace's schedules of one stage are found."""
    return f"{namespace}@{of}"


def _stage_of_scaling(scaling: ScheduledScaling) -> Iterable[str]:
    status = scaling.status
    if status.phase in ("", ACTIVE):
        return (stage(scaling.namespace, status.phase),)
    if status.phase == "Pending" and status.window is not None and not scaling.spec.suspend:
        return (stage(scaling.namespace, minute(status.window.start)),)
    return ()


def minute(written: str) -> str:
    """Cut an instant, as it is written in UTC, to its minute."""
    return written[:16]


def _tortoise_in_notes(obj: Tortoise | HorizontalPodAutoscaler) -> Iterable[str]:
    found = notes.parse(obj.metadata.annotations.get(notes.ANNOTATION))
    if found is not None:
        return (str(ObjectKey(obj.namespace, found.tortoise)), obj.namespace)
    return (obj.namespace,) if names.SCALING_AFTERMATH in obj.metadata.annotations else ()


def _series(obj: Object) -> Iterable[str]:
    base = ordinals.base_of(obj.name)
    return (str(ObjectKey(obj.namespace, base)),) if base else ()


def _name(obj: Object) -> Iterable[str]:
    return (obj.name,)


def _waits_for_seed(shoot: Shoot) -> Iterable[str]:
    return (WAITING,) if hosting.waits(shoot) else ()


def _namespace(obj: Object) -> Iterable[str]:
    return (obj.namespace,)


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

NUMBERED_SHOOTS: Final = Index("numbered_shoots", Shoot, _series)
"""Shoots that are named like replicas of a set, by the key that such a set would have."""

NUMBERED_MANAGED_SEEDS: Final = Index("numbered_managed_seeds", ManagedSeed, _series)
"""ManagedSeeds that are named like replicas of a set, by the key that such a set would have."""

MANAGED_SEEDS_BY_NAME: Final = Index("managed_seeds_by_name", ManagedSeed, _name)
"""ManagedSeeds by their name alone, which is also their seed's."""

WAITING: Final = "waiting"
SHOOTS_WITHOUT_SEED: Final = Index("shoots_without_seed", Shoot, _waits_for_seed)
"""Under `WAITING`, the shoots that no seed is assigned to, whoever is to place them."""

REGION_CONFIGS_BY_PROFILE: Final = Index(
    "region_configs_by_profile", ConfigMap, _profiles_of_region_config
)
"""ConfigMaps with distances between regions by the CloudProfiles that they are for."""

AUTOSCALERS_BY_TARGET: Final = Index("autoscalers_by_target", SeedAutoscaler, _target_of_autoscaler)
"""SeedAutoscalers by the key of the set that they scale."""

REGISTRATIONS_BY_KIND: Final = Index(
    "registrations_by_kind", ControllerRegistration, _kinds_of_registration
)
"""ControllerRegistrations by the `kind/type` that they are primary for."""

SCALINGS_BY_TORTOISE: Final = Index("scalings_by_tortoise", ScheduledScaling, _tortoise_of_scaling)
"""ScheduledScalings by the key of their Tortoise, and by their namespace."""

ACTIVE: Final = "Active"
SCALINGS_BY_STAGE: Final = Index("scalings_by_stage", ScheduledScaling, _stage_of_scaling)
"""ScheduledScalings by `stage` of their namespace: new, active, or the minute they open next."""

TORTOISES_BY_AUTOSCALER: Final = Index("tortoises_by_autoscaler", Tortoise, _autoscaler_of_tortoise)
"""Tortoises by the key of their HorizontalPodAutoscaler."""

NOTED_TORTOISES: Final = Index("noted_tortoises", Tortoise, _tortoise_in_notes)
NOTED_AUTOSCALERS: Final = Index("noted_autoscalers", HorizontalPodAutoscaler, _tortoise_in_notes)
"""What carries notes of raised values, by the Tortoise that they name, and by namespace.

A Tortoise in the aftermath of a window is found by its namespace, too: it still needs us.
"""

DEPLOYMENTS_BY_NAMESPACE: Final = Index("deployments_by_namespace", MachineDeployment, _namespace)
SETS_BY_NAMESPACE: Final = Index("sets_by_namespace", MachineSet, _namespace)
WORKERS_BY_NAMESPACE: Final = Index("workers_by_namespace", Worker, _namespace)
"""What defines a shoot's pools, by the shoot's namespace on the seed."""

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
    NUMBERED_SHOOTS,
    NUMBERED_MANAGED_SEEDS,
    MANAGED_SEEDS_BY_NAME,
    SHOOTS_WITHOUT_SEED,
    AUTOSCALERS_BY_TARGET,
    REGION_CONFIGS_BY_PROFILE,
    REGISTRATIONS_BY_KIND,
    SCALINGS_BY_TORTOISE,
    SCALINGS_BY_STAGE,
    TORTOISES_BY_AUTOSCALER,
    NOTED_TORTOISES,
    NOTED_AUTOSCALERS,
    DEPLOYMENTS_BY_NAMESPACE,
    SETS_BY_NAMESPACE,
    WORKERS_BY_NAMESPACE,
)
