"""Structs of the Shoot: what rules, placement and controllers read of it."""

from collections.abc import Mapping

from msgspec import field

from webhook.api.conditions import Condition
from webhook.api.meta import (
    Int32,
    LastError,
    LastOperation,
    Model,
    Object,
    ObjectReference,
    Selector,
    TemplateMetadata,
    nothing,
)
from webhook.api.workers import Worker


class CloudProfileReference(Model):
    """The CloudProfile or NamespacedCloudProfile of a Shoot."""

    kind: str = "CloudProfile"
    name: str = ""


class SeedSelector(Selector):
    """Which seeds may be used: by labels and by provider types."""

    provider_types: tuple[str, ...] = ()


class Toleration(Model):
    """A taint of seeds that a Shoot puts up with."""

    key: str = ""
    value: str | None = None


class AccessRestriction(Model):
    """A restriction that a seed must support."""

    name: str = ""


class FailureTolerance(Model):
    """Upstream's spelling: `node` or `zone`."""

    type: str = ""


class HighAvailability(Model):
    """Upstream's spelling of a highly available control plane."""

    failure_tolerance: FailureTolerance | None = None


class ControlPlane(Model):
    """Where and how reliably the control plane runs."""

    high_availability: HighAvailability | None = None
    zones: tuple[str, ...] = ()


class FailureDomain(Model):
    """What may fail, and what happens if no seed can offer that."""

    type: str = ""
    when_unsatisfied: str = ""


class DocumentHighAvailability(Model):
    """The spelling of document 003, below `spec.kubernetes.controlPlane`."""

    enabled: bool | None = None
    type: str = ""
    failure_domain: FailureDomain | None = None
    failure_tolerance: Int32 | None = None


class KubernetesControlPlane(Model):
    """High availability and closeness of the control plane, as document 003 writes them."""

    high_availability: DocumentHighAvailability | None = None
    region_affinity: str = ""


class ClusterAutoscaler(Model):
    """How node groups of the Shoot are sized."""

    sizing_strategy: str = ""


class VerticalPodAutoscaler(Model):
    """Whether the Shoot runs a vertical pod autoscaler."""

    enabled: bool = False


class FeatureGated(Model):
    """A component of which only the feature gates matter here."""

    feature_gates: Mapping[str, bool] = field(default_factory=nothing)


class Kubernetes(Model):
    """Version and components of the Shoot's control plane."""

    version: str = ""
    vertical_pod_autoscaler: VerticalPodAutoscaler | None = None
    cluster_autoscaler: ClusterAutoscaler | None = None
    control_plane: KubernetesControlPlane | None = None
    kube_api_server: FeatureGated | None = field(name="kubeAPIServer", default=None)
    kube_controller_manager: FeatureGated | None = None
    kube_proxy: FeatureGated | None = None


class ShootProvider(Model):
    """The infrastructure of a Shoot and its pools of machines."""

    type: str = ""
    workers: tuple[Worker, ...] = ()


class Networking(Model):
    """Address ranges of a Shoot."""

    type: str = ""
    nodes: str = ""
    pods: str = ""
    services: str = ""
    ip_families: tuple[str, ...] = ()


class DNSProvider(Model):
    """A DNS provider that a Shoot brings along."""

    type: str = ""
    primary: bool = False
    secret_name: str = ""
    credentials_ref: ObjectReference | None = None


class ShootDNS(Model):
    """Domain and DNS providers of a Shoot."""

    domain: str = ""
    providers: tuple[DNSProvider, ...] = ()


class Addon(Model):
    """An addon that is on or off."""

    enabled: bool = False


class Addons(Model):
    """Addons of a Shoot."""

    nginx_ingress: Addon | None = None
    kubernetes_dashboard: Addon | None = None


class Hibernation(Model):
    """Whether a Shoot is to sleep."""

    enabled: bool = False


class TimeWindow(Model):
    """A daily window, each end written HHMMSS±ZZZZ."""

    begin: str = ""
    end: str = ""


class AutoUpdate(Model):
    """What maintenance may update by itself."""

    kubernetes_version: bool = False
    machine_image_version: bool | None = None


class Maintenance(Model):
    """When and how a Shoot is maintained."""

    time_window: TimeWindow | None = None
    auto_update: AutoUpdate | None = None
    confine_spec_update_rollout: bool = False


class ShootExtension(Model):
    """An extension that a Shoot asks for or opts out of."""

    type: str = ""
    disabled: bool = False


class ShootSpec(Model):
    """The wish: which cluster, where."""

    cloud_profile: CloudProfileReference | None = None
    cloud_profile_name: str = ""
    region: str = ""
    purpose: str = ""
    credentials_binding_name: str = ""
    secret_binding_name: str = ""
    seed_name: str = ""
    seed_selector: SeedSelector | None = None
    scheduler_name: str = ""
    exposure_class_name: str = ""
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
    """Address ranges that a Shoot really has."""

    pods: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    services: tuple[str, ...] = ()


class ShootStatus(Model):
    """What controllers say about a Shoot."""

    conditions: tuple[Condition, ...] = ()
    constraints: tuple[Condition, ...] = ()
    hibernated: bool = False
    last_operation: LastOperation | None = None
    last_errors: tuple[LastError, ...] = ()
    observed_generation: int = 0
    seed_name: str = ""
    seeds: tuple[str, ...] = ()
    technical_id: str = field(name="technicalID", default="")
    networking: ShootNetworkStatus | None = None


class Shoot(Object):
    """A cluster that Gardener runs for somebody."""

    spec: ShootSpec = ShootSpec()
    status: ShootStatus = ShootStatus()


class ShootTemplate(Model):
    """The Shoot that a set makes for each of its replicas."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: ShootSpec = ShootSpec()
