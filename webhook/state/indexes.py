"""INDEXES: the table of all values by which objects are looked up, besides their keys."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from webhook.api import names
from webhook.api.core import ConfigMap, HorizontalPodAutoscaler
from webhook.api.extensions import Worker
from webhook.api.machines import MachineDeployment, MachineSet
from webhook.api.managedseeds import ManagedSeed
from webhook.api.projects import CredentialsBinding, Project, SecretBinding
from webhook.api.registrations import ControllerRegistration
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.shoots import Shoot
from webhook.domain.placement import region_config
from webhook.domain.scaling import raised_values, schedules
from webhook.domain.seeds import usage
from webhook.domain.sets import ordinals
from webhook.domain.shoots import ha, unscheduled
from webhook.kube.meta import Object, ObjectKey

T = TypeVar("T", bound=Object)


@dataclass(frozen=True, slots=True, eq=False)
class Index(Generic[T]):
    """The values by which objects of a kind are looked up; the function must be pure.

    An index on `Object` itself applies to every kind.
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


def _scheduler_of_unscheduled(shoot: Shoot) -> Iterable[str]:
    return (shoot.spec.scheduler_name,) if unscheduled.needs_seed(shoot) else ()


def zones_key(seed: str, needed: int) -> str:
    """Return the index value of shoots on a seed that need that many of its zones."""
    return f"{needed}/{seed}"


def _zones_of_shoot(shoot: Shoot) -> Iterable[str]:
    seed = shoot.spec.seed_name
    needed = ha.effective(shoot).zones_needed if seed else 0
    return (zones_key(seed, needed),) if needed else ()


def _removed_managed_seed(managed_seed: ManagedSeed) -> Iterable[str]:
    is_leaving = managed_seed.is_deleting or names.SCALE_IN in managed_seed.metadata.annotations
    return (LEAVING,) if is_leaving else ()


def _profiles_of_region_config(config_map: ConfigMap) -> Iterable[str]:
    metadata = config_map.metadata
    if metadata.labels.get(names.REGION_CONFIG_PURPOSE) != names.REGION_CONFIG:
        return ()
    return region_config.profiles(metadata.annotations.get(names.REGION_CONFIG_PROFILES, ""))


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


def phase_key(namespace: str, phase: str) -> str:
    """Return the index value of a namespace's ScheduledScalings in a phase or opening minute."""
    return f"{namespace}@{phase}"


def _phase_of_scaling(scaling: ScheduledScaling) -> Iterable[str]:
    status = scaling.status
    if status.phase in ("", ACTIVE):
        return (phase_key(scaling.namespace, status.phase),)
    if status.phase == "Pending" and status.window is not None and not scaling.spec.suspend:
        return (phase_key(scaling.namespace, minute(status.window.start)),)
    return ()


def minute(time: str) -> str:
    """Truncate an RFC 3339 time in UTC to its minute."""
    return time[:16]


def _tortoise_of_raised_values(obj: Tortoise | HorizontalPodAutoscaler) -> Iterable[str]:
    found = raised_values.parse(obj.metadata.annotations.get(raised_values.ANNOTATION))
    if found is not None:
        return (str(ObjectKey(obj.namespace, found.tortoise)), obj.namespace)
    return (obj.namespace,) if names.SCALING_AFTERMATH in obj.metadata.annotations else ()


def _set_of_replica_name(obj: Object) -> Iterable[str]:
    base = ordinals.base_of(obj.name)
    return (str(ObjectKey(obj.namespace, base)),) if base else ()


def _name(obj: Object) -> Iterable[str]:
    return (obj.name,)


def _unscheduled(shoot: Shoot) -> Iterable[str]:
    return (WAITING,) if unscheduled.needs_seed(shoot) else ()


def _namespace(obj: Object) -> Iterable[str]:
    return (obj.namespace,)


CHILDREN_BY_OWNER: Final = Index("children_by_owner", Object, _owners)
"""Objects of any kind by the uid of an owner."""

SHOOTS_BY_SEED: Final = Index("shoots_by_seed", Shoot, usage.seeds_of)
"""Shoots by the name of a seed in their spec or status."""

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
"""ManagedSeeds by the key of the shoot that they register as a seed."""

PROJECTS_BY_NAMESPACE: Final = Index("projects_by_namespace", Project, _namespace_of_project)
"""Projects by their namespace."""

WAITING_SHOOTS: Final = Index("waiting_shoots", Shoot, _scheduler_of_unscheduled)
"""Shoots that need a seed, by `spec.schedulerName`."""

SHOOTS_BY_ZONES: Final = Index("shoots_by_zones", Shoot, _zones_of_shoot)
"""Shoots whose control plane spans several zones, by the `zones_key` of their seed."""

LEAVING: Final = "leaving"
LEAVING_MANAGED_SEEDS: Final = Index("leaving_managed_seeds", ManagedSeed, _removed_managed_seed)
"""The ManagedSeeds that are being deleted or chosen for scale-in, under `LEAVING`."""

NUMBERED_SHOOTS: Final = Index("numbered_shoots", Shoot, _set_of_replica_name)
"""Shoots with the name of a replica, by the key of the set that the name implies."""

NUMBERED_MANAGED_SEEDS: Final = Index("numbered_managed_seeds", ManagedSeed, _set_of_replica_name)
"""ManagedSeeds with the name of a replica, by the key of the set that the name implies."""

MANAGED_SEEDS_BY_NAME: Final = Index("managed_seeds_by_name", ManagedSeed, _name)
"""ManagedSeeds by name, which is also the name of their seed."""

WAITING: Final = "waiting"
SHOOTS_WITHOUT_SEED: Final = Index("shoots_without_seed", Shoot, _unscheduled)
"""All shoots that need a seed, whatever their scheduler, under `WAITING`."""

REGION_CONFIGS_BY_PROFILE: Final = Index(
    "region_configs_by_profile", ConfigMap, _profiles_of_region_config
)
"""ConfigMaps with distances between regions, by the CloudProfiles that they apply to."""

AUTOSCALERS_BY_TARGET: Final = Index("autoscalers_by_target", SeedAutoscaler, _target_of_autoscaler)
"""SeedAutoscalers by the key of the ManagedSeedSet that they scale."""

REGISTRATIONS_BY_KIND: Final = Index(
    "registrations_by_kind", ControllerRegistration, _kinds_of_registration
)
"""ControllerRegistrations by the `kind/type` that they are primary for."""

SCALINGS_BY_TORTOISE: Final = Index("scalings_by_tortoise", ScheduledScaling, _tortoise_of_scaling)
"""ScheduledScalings by the key of their Tortoise, and by their namespace."""

ACTIVE: Final = "Active"
SCALINGS_BY_PHASE: Final = Index("scalings_by_phase", ScheduledScaling, _phase_of_scaling)
"""ScheduledScalings that are new, active or pending, by `phase_key`: the phase of the first two,
the minute of the next opening of the last."""

TORTOISES_BY_AUTOSCALER: Final = Index("tortoises_by_autoscaler", Tortoise, _autoscaler_of_tortoise)
"""Tortoises by the key of their HorizontalPodAutoscaler."""

RAISED_TORTOISES: Final = Index("raised_tortoises", Tortoise, _tortoise_of_raised_values)
RAISED_AUTOSCALERS: Final = Index(
    "raised_autoscalers", HorizontalPodAutoscaler, _tortoise_of_raised_values
)
"""Objects with raised values, by the key of the Tortoise named there, and by namespace.

A Tortoise in the aftermath of a window is also found by namespace: it still has to be reconciled.
"""

DEPLOYMENTS_BY_NAMESPACE: Final = Index("deployments_by_namespace", MachineDeployment, _namespace)
SETS_BY_NAMESPACE: Final = Index("sets_by_namespace", MachineSet, _namespace)
WORKERS_BY_NAMESPACE: Final = Index("workers_by_namespace", Worker, _namespace)
"""The objects that define a shoot's worker pools, by the shoot's namespace on the seed."""

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
    SCALINGS_BY_PHASE,
    TORTOISES_BY_AUTOSCALER,
    RAISED_TORTOISES,
    RAISED_AUTOSCALERS,
    DEPLOYMENTS_BY_NAMESPACE,
    SETS_BY_NAMESPACE,
    WORKERS_BY_NAMESPACE,
)
