"""Which kinds a process follows, by what it does."""

from collections.abc import Collection, Iterable
from typing import Final

from webhook.api import names
from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.core import (
    APIService,
    ConfigMap,
    CustomResourceDefinition,
    HorizontalPodAutoscaler,
    MutatingWebhookConfiguration,
    Node,
    Pod,
    Secret,
    ValidatingWebhookConfiguration,
)
from webhook.api.extensions import Cluster, Worker
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineDeployment, MachineSet
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.meta import Object
from webhook.api.poolobjects import POOL_OBJECT, PoolObject
from webhook.api.projects import CredentialsBinding, Project, Quota, SecretBinding
from webhook.api.registrations import ControllerRegistration
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed, Zone
from webhook.api.shoots import Shoot
from webhook.cluster.requests import Selection
from webhook.controllers.table import CONTROLLERS
from webhook.nodegroups import views
from webhook.server.app import Role
from webhook.settings import Settings

_DECISIONS: Final[tuple[type[Object], ...]] = (
    CloudProfile,
    NamespacedCloudProfile,
    Project,
    Seed,
    Shoot,
    Quota,
    SecretBinding,
    CredentialsBinding,
    ControllerRegistration,
    ManagedSeed,
    ManagedSeedSet,
    SeedAutoscaler,
    Zone,
    ScheduledScaling,
    Tortoise,
    HorizontalPodAutoscaler,
    Worker,
    Cluster,
    MachineDeployment,
    MachineSet,
    Machine,
)
"""What policies, filters and the scheduler read; the overlay counts placements on all of it."""

_MACHINES: Final[tuple[type[Object], ...]] = tuple(
    model for model in views.FOLLOWED if model is not PoolObject
)
"""What worker pools are made of, beside their records."""

_LANDSCAPE: Final[tuple[type[Object], ...]] = (APIService, CustomResourceDefinition)
"""What tells which kinds are served, and whether a Gardener is there."""


_REGION_CONFIGS: Final = f"{names.REGION_CONFIG_PURPOSE}={names.REGION_CONFIG}"


def models(roles: Collection[Role]) -> tuple[type[Object], ...]:
    """List the kinds that the roles read as a whole."""
    if tuple(roles) == ("nodegroups",):
        return (*_LANDSCAPE, *_MACHINES)
    found = dict.fromkeys((*_LANDSCAPE, *_DECISIONS, *_MACHINES))
    if "controllers" in roles:
        found |= dict.fromkeys(model for row in CONTROLLERS for model in row.models)
    return tuple(found)


def selections(settings: Settings, webhooks: str) -> Iterable[Selection]:
    """Say what to follow of each kind: of common kinds only the few objects that concern us."""
    garden = settings.admission.garden_namespace
    partly = {
        ConfigMap: Selection(kind_of_model(ConfigMap), garden, labels=_REGION_CONFIGS),
        Pod: Selection(kind_of_model(Pod), settings.namespace),
        Node: Selection(kind_of_model(Node), labels=names.VIRTUAL),
        Secret: _one(Secret, settings.certificate_secret, settings.namespace),
        MutatingWebhookConfiguration: _one(MutatingWebhookConfiguration, webhooks),
        ValidatingWebhookConfiguration: _one(ValidatingWebhookConfiguration, webhooks),
        PoolObject: Selection(POOL_OBJECT, settings.namespace, labels=names.POOL_LABEL),
    }
    for model in models(settings.roles):
        if model not in partly:
            yield Selection(kind_of_model(model))
    yield from partly.values()


def _one(model: type[Object], name: str, namespace: str = "") -> Selection:
    return Selection(kind_of_model(model), namespace, fields=f"metadata.name={name}")
