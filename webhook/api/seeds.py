"""Structs of Seed and Zone: clusters that host control planes, and where they stand."""

from collections.abc import Mapping
from typing import Any

from msgspec import field

from webhook.api.conditions import Condition
from webhook.api.meta import (
    Int32,
    LastOperation,
    Model,
    NamespacedReference,
    Object,
    ObjectReference,
    Quantity,
    TemplateMetadata,
    nothing,
)
from webhook.api.shoots import AccessRestriction


class SeedProvider(Model):
    """The infrastructure under a seed."""

    type: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()


class ShootNetworkDefaults(Model):
    """Address ranges that shoots get if they ask for none."""

    pods: str = ""
    services: str = ""


class SeedNetworks(Model):
    """Address ranges of a seed."""

    nodes: str = ""
    pods: str = ""
    services: str = ""
    shoot_defaults: ShootNetworkDefaults | None = None
    block_cidrs: tuple[str, ...] = field(name="blockCIDRs", default=())
    ip_families: tuple[str, ...] = ()


class SeedDNSProvider(Model):
    """Type and credentials of a seed's DNS provider."""

    type: str = ""
    credentials_ref: ObjectReference | None = None
    secret_ref: NamespacedReference | None = None


class SeedDNSDomain(Model):
    """A domain that a seed can serve."""

    type: str = ""
    domain: str = ""
    zone: str = ""
    credentials_ref: ObjectReference | None = None


class SeedDNS(Model):
    """DNS of a seed."""

    provider: SeedDNSProvider | None = None
    internal: SeedDNSDomain | None = None
    defaults: tuple[SeedDNSDomain, ...] = ()
    ingress_domain: str = ""


class IngressController(Model):
    """The ingress controller of a seed."""

    kind: str = ""


class SeedIngress(Model):
    """How a seed exposes its services."""

    domain: str = ""
    controller: IngressController = IngressController()


class SeedBackup(Model):
    """Where a seed keeps backups."""

    provider: str = ""
    region: str = ""
    credentials_ref: ObjectReference | None = None
    secret_ref: NamespacedReference | None = None


class SeedTaint(Model):
    """What a shoot must tolerate to be placed on a seed."""

    key: str = ""
    value: str | None = None


class VisibleSetting(Model):
    """Whether the scheduler may use a seed."""

    visible: bool = True


class EnabledSetting(Model):
    """Something that is on or off."""

    enabled: bool = False


class ZoneSelection(Model):
    """Whether control planes stay in the zones of their shoots' workers."""

    mode: str = ""


class ZonalLoadBalancer(Model):
    """Load balancer settings for one zone."""

    name: str = ""


class LoadBalancerServices(Model):
    """Load balancer settings of a seed."""

    zones: tuple[ZonalLoadBalancer, ...] = ()


class SeedSettings(Model):
    """What a seed does and offers."""

    scheduling: VisibleSetting | None = None
    vertical_pod_autoscaler: EnabledSetting | None = None
    topology_aware_routing: EnabledSetting | None = None
    load_balancer_services: LoadBalancerServices | None = None
    zone_selection: ZoneSelection | None = None


class SeedExtension(Model):
    """An extension that a seed asks for."""

    type: str = ""
    disabled: bool = False


class SeedSpec(Model):
    """What a seed is made of."""

    provider: SeedProvider = SeedProvider()
    networks: SeedNetworks = SeedNetworks()
    dns: SeedDNS = SeedDNS()
    ingress: SeedIngress | None = None
    backup: SeedBackup | None = None
    secret_ref: NamespacedReference | None = None
    taints: tuple[SeedTaint, ...] = ()
    settings: SeedSettings | None = None
    access_restrictions: tuple[AccessRestriction, ...] = ()
    extensions: tuple[SeedExtension, ...] = ()


class SeedStatus(Model):
    """What is known of a seed, and what it can carry."""

    conditions: tuple[Condition, ...] = ()
    capacity: Mapping[str, Quantity] = field(default_factory=nothing)
    allocatable: Mapping[str, Quantity] = field(default_factory=nothing)
    last_operation: LastOperation | None = None
    kubernetes_version: str = ""
    cluster_identity: str = ""
    observed_generation: int = 0


class Seed(Object):
    """A cluster that hosts the control planes of shoots."""

    spec: SeedSpec = SeedSpec()
    status: SeedStatus = SeedStatus()

    @property
    def is_visible(self) -> bool:
        """Whether the scheduler may use this seed; a seed that does not say is visible."""
        settings = self.spec.settings
        return settings is None or settings.scheduling is None or settings.scheduling.visible


class SeedTemplate(Model):
    """The Seed that a ManagedSeed registers."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: SeedSpec = SeedSpec()


class ZoneSpec(Model):
    """Which zone of which infrastructure."""

    provider: str = ""
    region: str = ""
    zone: str = ""


class ZoneSeed(Model):
    """What one seed sees of a zone."""

    name: str = ""
    nodes: Int32 = 0
    ready_nodes: Int32 = 0
    machines: Int32 = 0
    failed_machines: Int32 = 0
    message: str = ""


class ZoneStatus(Model):
    """Whether a zone can be used."""

    observed_generation: int = 0
    conditions: tuple[Condition, ...] = ()
    seeds: tuple[ZoneSeed, ...] = ()
    details: Mapping[str, Any] = field(default_factory=nothing)


class Zone(Object):
    """An availability zone and its health, seen from all seeds that stand in it."""

    spec: ZoneSpec = ZoneSpec()
    status: ZoneStatus = ZoneStatus()
