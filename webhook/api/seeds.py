"""Structs of Seed and Zone."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import field

from webhook.api.shoots import AccessRestriction
from webhook.kube.conditions import Condition
from webhook.kube.meta import (
    Int32,
    LastOperation,
    Model,
    NamespacedReference,
    Object,
    ObjectReference,
    Quantity,
    TemplateMetadata,
    describe,
    empty_map,
)


class SeedProvider(Model):
    """The infrastructure under a seed."""

    type: Annotated[str, describe("the infrastructure, e.g. aws")] = ""
    region: Annotated[str, describe("the region of the seed")] = ""
    zones: Annotated[tuple[str, ...], describe("the zones of its nodes")] = ()


class ShootNetworkDefaults(Model):
    """Default address ranges of shoots."""

    pods: Annotated[str, describe("address range of pods")] = ""
    services: Annotated[str, describe("address range of services")] = ""


class SeedNetworks(Model):
    """Address ranges of a seed."""

    nodes: Annotated[str | None, describe("address range of nodes")] = None
    pods: Annotated[str, describe("address range of pods")] = ""
    services: Annotated[str, describe("address range of services")] = ""
    shoot_defaults: ShootNetworkDefaults | None = None
    block_cidrs: Annotated[tuple[str, ...], describe("ranges that shoots may not reach")] = field(
        name="blockCIDRs", default=()
    )
    ip_families: Annotated[tuple[str, ...], describe("IPv4, IPv6 or both")] = ()


class SeedDNSProvider(Model):
    """Type and credentials of a seed's DNS provider."""

    type: Annotated[str, describe("the DNS service")] = ""
    credentials_ref: ObjectReference | None = None
    secret_ref: NamespacedReference | None = None


class SeedDNSDomain(Model):
    """A domain that a seed can serve."""

    type: Annotated[str, describe("the DNS service")] = ""
    domain: Annotated[str, describe("the domain")] = ""
    zone: Annotated[str, describe("its zone in the DNS service")] = ""
    credentials_ref: ObjectReference | None = None


class SeedDNS(Model):
    """DNS of a seed."""

    provider: SeedDNSProvider | None = None
    internal: SeedDNSDomain | None = None
    defaults: tuple[SeedDNSDomain, ...] = ()
    ingress_domain: Annotated[str, describe("the older place of ingress.domain")] = ""


class IngressController(Model):
    """The ingress controller of a seed."""

    kind: Annotated[str, describe("the controller; only nginx")] = ""


class SeedIngress(Model):
    """How a seed exposes its services."""

    domain: Annotated[str, describe("the domain of exposed services")] = ""
    controller: IngressController = IngressController()


class SeedBackup(Model):
    """Where a seed keeps backups."""

    provider: Annotated[str, describe("the infrastructure of the backups")] = ""
    region: Annotated[str, describe("the region of the backups")] = ""
    credentials_ref: ObjectReference | None = None
    secret_ref: NamespacedReference | None = None


class SeedTaint(Model):
    """What a shoot must tolerate to be placed on a seed."""

    key: Annotated[str, describe("the key that a shoot must tolerate")] = ""
    value: Annotated[str | None, describe("the value that it must tolerate")] = None


class VisibleSetting(Model):
    """Whether the scheduler may use a seed."""

    visible: Annotated[bool, describe("whether the scheduler may use the seed; default true")] = (
        True
    )


class EnabledSetting(Model):
    """Something that is on or off."""

    enabled: Annotated[bool, describe("whether it is on")] = False


class ZoneSelection(Model):
    """Whether control planes stay in the zones of their shoots' workers."""

    mode: Annotated[str, describe("Prefer or Enforce")] = ""


class ZonalLoadBalancer(Model):
    """Load balancer settings for one zone."""

    name: Annotated[str, describe("the name of the zone")] = ""


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
    """An extension that a seed enables or disables."""

    type: Annotated[str, describe("the extension")] = ""
    disabled: Annotated[bool, describe("whether it is disabled")] = False


class SeedSpec(Model):
    """The specification of a seed."""

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
    """The observed state of a seed, and its capacity."""

    conditions: tuple[Condition, ...] = ()
    capacity: Annotated[
        Mapping[str, Quantity], describe("the capacity of the seed, e.g. shoots")
    ] = field(default_factory=empty_map)
    allocatable: Annotated[Mapping[str, Quantity], describe("capacity less what is reserved")] = (
        field(default_factory=empty_map)
    )
    last_operation: LastOperation | None = None
    kubernetes_version: Annotated[str, describe("the version of the cluster")] = ""
    cluster_identity: Annotated[str, describe("a unique name")] = ""
    observed_generation: Annotated[int, describe("the generation that was acted on")] = 0
    client_certificate_expiration_timestamp: Annotated[
        str | None, describe("until when the gardenlet may access the garden")
    ] = None


class Seed(Object):
    """A cluster that hosts the control planes of shoots."""

    spec: SeedSpec = SeedSpec()
    status: SeedStatus = SeedStatus()

    @property
    def is_visible(self) -> bool:
        """Whether the scheduler may use this seed; the default is visible."""
        settings = self.spec.settings
        return settings is None or settings.scheduling is None or settings.scheduling.visible


class SeedTemplate(Model):
    """The Seed that a ManagedSeed registers."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: SeedSpec = SeedSpec()


class ZoneSpec(Model):
    """Which zone of which infrastructure."""

    provider: Annotated[str, describe("the infrastructure, e.g. aws")] = ""
    region: Annotated[str, describe("the region of the zone")] = ""
    zone: Annotated[str, describe("the name of the zone in its region")] = ""


class ZoneSeed(Model):
    """The health of a zone as one seed observes it."""

    name: Annotated[str, describe("the name of the seed")] = ""
    nodes: Annotated[Int32, describe("its nodes in the zone")] = 0
    ready_nodes: Annotated[Int32, describe("those that are ready")] = 0
    machines: Annotated[Int32, describe("its machines in the zone")] = 0
    failed_machines: Annotated[Int32, describe("those that failed or cannot be made")] = 0
    message: Annotated[str, describe("what is wrong, if anything")] = ""


class ZoneStatus(Model):
    """Whether a zone can be used."""

    observed_generation: Annotated[int, describe("the generation that was acted on")] = 0
    conditions: tuple[Condition, ...] = ()
    seeds: Annotated[tuple[ZoneSeed, ...], describe("the observation of each seed")] = ()


class Zone(Object):
    """An availability zone and its health, as observed by all seeds in it."""

    spec: ZoneSpec = ZoneSpec()
    status: ZoneStatus = ZoneStatus()
