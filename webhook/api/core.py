"""Structs of Kubernetes' own kinds, with the fields that are read here."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import field

from webhook.kube.conditions import Condition
from webhook.kube.meta import (
    Int32,
    LocalReference,
    Model,
    NamespacedReference,
    Object,
    ObjectReference,
    Quantity,
    Selector,
    describe,
    empty_map,
)


class NamespaceStatus(Model):
    """The phase of a Namespace."""

    phase: str = ""


class Namespace(Object):
    """A Namespace."""

    status: NamespaceStatus = NamespaceStatus()

    @property
    def is_terminating(self) -> bool:
        return self.is_deleting or self.status.phase == "Terminating"


class ConfigMap(Object):
    """A ConfigMap."""

    data: Mapping[str, str] = field(default_factory=empty_map)


class Secret(Object):
    """A Secret; values are base64, as in JSON."""

    type: str = ""
    data: Mapping[str, str] = field(default_factory=empty_map)


class LeaseSpec(Model):
    """The holder of a Lease, since when and for how long."""

    holder_identity: str | None = None
    lease_duration_seconds: Int32 | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: Int32 | None = None


class Lease(Object):
    """A Lease."""

    spec: LeaseSpec = LeaseSpec()


class Event(Object):
    """An Event of an object."""

    involved_object: ObjectReference = ObjectReference()
    type: str = ""
    reason: str = ""
    message: str = ""
    count: Int32 = 0
    first_timestamp: str | None = None
    last_timestamp: str | None = None
    event_time: str | None = None


class ResourceRequirements(Model):
    """The requests and limits of a container."""

    requests: Mapping[str, Quantity] = field(default_factory=empty_map)
    limits: Mapping[str, Quantity] = field(default_factory=empty_map)


class Container(Model):
    """Name and resources of a container."""

    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()


class PodSpec(Model):
    """Node, scheduler and containers of a Pod."""

    node_name: str = ""
    scheduler_name: str = ""
    containers: tuple[Container, ...] = ()


class PodStatus(Model):
    """Phase and conditions of a Pod."""

    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Pod(Object):
    """A Pod."""

    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class Taint(Model):
    """What pods must tolerate to run on a Node."""

    key: Annotated[str, describe("the key")] = ""
    value: Annotated[str, describe("the value")] = ""
    effect: Annotated[str, describe("NoSchedule, PreferNoSchedule or NoExecute")] = ""


class NodeSpec(Model):
    """Provider id, schedulability and taints of a Node."""

    provider_id: str = field(name="providerID", default="")
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeStatus(Model):
    """Resources and conditions of a Node."""

    capacity: Mapping[str, Quantity] = field(default_factory=empty_map)
    allocatable: Mapping[str, Quantity] = field(default_factory=empty_map)
    conditions: tuple[Condition, ...] = ()


class Node(Object):
    """A Node."""

    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class ServiceAccount(Object):
    """A ServiceAccount."""

    secrets: tuple[LocalReference, ...] = ()


class PodTemplate(Model):
    """The Pod template of a workload."""

    spec: PodSpec = PodSpec()


class DeploymentSpec(Model):
    """Replicas, selector and Pod template of a Deployment."""

    replicas: Int32 | None = None
    selector: Selector = Selector()
    template: PodTemplate = PodTemplate()


class DeploymentStatus(Model):
    """The replica counts and conditions of a Deployment."""

    observed_generation: int = 0
    replicas: Int32 = 0
    ready_replicas: Int32 = 0
    updated_replicas: Int32 = 0
    available_replicas: Int32 = 0
    conditions: tuple[Condition, ...] = ()


class Deployment(Object):
    """A Deployment."""

    spec: DeploymentSpec = DeploymentSpec()
    status: DeploymentStatus = DeploymentStatus()


class ControllerRevision(Object):
    """A ControllerRevision."""

    revision: int = 0
    data: Any = None


class HorizontalPodAutoscalerSpec(Model):
    """Target and bounds of a HorizontalPodAutoscaler."""

    scale_target_ref: ObjectReference = ObjectReference()
    min_replicas: Int32 | None = None
    max_replicas: Int32 = 0


class HorizontalPodAutoscalerStatus(Model):
    """Current and desired replicas of a HorizontalPodAutoscaler."""

    current_replicas: Int32 = 0
    desired_replicas: Int32 = 0
    last_scale_time: str | None = None


class HorizontalPodAutoscaler(Object):
    """A HorizontalPodAutoscaler."""

    spec: HorizontalPodAutoscalerSpec = HorizontalPodAutoscalerSpec()
    status: HorizontalPodAutoscalerStatus = HorizontalPodAutoscalerStatus()


class DefinitionNames(Model):
    """The names of a defined kind."""

    plural: str = ""
    kind: str = ""


class DefinitionVersion(Model):
    """One version of a defined kind."""

    name: str = ""
    served: bool = False
    storage: bool = False
    schema: Any = None


class DefinitionSpec(Model):
    """Group, names, scope and versions of a defined kind."""

    group: str = ""
    names: DefinitionNames = DefinitionNames()
    scope: str = ""
    versions: tuple[DefinitionVersion, ...] = ()


class DefinitionStatus(Model):
    """Conditions and stored versions of a defined kind."""

    conditions: tuple[Condition, ...] = ()
    stored_versions: tuple[str, ...] = ()


class CustomResourceDefinition(Object):
    """A CustomResourceDefinition."""

    spec: DefinitionSpec = DefinitionSpec()
    status: DefinitionStatus = DefinitionStatus()


class APIServiceSpec(Model):
    """Group, version and Service of an aggregated API."""

    group: str = ""
    version: str = ""
    service: NamespacedReference | None = None


class APIServiceStatus(Model):
    """Conditions of an aggregated API."""

    conditions: tuple[Condition, ...] = ()


class APIService(Object):
    """An APIService."""

    spec: APIServiceSpec = APIServiceSpec()
    status: APIServiceStatus = APIServiceStatus()


class WebhookClientConfig(Model):
    """URL and CA bundle of a webhook."""

    url: str | None = None
    ca_bundle: str = ""


class Webhook(Model):
    """One webhook of a configuration."""

    name: str = ""
    client_config: WebhookClientConfig = WebhookClientConfig()


class MutatingWebhookConfiguration(Object):
    """A MutatingWebhookConfiguration."""

    webhooks: tuple[Webhook, ...] = ()


class ValidatingWebhookConfiguration(Object):
    """A ValidatingWebhookConfiguration."""

    webhooks: tuple[Webhook, ...] = ()
