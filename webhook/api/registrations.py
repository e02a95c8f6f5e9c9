"""Structs of ControllerRegistration, ShootState, backups, DNS records and Etcd."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import field

from webhook.api.extensions import ExtensionStatus
from webhook.kube.conditions import Condition
from webhook.kube.meta import (
    Int32,
    Int64,
    LocalReference,
    Model,
    NamespacedReference,
    Object,
    Selector,
    describe,
    empty_map,
)


class RegisteredResource(Model):
    """A kind of extension object, and the type of it that a controller handles."""

    kind: Annotated[str, describe("the extension kind, e.g. Infrastructure", required=True)] = ""
    type: Annotated[str, describe("the type of that kind, e.g. aws", required=True)] = ""
    primary: Annotated[bool | None, describe("whether it may write the status; default true")] = (
        None
    )


class RegistrationDeployment(Model):
    """How a controller is deployed to seeds."""

    type: Annotated[str, describe("how it is deployed; only helm is acted on")] = ""
    provider_config: Annotated[Any, describe("what is deployed")] = None
    policy: Annotated[str, describe("OnDemand, Always or AlwaysExceptNoShoots")] = ""
    seed_selector: Selector | None = None
    deployment_refs: tuple[LocalReference, ...] = ()


class ControllerRegistrationSpec(Model):
    """What a controller handles."""

    resources: tuple[RegisteredResource, ...] = ()
    deployment: RegistrationDeployment | None = None


class ControllerRegistration(Object):
    """A controller for extension objects."""

    spec: ControllerRegistrationSpec = ControllerRegistrationSpec()


class ControllerInstallationSpec(Model):
    """Which controller is installed where."""

    registration_ref: LocalReference = LocalReference()
    seed_ref: LocalReference | None = None
    shoot_ref: NamespacedReference | None = None
    deployment_ref: LocalReference | None = None


class ControllerInstallationStatus(Model):
    """The result of the installation."""

    conditions: tuple[Condition, ...] = ()
    provider_status: Annotated[Any, describe("what the deployer reports")] = None


class ControllerInstallation(Object):
    """A controller in a seed."""

    spec: ControllerInstallationSpec = ControllerInstallationSpec()
    status: ControllerInstallationStatus = ControllerInstallationStatus()


class GardenBackupSpec(Model):
    """The Shoot of the backups, and the seed that writes them."""

    seed: Annotated[str, describe("the seed that holds the extension object")] = ""
    shoot_uid: Annotated[str, describe("the uid of the Shoot")] = field(name="shootUID", default="")


class GardenBackupInfrastructure(Object):
    """The backup storage of a Shoot, in the garden; it outlives the Shoot by a grace period."""

    spec: GardenBackupSpec = GardenBackupSpec()
    status: ExtensionStatus = ExtensionStatus()


class GardenerData(Model):
    """Something that Gardener itself needs to restore a Shoot."""

    name: Annotated[str, describe("its name")] = ""
    type: Annotated[str, describe("what it is")] = ""
    data: Annotated[Any, describe("the data")] = None
    labels: Annotated[Mapping[str, str], describe("its labels")] = field(default_factory=empty_map)


class ExtensionState(Model):
    """The state of one extension object."""

    kind: Annotated[str, describe("the kind of the object")] = ""
    name: Annotated[str, describe("its name")] = ""
    purpose: Annotated[str | None, describe("its purpose, where a kind has several")] = None
    state: Annotated[Any, describe("its state")] = None
    resources: Annotated[Any, describe("what the state refers to")] = None


class ShootStateSpec(Model):
    """Everything that is needed to restore a Shoot on another seed."""

    gardener: tuple[GardenerData, ...] = ()
    extensions: tuple[ExtensionState, ...] = ()
    resources: Annotated[tuple[Any, ...], describe("objects that states refer to")] = ()


class ShootReference(Model):
    """The Shoot of a state, as document 001 writes it."""

    name: Annotated[str, describe("the name of the Shoot")] = ""
    project: Annotated[str, describe("its project")] = ""


class ShootState(Object):
    """The state of a Shoot's control plane, kept in the garden."""

    spec: ShootStateSpec = ShootStateSpec()
    shoot_ref: Annotated[ShootReference | None, describe("document 001's spelling")] = None
    state: Annotated[Any, describe("document 001's spelling: secrets and resources")] = None


class DomainSelection(Model):
    """Domains that a provider serves, or does not."""

    include: Annotated[tuple[str, ...], describe("domains that are served")] = ()
    exclude: Annotated[tuple[str, ...], describe("domains that are not")] = ()


class DNSProviderSpec(Model):
    """An account with a DNS service."""

    type: Annotated[str, describe("which DNS service; cannot be changed")] = ""
    secret_ref: NamespacedReference | None = None
    domains: DomainSelection | None = None


class DNSProvider(Object):
    """An account with a DNS service, and the domains that it serves."""

    spec: DNSProviderSpec = DNSProviderSpec()
    status: ExtensionStatus = ExtensionStatus()


class DNSEntrySpec(Model):
    """The desired DNS record."""

    dns_name: Annotated[str, describe("the full name of the record; cannot be changed")] = ""
    ttl: Annotated[Int64 | None, describe("the TTL in seconds")] = None
    targets: Annotated[tuple[str, ...], describe("addresses, or one name")] = ()
    text: Annotated[tuple[str, ...], describe("texts of a TXT record")] = ()


class DNSEntry(Object):
    """A DNS record."""

    spec: DNSEntrySpec = DNSEntrySpec()
    status: ExtensionStatus = ExtensionStatus()


class EtcdSpec(Model):
    """How many members an etcd has; etcd-druid reads the rest."""

    replicas: Annotated[Int32, describe("the number of members")] = 0
    labels: Annotated[Mapping[str, str], describe("labels of what is made")] = field(
        default_factory=empty_map
    )
    selector: Selector | None = None


class EtcdMember(Model):
    """One member of an etcd."""

    name: Annotated[str, describe("its name")] = ""
    id: Annotated[str | None, describe("its ID in etcd")] = None
    role: Annotated[str | None, describe("Leader or Member")] = None
    status: Annotated[str, describe("Ready, NotReady or Unknown")] = ""


class EtcdStatus(Model):
    """The observed state of an etcd."""

    observed_generation: Annotated[Int64 | None, describe("the generation that was acted on")] = (
        None
    )
    conditions: tuple[Condition, ...] = ()
    members: tuple[EtcdMember, ...] = ()
    replicas: Annotated[Int32, describe("members that exist")] = 0
    ready_replicas: Annotated[Int32, describe("members that are ready")] = 0
    ready: Annotated[bool | None, describe("whether it is ready for use")] = None


class Etcd(Object):
    """The etcd of a control plane."""

    spec: EtcdSpec = EtcdSpec()
    status: EtcdStatus = EtcdStatus()
