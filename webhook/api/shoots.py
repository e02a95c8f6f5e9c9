"""Structs of Shoot, with the fields that rules, placement and controllers read."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import field

from webhook.api.workers import ShootWorker
from webhook.kube.conditions import ConditionSummary
from webhook.kube.meta import (
    Int32,
    LastOperation,
    Model,
    Object,
    ObjectReference,
    Selector,
    TemplateMetadata,
    describe,
    empty_map,
)


class CloudProfileReference(Model):
    """The CloudProfile or NamespacedCloudProfile of a Shoot."""

    kind: Annotated[str, describe("CloudProfile or NamespacedCloudProfile")] = "CloudProfile"
    name: Annotated[str, describe("its name")] = ""


class SeedSelector(Selector):
    """Which seeds may be used: by labels and by provider types."""

    provider_types: Annotated[
        tuple[str, ...], describe("provider types of seeds that may be used")
    ] = ()


class Toleration(Model):
    """A taint of seeds that a Shoot tolerates."""

    key: Annotated[str, describe("the key of the taint")] = ""
    value: Annotated[str | None, describe("its value; absent: any taint without one")] = None


class AccessRestriction(Model):
    """A restriction that a seed must support."""

    name: Annotated[str, describe("the name of the restriction")] = ""


class FailureTolerance(Model):
    """Upstream's spelling: `node` or `zone`."""

    type: Annotated[str, describe("node (single-zone) or zone (multi-zone)")] = ""


class HighAvailability(Model):
    """Upstream's spelling of a highly available control plane."""

    failure_tolerance: FailureTolerance | None = None


class ControlPlane(Model):
    """Where and how reliably the control plane runs."""

    high_availability: HighAvailability | None = None
    zones: Annotated[tuple[str, ...], describe("zones of the seed to run in")] = ()


class FailureDomain(Model):
    """What may fail, and what happens if no seed can offer that."""

    type: Annotated[str, describe("single-zone or multi-zone")] = ""
    when_unsatisfied: Annotated[str, describe("DoNotSchedule or ScheduleAnyway")] = ""


class DocumentHighAvailability(Model):
    """The spelling of document 003, below `spec.kubernetes.controlPlane`."""

    enabled: Annotated[bool | None, describe("whether it is on; default false")] = None
    type: Annotated[str, describe("single-zone or multi-zone")] = ""
    failure_domain: FailureDomain | None = None
    failure_tolerance: Annotated[Int32 | None, describe("how many failures to survive, 1 or 2")] = (
        None
    )


class KubernetesControlPlane(Model):
    """High availability and region of the control plane, as document 003 writes them."""

    high_availability: DocumentHighAvailability | None = None
    region_affinity: Annotated[str, describe("preferred or required: the Shoot's own region")] = ""


class ClusterAutoscaler(Model):
    """How node groups of the Shoot are sized."""

    sizing_strategy: Annotated[str, describe("Adaptive or Backward-Compatible")] = ""


class VerticalPodAutoscaler(Model):
    """Whether the Shoot runs a vertical pod autoscaler."""

    enabled: Annotated[bool, describe("whether it runs")] = False


class FeatureGated(Model):
    """A component of which only the feature gates matter here."""

    feature_gates: Annotated[Mapping[str, bool], describe("feature gates by name")] = field(
        default_factory=empty_map
    )


class Kubernetes(Model):
    """Version and components of the Shoot's control plane."""

    version: Annotated[str, describe("the Kubernetes version")] = ""
    vertical_pod_autoscaler: VerticalPodAutoscaler | None = None
    cluster_autoscaler: ClusterAutoscaler | None = None
    control_plane: KubernetesControlPlane | None = None
    kube_api_server: FeatureGated | None = field(name="kubeAPIServer", default=None)
    kube_controller_manager: FeatureGated | None = None
    kube_proxy: FeatureGated | None = None


class ShootProvider(Model):
    """The infrastructure of a Shoot and its pools of machines."""

    type: Annotated[str, describe("the infrastructure, e.g. aws")] = ""
    workers: tuple[ShootWorker, ...] = ()


class Networking(Model):
    """Address ranges of a Shoot."""

    type: Annotated[str, describe("the network plugin")] = ""
    nodes: Annotated[str, describe("address range of nodes")] = ""
    pods: Annotated[str, describe("address range of pods")] = ""
    services: Annotated[str, describe("address range of services")] = ""
    ip_families: Annotated[tuple[str, ...], describe("IPv4, IPv6 or both")] = ()


class ShootDNSProvider(Model):
    """A DNS provider of a Shoot."""

    type: Annotated[str, describe("the DNS service, or unmanaged")] = ""
    primary: Annotated[bool, describe("whether it serves the domain")] = False
    secret_name: Annotated[str, describe("the Secret with its credentials")] = ""
    credentials_ref: ObjectReference | None = None


class ShootDNS(Model):
    """Domain and DNS providers of a Shoot."""

    domain: Annotated[str, describe("the domain of the control plane")] = ""
    providers: tuple[ShootDNSProvider, ...] = ()


class Addon(Model):
    """An addon that is on or off."""

    enabled: Annotated[bool, describe("whether it is on")] = False


class Addons(Model):
    """Addons of a Shoot."""

    nginx_ingress: Addon | None = None
    kubernetes_dashboard: Addon | None = None


class Hibernation(Model):
    """Whether a Shoot is hibernated."""

    enabled: Annotated[bool, describe("whether the Shoot is hibernated")] = False


class TimeWindow(Model):
    """A daily window, each end written HHMMSS±ZZZZ."""

    begin: Annotated[str, describe("HHMMSS±ZZZZ")] = ""
    end: Annotated[str, describe("HHMMSS±ZZZZ")] = ""


class AutoUpdate(Model):
    """What maintenance may update by itself."""

    kubernetes_version: Annotated[bool, describe("patch versions of Kubernetes")] = False
    machine_image_version: Annotated[bool | None, describe("versions of machine images")] = None


class Maintenance(Model):
    """When and how a Shoot is maintained."""

    time_window: TimeWindow | None = None
    auto_update: AutoUpdate | None = None
    confine_spec_update_rollout: Annotated[bool, describe("hold changes until the window")] = False


class ShootExtension(Model):
    """An extension that a Shoot enables or disables."""

    type: Annotated[str, describe("the extension")] = ""
    disabled: Annotated[bool, describe("whether it is disabled")] = False


class ShootSpec(Model):
    """The desired state of a cluster."""

    cloud_profile: CloudProfileReference | None = None
    cloud_profile_name: Annotated[str, describe("the older way to name the CloudProfile")] = ""
    region: Annotated[str, describe("the region of the infrastructure")] = ""
    purpose: Annotated[
        str, describe("evaluation, testing, development, production or infrastructure")
    ] = ""
    credentials_binding_name: Annotated[str, describe("the CredentialsBinding to use")] = ""
    secret_binding_name: Annotated[str, describe("the SecretBinding to use")] = ""
    seed_name: Annotated[str, describe("the seed that hosts the control plane")] = ""
    seed_selector: SeedSelector | None = None
    scheduler_name: Annotated[str, describe("the scheduler that places the Shoot")] = ""
    exposure_class_name: Annotated[str, describe("how the control plane is exposed")] = ""
    tolerations: tuple[Toleration, ...] = ()
    access_restrictions: tuple[AccessRestriction, ...] = ()
    control_plane: ControlPlane | None = None
    provider: ShootProvider = ShootProvider()
    networking: Networking | None = None
    dns: ShootDNS | None = None
    kubernetes: Kubernetes = Kubernetes()
    addons: Addons | None = None
    hibernation: Hibernation | None = None
    maintenance: Maintenance | None = None
    extensions: tuple[ShootExtension, ...] = ()


class ShootNetworkStatus(Model):
    """The actual address ranges of a Shoot."""

    pods: Annotated[tuple[str, ...], describe("address ranges of pods")] = ()
    nodes: Annotated[tuple[str, ...], describe("address ranges of nodes")] = ()
    services: Annotated[tuple[str, ...], describe("address ranges of services")] = ()


class ShootStatus(Model):
    """The observed state of a Shoot."""

    conditions: tuple[ConditionSummary, ...] = ()
    hibernated: Annotated[bool, describe("whether the Shoot is hibernated")] = False
    last_operation: LastOperation | None = None
    observed_generation: Annotated[int, describe("the generation that was acted on")] = 0
    seed_name: Annotated[str, describe("the seed that hosts it now")] = ""
    seeds: Annotated[tuple[str, ...], describe("seeds that still have to be cleaned up")] = ()
    technical_id: Annotated[str, describe("the name of its namespace in the seed")] = field(
        name="technicalID", default=""
    )
    networking: ShootNetworkStatus | None = None


class Shoot(Object):
    """A Kubernetes cluster for users, managed by Gardener."""

    spec: ShootSpec = ShootSpec()
    status: ShootStatus = ShootStatus()


class ShootTemplate(Model):
    """The Shoot that a set makes for each of its replicas."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: ShootSpec = ShootSpec()
