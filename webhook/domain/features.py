"""FEATURES: the parts of Espalier that can be installed and run by themselves.

Policies and controllers are named as in their tables, which import this package.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.core import (
    ConfigMap,
    ControllerRevision,
    HorizontalPodAutoscaler,
    Namespace,
    Node,
    Pod,
    Secret,
)
from webhook.api.extensions import (
    BackupInfrastructure,
    Cluster,
    Generic,
    Infrastructure,
    MachineCloudConfig,
    Worker,
    WorkerPool,
)
from webhook.api.machines import Machine, MachineClass, MachineDeployment, MachineSet
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.pool_records import PoolRecordObject
from webhook.api.projects import CredentialsBinding, ExposureClass, Project, Quota, SecretBinding
from webhook.api.registrations import (
    ControllerInstallation,
    ControllerRegistration,
    DNSEntry,
    DNSProvider,
    Etcd,
    GardenBackupInfrastructure,
    ShootState,
)
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed, Zone
from webhook.api.shoots import Shoot
from webhook.kube.meta import Object

Feature: TypeAlias = Literal[
    "admission", "placement", "seeds", "node-groups", "scheduled-scaling", "extensions"
]
FEATURE_NAMES: Final[tuple[Feature, ...]] = get_args(Feature)
ALL_FEATURES: Final = frozenset(FEATURE_NAMES)

_SHOOTS_AND_SEEDS: Final = (Shoot, Seed, ManagedSeed, CloudProfile, NamespacedCloudProfile, Project)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureParts:
    """What one feature consists of."""

    does: str
    policies: tuple[str, ...] = ()
    controllers: tuple[str, ...] = ()
    reads: tuple[type[Object], ...] = ()
    """The kinds that its policies, controllers and scheduler read from the cache."""
    looks_up: tuple[type[Object], ...] = ()
    """Further kinds, of which it reads single objects from the API server."""
    writes: tuple[type[Object], ...] = ()
    """Further kinds that belong to it: users create them, or policies validate them."""
    requires: tuple[Feature, ...] = ()
    """Features without which it does not work."""


FEATURES: Final[Mapping[Feature, FeatureParts]] = {
    "admission": FeatureParts(
        does="validates Shoots and Seeds and sets their defaults",
        policies=(
            "shoot.defaults",
            "shoot.workers",
            "shoot.sizing",
            "shoot.ha",
            "shoot.placement",
            "shoot.quota",
            "shoot.registered",
            "shoot.confirmation",
            "shoot.identity",
            "shoot.references",
            "shoot.binding",
            "shoot.finalizers",
            "seed.defaults",
            "seed.zones",
            "seed.spec",
            "seed.deletion",
            "seed.status",
        ),
        reads=(*_SHOOTS_AND_SEEDS, Quota, SecretBinding, CredentialsBinding),
        looks_up=(ExposureClass,),
    ),
    "placement": FeatureParts(
        does="assigns seeds to Shoots, by itself or through a kube-scheduler",
        policies=("shoot.scheduler", "shoot.placement"),
        controllers=(
            "capacity",
            "regions",
            "bridge.node",
            "bridge.node.stray",
            "bridge.pod",
            "bridge.pod.stray",
        ),
        reads=(*_SHOOTS_AND_SEEDS, ConfigMap, Node, Pod),
        looks_up=(Namespace,),
    ),
    "seeds": FeatureParts(
        does="reconciles ManagedSeeds and ManagedSeedSets and scales these sets",
        policies=(
            "seed.zones",
            "managedseed.defaults",
            "managedseed.rules",
            "managedseed.deletion",
            "managedseed.status",
            "managedseedset.defaults",
            "managedseedset.rules",
            "managedseedset.status",
            "seedautoscaler.defaults",
            "seedautoscaler.rules",
        ),
        controllers=(
            "capacity",
            "managedseed",
            "care",
            "managedseedset",
            "managedseedset.rollout",
            "seedautoscaler",
            "seedautoscaler.cordon",
        ),
        reads=(
            *_SHOOTS_AND_SEEDS,
            ManagedSeedSet,
            SeedAutoscaler,
            Zone,
            SecretBinding,
            CredentialsBinding,
            ControllerRevision,
            ConfigMap,
        ),
        looks_up=(Secret,),
        # The Shoots of sets need a seed, and draining a seed is a matter of placement.
        requires=("placement",),
    ),
    "node-groups": FeatureParts(
        does="sizes worker pools across zones, and serves them to cluster-autoscalers",
        policies=("machinedeployment.pool", "machinedeployment.rolling", "machineset.permits"),
        controllers=("pools.fields", "pools.namespace", "pools.records", "pools.nudges"),
        reads=(
            MachineDeployment,
            MachineSet,
            Machine,
            MachineClass,
            Worker,
            Cluster,
            PoolRecordObject,
            Namespace,
        ),
    ),
    "scheduled-scaling": FeatureParts(
        does="keeps scheduled minimums of workloads that a Tortoise scales",
        policies=(
            "scheduledscaling.rules",
            "tortoise.floors",
            "tortoise.constraints",
            "autoscaler.floors",
        ),
        controllers=(
            "scaling.autoscaler",
            "scaling.tortoise",
            "scaling.namespace",
            "scaling.status",
        ),
        reads=(ScheduledScaling, Tortoise, HorizontalPodAutoscaler, Namespace),
    ),
    "extensions": FeatureParts(
        does="validates registrations and the objects of extensions",
        policies=("controllerregistration.rules", "extension.rules"),
        reads=(ControllerRegistration,),
        writes=(
            ControllerInstallation,
            GardenBackupInfrastructure,
            ShootState,
            Infrastructure,
            BackupInfrastructure,
            MachineCloudConfig,
            WorkerPool,
            Generic,
            DNSProvider,
            DNSEntry,
            Etcd,
        ),
    ),
}


def closure(chosen: Collection[Feature]) -> frozenset[Feature]:
    """Return the chosen features and those that they require."""
    found = frozenset(chosen)
    required = {each for name in found for each in FEATURES[name].requires}
    return found if required <= found else closure(found | required)


def has_policy(chosen: Collection[Feature], name: str) -> bool:
    """Return whether a policy belongs to one of the features."""
    return any(name in parts.policies for parts in _parts(chosen))


def has_controller(chosen: Collection[Feature], name: str) -> bool:
    """Return whether a controller belongs to one of the features."""
    return any(name in parts.controllers for parts in _parts(chosen))


def reads(chosen: Collection[Feature], model: type[Object]) -> bool:
    """Return whether one of the features reads a kind from the cache."""
    return any(model in parts.reads for parts in _parts(chosen))


def needs(chosen: Collection[Feature], model: type[Object]) -> bool:
    """Return whether a kind has to exist for one of the features."""
    return bool({*readers_of(model), *_writers_of(model)} & {*chosen})


def readers_of(model: type[Object]) -> tuple[Feature, ...]:
    """Return the features that read a kind, from the cache or from the API server."""
    return tuple(
        name for name, parts in FEATURES.items() if model in (*parts.reads, *parts.looks_up)
    )


def _writers_of(model: type[Object]) -> tuple[Feature, ...]:
    return tuple(name for name, parts in FEATURES.items() if model in parts.writes)


def _parts(chosen: Collection[Feature]) -> Iterator[FeatureParts]:
    return (FEATURES[name] for name in chosen)
