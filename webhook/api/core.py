"""Structs of the Kubernetes kinds that are watched or written."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import field

from webhook.api.conditions import Condition
from webhook.api.meta import (
    Int32,
    LocalReference,
    Model,
    NamespacedReference,
    Object,
    ObjectReference,
    Quantity,
    Selector,
    nothing,
    says,
)


class NamespaceStatus(Model):
    """Whether a namespace lives."""

    phase: str = ""


class Namespace(Object):
    """A room for names."""

    status: NamespaceStatus = NamespaceStatus()

    @property
    def is_terminating(self) -> bool:
        return self.is_deleting or self.status.phase == "Terminating"


class ConfigMap(Object):
    """Settings as texts."""

    data: Mapping[str, str] = field(default_factory=nothing)


class Secret(Object):
    """Confidential data; values are base64 text as on the wire."""

    type: str = ""
    data: Mapping[str, str] = field(default_factory=nothing)


class LeaseSpec(Model):
    """Who holds a lease, since when and for how long."""

    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: Int32 | None = None


class Lease(Object):
    """A claim that its holder renews."""

    spec: LeaseSpec = LeaseSpec()


class Event(Object):
    """Something that happened to an object."""

    involved_object: ObjectReference = ObjectReference()
    type: str = ""
    reason: str = ""
    message: str = ""
    count: Int32 = 0
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None


class ResourceRequirements(Model):
    """What a container asks for."""

    requests: Mapping[str, Quantity] = field(default_factory=nothing)
    limits: Mapping[str, Quantity] = field(default_factory=nothing)


class Container(Model):
    """A container as far as its resources go."""

    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()


class PodSpec(Model):
    """Where a Pod runs, and what."""

    node_name: str = ""
    scheduler_name: str = ""
    containers: tuple[Container, ...] = ()


class PodStatus(Model):
    """Whether a Pod runs."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Pod(Object):
    """Containers that run together."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class Taint(Model):
    """What pods must tolerate to run on a Node."""

    key: Annotated[str, says("the key")] = ""
    value: Annotated[str, says("the value")] = ""
    effect: Annotated[str, says("NoSchedule, PreferNoSchedule or NoExecute")] = ""


class NodeSpec(Model):
    """What is set for a Node."""

    provider_id: str = field(name="providerID", default="")
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(Model):
    """What a Node has and how it is."""

    capacity: Mapping[str, Quantity] = field(default_factory=nothing)
    allocatable: Mapping[str, Quantity] = field(default_factory=nothing)
    conditions: tuple[Condition, ...] = ()


class Node(Object):
    """A machine of a cluster."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class ServiceAccount(Object):
    """An identity for programs."""

    secrets: tuple[LocalReference, ...] = ()


class PodTemplate(Model):
    """The Pods that a workload makes."""

    spec: PodSpec = PodSpec()


class DeploymentSpec(Model):
    """What a Deployment runs, and how often."""

    replicas: Int32 | None = None
    selector: Selector = Selector()
    template: PodTemplate = PodTemplate()


class DeploymentStatus(Model):
    """How much of a Deployment runs."""

    observed_generation: int = 0
    replicas: Int32 = 0
    ready_replicas: Int32 = 0
    updated_replicas: Int32 = 0
    available_replicas: Int32 = 0
    conditions: tuple[Condition, ...] = ()


class Deployment(Object):
    """Like Pods, kept at a number."""

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class ControllerRevision(Object):
    """A template as it once was."""

    revision: int = 0
    data: Any = None


class HorizontalPodAutoscalerSpec(Model):
    """What an autoscaler scales, and within which bounds."""

    scale_target_ref: ObjectReference = ObjectReference()
    min_replicas: Int32 | None = None
    max_replicas: Int32 = 0


class HorizontalPodAutoscalerStatus(Model):
    """What an autoscaler saw and wants."""

    current_replicas: Int32 = 0
    desired_replicas: Int32 = 0
    last_scale_time: str | None = None


class HorizontalPodAutoscaler(Object):
    """Scales a workload by its load."""

    spec: HorizontalPodAutoscalerSpec = HorizontalPodAutoscalerSpec()
    status: HorizontalPodAutoscalerStatus = HorizontalPodAutoscalerStatus()


class DefinitionNames(Model):
    """What a defined kind is called."""

    plural: str = ""
    kind: str = ""


class DefinitionVersion(Model):
    """One version of a defined kind."""

    name: str = ""
    served: bool = False
    storage: bool = False
    schema: Any = None


class DefinitionSpec(Model):
    """A kind that somebody added to the API."""

    group: str = ""
    names: DefinitionNames = DefinitionNames()
    scope: str = ""
    versions: tuple[DefinitionVersion, ...] = ()


class DefinitionStatus(Model):
    """Whether a defined kind is served."""

    conditions: tuple[Condition, ...] = ()
    stored_versions: tuple[str, ...] = ()


class CustomResourceDefinition(Object):
    """The definition of a kind."""

    spec: DefinitionSpec = DefinitionSpec()
    status: DefinitionStatus = DefinitionStatus()


class APIServiceSpec(Model):
    """Who serves a group and version."""

    group: str = ""
    version: str = ""
    service: NamespacedReference | None = None


class APIServiceStatus(Model):
    """Whether a group and version can be reached."""

    conditions: tuple[Condition, ...] = ()


class APIService(Object):
    """A group and version of the API, and who serves it."""

    spec: APIServiceSpec = APIServiceSpec()
    status: APIServiceStatus = APIServiceStatus()


class WebhookClientConfig(Model):
    """Where a webhook is, and whom it trusts."""

    url: str | None = None
    ca_bundle: str = ""


class Webhook(Model):
    """One webhook of a configuration."""

    name: str = ""
    client_config: WebhookClientConfig = WebhookClientConfig()


class MutatingWebhookConfiguration(Object):
    """Webhooks that may change objects."""

    webhooks: tuple[Webhook, ...] = ()


class ValidatingWebhookConfiguration(Object):
    """Webhooks that may refuse objects."""

    webhooks: tuple[Webhook, ...] = ()
