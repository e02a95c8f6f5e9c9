"""What Espalier may do in a cluster: the least that its rooms need, with the reason for each."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.core import (
    APIService,
    ConfigMap,
    ControllerRevision,
    CustomResourceDefinition,
    Deployment,
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
from webhook.api.meta import Draft, Object
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
from webhook.cli.install.layout import NAME

READ: Final = ("get", "list", "watch")


class Right(NamedTuple):
    """Verbs on a resource, and why they are needed."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    why: str
    names: tuple[str, ...] = ()


def _on(
    model: type[Object], *verbs: str, why: str, subresource: str = "", only: tuple[str, ...] = ()
) -> Right:
    kind = kind_of_model(model)
    resource = f"{kind.plural}/{subresource}" if subresource else kind.plural
    return Right(kind.group, resource, verbs, why, only)


WATCHED: Final[tuple[type[Object], ...]] = (
    CloudProfile,
    NamespacedCloudProfile,
    Project,
    Seed,
    Quota,
    SecretBinding,
    CredentialsBinding,
    ExposureClass,
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
    Deployment,
    HorizontalPodAutoscaler,
    ControllerRevision,
    CustomResourceDefinition,
    APIService,
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
"""Kinds that the cache follows in the whole cluster."""

_HOOKS: Final = (MutatingWebhookConfiguration, ValidatingWebhookConfiguration)

CLUSTER: Final[tuple[Right, ...]] = (
    *(_on(model, *READ, why="the cache follows it") for model in WATCHED),
    _on(
        *(Shoot, "update", "patch"),
        subresource="binding",
        why="placements beside a Gardener; elsewhere our own policy asks for it",
    ),
    _on(Shoot, "create", "patch", "delete", why="placements, and the shoots of sets"),
    _on(Shoot, "patch", subresource="status", why="why a shoot is not placed yet"),
    _on(Seed, "create", "patch", "delete", why="seeds of managed seeds; draining taints"),
    _on(Seed, "patch", subresource="status", why="capacity and allocatable"),
    _on(ManagedSeed, "create", "patch", "delete", why="replicas of sets; finalizers"),
    _on(ManagedSeed, "patch", subresource="status", why="conditions"),
    _on(ManagedSeed, "update", subresource="finalizers", why="secrets that it owns"),
    _on(ManagedSeedSet, "patch", why="the number of the next replica; finalizers"),
    _on(ManagedSeedSet, "patch", subresource="status", why="counters, revisions, conditions"),
    _on(ManagedSeedSet, "get", "update", "patch", subresource="scale", why="autoscaling"),
    _on(ManagedSeedSet, "update", subresource="finalizers", why="replicas that it owns"),
    _on(SeedAutoscaler, "patch", why="what it noted about a set"),
    _on(SeedAutoscaler, "patch", subresource="status", why="metrics and conditions"),
    _on(Zone, "create", "patch", "delete", why="zones come and go with seeds"),
    _on(Zone, "patch", subresource="status", why="health of zones"),
    _on(ControllerRevision, "create", "patch", "delete", why="history of sets"),
    _on(MachineDeployment, "patch", why="sizes and bounds of node groups"),
    _on(MachineSet, "patch", why="permits taken back from a zone that cannot finish"),
    _on(ScheduledScaling, "patch", why="finalizers"),
    _on(ScheduledScaling, "patch", subresource="status", why="phase and conditions"),
    _on(Tortoise, "patch", why="floors of resources"),
    _on(Tortoise, "patch", subresource="status", why="constraints"),
    _on(HorizontalPodAutoscaler, "patch", why="floors of replicas"),
    _on(Namespace, "patch", why="labels by which webhooks select namespaces"),
    _on(Event, "create", "patch", why="Events on objects of any namespace"),
    *(_on(model, "create", why="the leader makes them once it is ready") for model in _HOOKS),
    *(
        _on(model, "update", "patch", "delete", only=(NAME,), why="rules and caBundle")
        for model in _HOOKS
    ),
    Right("authentication.k8s.io", "tokenreviews", ("create",), "who calls bind and explain"),
    Right("authorization.k8s.io", "subjectaccessreviews", ("create",), "whether they may"),
)
"""Rights in the whole cluster."""

OWN_NAMESPACE: Final[tuple[Right, ...]] = (
    _on(ConfigMap, *READ, "create", "update", "patch", "delete", why="ledgers, pools of machines"),
    _on(
        Secret, *READ, "create", "update", "patch", why="the serving certificate and its authority"
    ),
    _on(Lease, *READ, "create", "update", "patch", why="leader election"),
    Right("", "services", ("get",), "whether webhooks can point to our Service"),
    _on(Pod, *READ, why="shadows of shoots, where a kube-scheduler is the engine"),
)
"""Rights in the namespace of the installation."""

GARDEN_NAMESPACE: Final[tuple[Right, ...]] = (
    _on(ConfigMap, *READ, why="distances of regions"),
    _on(Secret, *READ, "create", "patch", "delete", why="default domains; kubeconfigs of seeds"),
)
"""Rights in the namespace that holds managed seeds."""


_RBAC: Final = "rbac.authorization.k8s.io"

MANAGED_SEEDS_CLUSTER: Final[tuple[Right, ...]] = (
    Right(
        *(_RBAC, "clusterrolebindings", ("create", "patch", "delete")),
        "gardenlets that reach the garden by a ServiceAccount at first",
    ),
    Right(
        *(_RBAC, "clusterroles", ("bind",), "the only role that those bindings may give"),
        ("gardener.cloud:system:seed-bootstrapper",),
    ),
)
"""Rights in the whole cluster where managed seeds are ours and not a gardenlet's."""

MANAGED_SEEDS_GARDEN: Final[tuple[Right, ...]] = (
    _on(ServiceAccount, "create", "patch", "delete", why="the first contact of gardenlets"),
)
"""Rights in the namespace of managed seeds where these are ours."""

MANAGED_SEEDS_SYSTEM: Final[tuple[Right, ...]] = (
    _on(Secret, "get", "create", why="bootstrap tokens, which count in kube-system only"),
)
"""Rights in kube-system where managed seeds are ours."""

ENGINE_CLUSTER: Final[tuple[Right, ...]] = (
    _on(Node, "create", "patch", "delete", why="a virtual Node for each seed"),
    _on(Node, "patch", subresource="status", why="what the seed can still take"),
)
"""Further rights in the whole cluster where a kube-scheduler is the engine."""

ENGINE_OWN_NAMESPACE: Final[tuple[Right, ...]] = (
    _on(Pod, "create", "delete", why="a shadow Pod for each shoot without a seed"),
    _on(Pod, "create", subresource="binding", why="shadows are bound when their shoots are"),
)
"""Further rights in our namespace where a kube-scheduler is the engine."""

ENGINE_LEASES: Final[tuple[Right, ...]] = (
    _on(Lease, "get", "create", "patch", why="signs of life of virtual Nodes"),
)
"""Rights in the namespace of Nodes' leases where a kube-scheduler is the engine."""


def rules(rights: Iterable[Right]) -> list[Draft]:
    """Write rights as the rules of a role, as few as possible, in a stable order."""
    merged: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for right in rights:
        verbs = merged.setdefault((right.group, right.resource, right.names), [])
        verbs += [verb for verb in right.verbs if verb not in verbs]
    return list(_join(merged))


def _join(merged: dict[tuple[str, str, tuple[str, ...]], list[str]]) -> Iterator[Draft]:
    alike: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (group, resource, only), verbs in merged.items():
        alike.setdefault((group, only, tuple(verbs)), []).append(resource)
    for (group, only, allowed), resources in sorted(alike.items()):
        rule: Draft = {"apiGroups": [group], "resources": sorted(resources)}
        if only:
            rule["resourceNames"] = list(only)
        yield {**rule, "verbs": list(allowed)}
