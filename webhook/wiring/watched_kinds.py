"""The kinds that a process watches, by its roles."""

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
from webhook.api.pool_records import POOL_RECORD, PoolRecordObject
from webhook.api.projects import CredentialsBinding, Project, Quota, SecretBinding
from webhook.api.registrations import ControllerRegistration
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed, Zone
from webhook.api.shoots import Shoot
from webhook.cluster.requests import Selection
from webhook.controllers.table import CONTROLLERS
from webhook.domain import features
from webhook.domain.features import Feature, closure
from webhook.kube.meta import Object
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
"""The kinds that policies, filters and the scheduler read."""

_MACHINES: Final[tuple[type[Object], ...]] = tuple(
    model for model in views.WATCHED_MODELS if model is not PoolRecordObject
)
"""The kinds of worker pools, without their records."""

_API_KINDS: Final[tuple[type[Object], ...]] = (APIService, CustomResourceDefinition)
"""The kinds that show which APIs are served, and whether there is a Gardener."""


_OWN_KINDS: Final[tuple[type[Object], ...]] = (
    Secret,
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
"""The kinds of which every process watches its own objects."""

_REGION_CONFIGS: Final = f"{names.REGION_CONFIG_PURPOSE}={names.REGION_CONFIG}"


def models(roles: Collection[Role], chosen: frozenset[Feature]) -> tuple[type[Object], ...]:
    """Return the kinds of which the roles read all objects for the chosen features."""
    if tuple(roles) == ("nodegroups",):
        return (*_API_KINDS, *_MACHINES)
    needed = (model for model in (*_DECISIONS, *_MACHINES) if features.reads(chosen, model))
    found = dict.fromkeys((*_API_KINDS, *needed))
    if "controllers" in roles:
        rows = [row for row in CONTROLLERS if features.has_controller(chosen, row.name)]
        found |= dict.fromkeys(model for row in rows for model in row.models)
    return tuple(found)


def selections(settings: Settings, webhooks: str) -> Iterable[Selection]:
    """Yield what to watch of each kind; of common kinds only the few objects that are ours."""
    garden = settings.garden_namespace
    partial: dict[type[Object], Selection] = {
        ConfigMap: Selection(kind_of_model(ConfigMap), garden, labels=_REGION_CONFIGS),
        Pod: Selection(kind_of_model(Pod), settings.namespace),
        Node: Selection(kind_of_model(Node), labels=names.VIRTUAL),
        Secret: _single(Secret, settings.certificate_secret, settings.namespace),
        MutatingWebhookConfiguration: _single(MutatingWebhookConfiguration, webhooks),
        ValidatingWebhookConfiguration: _single(ValidatingWebhookConfiguration, webhooks),
        PoolRecordObject: Selection(POOL_RECORD, settings.namespace, labels=names.POOL_LABEL),
    }
    chosen = closure(settings.features)
    for model in models(settings.roles, chosen):
        if model not in partial:
            yield Selection(kind_of_model(model))
    for model, selection in partial.items():
        if model in _OWN_KINDS or features.reads(chosen, model):
            yield selection


def _single(model: type[Object], name: str, namespace: str = "") -> Selection:
    return Selection(kind_of_model(model), namespace, fields=f"metadata.name={name}")
