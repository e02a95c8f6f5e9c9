"""PERMISSIONS: the RBAC permissions of Espalier, the least that it needs in each mode."""

from collections.abc import Iterable, Iterator
from typing import Final, TypedDict

from typing_extensions import Unpack

from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.core import (
    APIService,
    ConfigMap,
    ControllerRevision,
    CustomResourceDefinition,
    Event,
    HorizontalPodAutoscaler,
    Lease,
    MutatingWebhookConfiguration,
    Namespace,
    Node,
    Pod,
    Secret,
    ServiceAccount,
    ValidatingWebhookConfiguration,
)
from webhook.api.extensions import Cluster, Worker
from webhook.api.kinds import kind_of_model
from webhook.api.machines import Machine, MachineClass, MachineDeployment, MachineSet
from webhook.api.managedseeds import ManagedSeed, ManagedSeedSet
from webhook.api.projects import (
    CredentialsBinding,
    ExposureClass,
    Project,
    Quota,
    SecretBinding,
)
from webhook.api.registrations import ControllerRegistration
from webhook.api.scaling import ScheduledScaling, Tortoise
from webhook.api.seedautoscalers import SeedAutoscaler
from webhook.api.seeds import Seed, Zone
from webhook.api.shoots import Shoot
from webhook.cli.install.generate.rules import READ, PermissionRule, Scope
from webhook.cli.install.layout import NAME, InstallMode, Layout
from webhook.domain.features import FEATURE_NAMES, Feature, readers_of
from webhook.kube.meta import Object

STANDALONE: Final[tuple[InstallMode, ...]] = ("standalone",)
"""Where there is no Gardener."""
BESIDE: Final[tuple[InstallMode, ...]] = ("gardener",)
"""Beside a Gardener, whichever controllers are replaced."""
ALWAYS: Final[tuple[InstallMode, ...]] = ("standalone", "gardener")
"""Wherever a garden is: with a Gardener and without one."""
OWN_SEEDS: Final[tuple[InstallMode, ...]] = ("standalone", "own-managedseed")
"""Where Espalier and no gardenlet reconciles ManagedSeeds."""
OWN_SETS: Final[tuple[InstallMode, ...]] = ("standalone", "own-managedseedset")
"""Where Espalier and no gardener-controller-manager scales ManagedSeedSets."""
BRIDGE: Final[tuple[InstallMode, ...]] = ("kube-scheduler",)
"""Where a kube-scheduler places shoots."""


class _Conditions(TypedDict, total=False):
    """The optional fields of a rule."""

    names: tuple[str, ...]
    scope: Scope
    modes: tuple[InstallMode, ...]
    features: tuple[Feature, ...]


def _on(
    model: type[Object],
    *verbs: str,
    why: str,
    subresource: str = "",
    **conditions: Unpack[_Conditions],
) -> PermissionRule:
    kind = kind_of_model(model)
    resource = f"{kind.plural}/{subresource}" if subresource else kind.plural
    return PermissionRule(kind.group, resource, verbs, why, **conditions)


WATCHED: Final[tuple[type[Object], ...]] = (
    CloudProfile,
    NamespacedCloudProfile,
    Project,
    Seed,
    Quota,
    SecretBinding,
    CredentialsBinding,
    Shoot,
    ControllerRegistration,
    ManagedSeed,
    ManagedSeedSet,
    SeedAutoscaler,
    Zone,
    Worker,
    Cluster,
    MachineDeployment,
    MachineSet,
    Machine,
    MachineClass,
    ScheduledScaling,
    Tortoise,
    Namespace,
    Node,
    HorizontalPodAutoscaler,
    ControllerRevision,
    CustomResourceDefinition,
    APIService,
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
"""Kinds that the cache watches in the whole cluster."""

_LIVE: Final[tuple[type[Object], ...]] = (
    CloudProfile,
    NamespacedCloudProfile,
    Seed,
    Shoot,
    ManagedSeed,
    ManagedSeedSet,
    MachineDeployment,
    MachineSet,
    Tortoise,
    Namespace,
)
"""Kinds that admission reads live if the cache does not have an object."""

_LIVE_STANDALONE: Final[tuple[type[Object], ...]] = (
    Quota,
    SecretBinding,
    CredentialsBinding,
    ExposureClass,
)
"""Further ones, of policies that are left to Gardener where there is one."""

_HOOKS: Final = (MutatingWebhookConfiguration, ValidatingWebhookConfiguration)
_LIVE_READS: Final = "admission reads what the cache does not have"
_RBAC: Final = "rbac.authorization.k8s.io"

_SERVING: Final = (
    *(
        _on(model, "list", "watch", features=readers_of(model), why="the cache watches it")
        for model in WATCHED
    ),
    *(_on(model, "get", features=readers_of(model), why=_LIVE_READS) for model in _LIVE),
    *(
        _on(model, "get", modes=STANDALONE, features=readers_of(model), why=_LIVE_READS)
        for model in _LIVE_STANDALONE
    ),
    _on(Event, "create", "patch", why="Events on objects of any namespace"),
    *(_on(model, "create", why="the leader creates them once it is ready") for model in _HOOKS),
    *(_on(model, "patch", names=(NAME,), why="rules and caBundle") for model in _HOOKS),
    _on(
        *(Secret, *READ, "create", "update"),
        scope="own",
        why="the serving certificate and its authority",
    ),
    _on(Lease, "get", "create", "update", scope="own", why="leader election"),
    PermissionRule(
        *("", "services", ("get",), "whether webhooks can use our Service"), scope="own"
    ),
    PermissionRule(
        *("authentication.k8s.io", "tokenreviews", ("create",)),
        "authentication of callers of bind and explain",
        features=("placement",),
    ),
    PermissionRule(
        *("authorization.k8s.io", "subjectaccessreviews", ("create",)),
        "authorization of callers of bind and explain, and of users who choose a seed",
        features=("admission", "placement"),
    ),
)

_PLACEMENT: Final = (
    _on(Shoot, "patch", subresource="binding", modes=BESIDE, why="placements"),
    _on(
        *(Shoot, "update"),
        subresource="binding",
        modes=STANDALONE,
        why="our own policy requires it of everyone who chooses a seed",
    ),
    _on(Shoot, "patch", why="placements, annotations of pending shoots, shoots of sets"),
    _on(Shoot, "patch", subresource="status", why="why a shoot is not placed yet"),
    _on(
        *(ConfigMap, *READ, "create", "update", "patch", "delete"),
        scope="own",
        features=FEATURE_NAMES,
        why="ledgers, pools of machines",
    ),
    _on(ConfigMap, "list", "watch", scope="garden", why="distances of regions"),
    _on(Pod, "list", "watch", scope="own", why="shadow Pods, if a kube-scheduler places shoots"),
)

_SEEDS: Final = (
    _on(Seed, "patch", why="taints and visibility of seeds that are drained"),
    _on(
        *(Seed, "patch"),
        subresource="status",
        modes=STANDALONE,
        features=("placement",),
        why="capacity and allocatable",
    ),
    _on(SeedAutoscaler, "patch", why="its finalizer, while it drains seeds"),
    _on(SeedAutoscaler, "patch", subresource="status", why="metrics and conditions"),
    _on(ManagedSeedSet, "patch", subresource="scale", scope="garden", why="autoscaling"),
    _on(ManagedSeedSet, "patch", subresource="status", scope="garden", why="rollouts"),
    _on(
        *(ManagedSeedSet, "update"),
        subresource="finalizers",
        scope="garden",
        why="revisions block the deletion of their set",
    ),
    _on(ControllerRevision, "create", "patch", "delete", scope="garden", why="history of sets"),
    _on(ManagedSeed, "patch", scope="garden", why="templates of replicas; finalizers"),
)

_REPLICAS: Final = (
    _on(
        *(ManagedSeedSet, "patch"),
        scope="garden",
        modes=OWN_SETS,
        why="the number of the next replica; finalizers",
    ),
    _on(ManagedSeed, "create", "delete", scope="garden", modes=OWN_SETS, why="replicas of sets"),
    _on(Shoot, "create", "delete", scope="garden", modes=OWN_SETS, why="the shoots of replicas"),
)

_GARDENLETS: Final = (
    _on(Seed, "create", "delete", modes=OWN_SEEDS, why="seeds of managed seeds"),
    _on(
        *(ManagedSeed, "patch"),
        subresource="status",
        scope="garden",
        modes=OWN_SEEDS,
        why="conditions",
    ),
    _on(
        *(Secret, "list"),
        scope="garden",
        modes=STANDALONE,
        why="default domains, which Gardener's own admission reads elsewhere",
    ),
    _on(
        *(Secret, "get", "create", "patch", "delete"),
        scope="garden",
        modes=OWN_SEEDS,
        why="kubeconfigs of seeds, credentials of their backups, tokens of gardenlets",
    ),
    PermissionRule(
        *(_RBAC, "clusterrolebindings", ("create", "patch", "delete")),
        "gardenlets that bootstrap with a ServiceAccount",
        modes=OWN_SEEDS,
    ),
    PermissionRule(
        *(_RBAC, "clusterroles", ("bind",), "the only role that those bindings may grant"),
        ("gardener.cloud:system:seed-bootstrapper",),
        modes=OWN_SEEDS,
    ),
    _on(
        *(ServiceAccount, "create", "patch", "delete"),
        scope="garden",
        modes=OWN_SEEDS,
        why="the bootstrap of gardenlets",
    ),
    _on(
        *(Secret, "get", "create", "patch"),
        scope="kube-system",
        modes=OWN_SEEDS,
        why="bootstrap tokens, which are valid in kube-system only",
    ),
)

_NODE_GROUPS: Final = (
    _on(MachineDeployment, "patch", why="sizes and bounds of node groups"),
    _on(MachineSet, "patch", why="permits revoked from a zone that cannot finish"),
)

_SCALING: Final = (
    _on(ScheduledScaling, "patch", why="finalizers"),
    _on(ScheduledScaling, "patch", subresource="status", why="phase and conditions"),
    _on(Tortoise, "patch", why="floors of resources"),
    _on(Tortoise, "patch", subresource="status", why="constraints"),
    _on(HorizontalPodAutoscaler, "patch", why="floors of replicas"),
    _on(
        *(Namespace, "patch"),
        features=("scheduled-scaling", "node-groups"),
        why="labels by which webhooks select namespaces",
    ),
)

_BRIDGE: Final = (
    _on(Node, "create", "patch", "delete", modes=BRIDGE, why="a virtual Node for each seed"),
    _on(Node, "patch", subresource="status", modes=BRIDGE, why="the seed's remaining capacity"),
    _on(
        *(Pod, "get", "create", "delete"),
        scope="own",
        modes=BRIDGE,
        why="a shadow Pod for each shoot without a seed",
    ),
    _on(
        *(Pod, "create"),
        subresource="binding",
        scope="own",
        modes=BRIDGE,
        why="shadow Pods are bound together with their shoots",
    ),
    _on(
        *(Lease, "create", "patch"),
        scope="kube-node-lease",
        modes=BRIDGE,
        why="heartbeats of virtual Nodes",
    ),
)


def _of(block: Iterable[PermissionRule], feature: Feature) -> Iterator[PermissionRule]:
    """Yield the rules of a block, for one feature unless they name others."""
    return (rule._replace(features=rule.features or (feature,)) for rule in block)


PERMISSIONS: Final[tuple[PermissionRule, ...]] = (
    *_SERVING,
    *_of(_PLACEMENT, "placement"),
    *_of(_SEEDS, "seeds"),
    *_of(_REPLICAS, "seeds"),
    *_of(_GARDENLETS, "seeds"),
    *_of(_NODE_GROUPS, "node-groups"),
    *_of(_SCALING, "scheduled-scaling"),
    *_of(_BRIDGE, "placement"),
)
"""All permissions, with the modes that need them and the reason for each."""


def granted(layout: Layout) -> Iterator[PermissionRule]:
    """Yield the permissions of an installation."""
    return (
        rule
        for rule in PERMISSIONS
        if layout.modes & set(rule.modes)
        and (not rule.features or layout.features & set(rule.features))
    )


def granted_to_bridge() -> Iterator[PermissionRule]:
    """Yield the further permissions of an installation whose shoots a kube-scheduler places."""
    return (rule for rule in PERMISSIONS if set(BRIDGE) & set(rule.modes))
