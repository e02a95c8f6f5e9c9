"""Structs of what surrounds extensions: registrations, state, backups, DNS, etcd."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import field

from webhook.api.conditions import Condition
from webhook.api.extensions import ExtensionStatus
from webhook.api.meta import (
    Int32,
    Int64,
    LocalReference,
    Model,
    NamespacedReference,
    Object,
    Selector,
    nothing,
    says,
)


class RegisteredResource(Model):
    """A kind of extension object, and the type of it that a controller handles."""

    kind: Annotated[str, says("the extension kind, e.g. Infrastructure", required=True)] = ""
    type: Annotated[str, says("the type of that kind, e.g. aws", required=True)] = ""
    primary: Annotated[bool | None, says("whether it may write the status; default true")] = None


class RegistrationDeployment(Model):
    """How a controller gets into seeds."""

    type: Annotated[str, says("how it is deployed; only helm is acted on")] = ""
    provider_config: Annotated[Any, says("what is deployed")] = None
    policy: Annotated[str, says("OnDemand, Always or AlwaysExceptNoShoots")] = ""
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
    """How the installation went."""

    conditions: tuple[Condition, ...] = ()
    provider_status: Annotated[Any, says("what the deployer reports")] = None


class ControllerInstallation(Object):
    """A controller in a seed."""

    spec: ControllerInstallationSpec = ControllerInstallationSpec()
    status: ControllerInstallationStatus = ControllerInstallationStatus()


class GardenBackupSpec(Model):
    """Whose backups, and from which seed they are written."""

    seed: Annotated[str, says("the seed that holds the extension object")] = ""
    shoot_uid: Annotated[str, says("the uid of the Shoot")] = field(name="shootUID", default="")


class GardenBackupInfrastructure(Object):
    """The backup storage of a Shoot, in the garden; it outlives the Shoot by a grace period."""

    spec: GardenBackupSpec = GardenBackupSpec()
    status: ExtensionStatus = ExtensionStatus()


class GardenerData(Model):
    """Something that Gardener itself needs to restore a Shoot."""

    name: Annotated[str, says("its name")] = ""
    type: Annotated[str, says("what it is")] = ""
    data: Annotated[Any, says("the data")] = None
    labels: Annotated[Mapping[str, str], says("its labels")] = field(default_factory=nothing)


class ExtensionState(Model):
    """The state of one extension object."""

    kind: Annotated[str, says("the kind of the object")] = ""
    name: Annotated[str, says("its name")] = ""
    purpose: Annotated[str | None, says("its purpose, where a kind has several")] = None
    state: Annotated[Any, says("its state")] = None
    resources: Annotated[Any, says("what the state refers to")] = None


class ShootStateSpec(Model):
    """Everything that is needed to restore a Shoot on another seed."""

    gardener: tuple[GardenerData, ...] = ()
    extensions: tuple[ExtensionState, ...] = ()
    resources: Annotated[tuple[Any, ...], says("objects that states refer to")] = ()


class ShootReference(Model):
    """The Shoot of a state, as document 001 writes it."""

    name: Annotated[str, says("the name of the Shoot")] = ""
    project: Annotated[str, says("its project")] = ""


class ShootState(Object):
    """The state of a Shoot's control plane, kept in the garden."""

    spec: ShootStateSpec = ShootStateSpec()
    shoot_ref: Annotated[ShootReference | None, says("document 001's spelling")] = None
    state: Annotated[Any, says("document 001's spelling: secrets and resources")] = None


class DomainSelection(Model):
    """Domains that a provider serves, or does not."""

    include: Annotated[tuple[str, ...], says("domains that are served")] = ()
    exclude: Annotated[tuple[str, ...], says("domains that are not")] = ()


class DNSProviderSpec(Model):
    """An account with a DNS service."""

    type: Annotated[str, says("which DNS service; cannot be changed")] = ""
    secret_ref: NamespacedReference | None = None
    domains: DomainSelection | None = None


class DNSProvider(Object):
    """An account with a DNS service, and the domains that it serves."""

    spec: DNSProviderSpec = DNSProviderSpec()
    status: ExtensionStatus = ExtensionStatus()


class DNSEntrySpec(Model):
    """A record that is to exist."""

    dns_name: Annotated[str, says("the full name of the record; cannot be changed")] = ""
    ttl: Annotated[Int64 | None, says("how many seconds an answer may be kept")] = None
    targets: Annotated[tuple[str, ...], says("addresses, or one name")] = ()
    text: Annotated[tuple[str, ...], says("texts of a TXT record")] = ()


class DNSEntry(Object):
    """A DNS record."""

    spec: DNSEntrySpec = DNSEntrySpec()
    status: ExtensionStatus = ExtensionStatus()


class EtcdSpec(Model):
    """How many members an etcd has; the rest is etcd-druid's."""

    replicas: Annotated[Int32, says("the number of members")] = 0
    labels: Annotated[Mapping[str, str], says("labels of what is made")] = field(
        default_factory=nothing
    )
    selector: Selector | None = None


class EtcdMember(Model):
    """One member of an etcd."""

    name: Annotated[str, says("its name")] = ""
    id: Annotated[str | None, says("how etcd knows it")] = None
    role: Annotated[str | None, says("Leader or Member")] = None
    status: Annotated[str, says("Ready, NotReady or Unknown")] = ""


class EtcdStatus(Model):
    """How an etcd is."""

    observed_generation: Annotated[Int64 | None, says("the generation that was acted on")] = None
    conditions: tuple[Condition, ...] = ()
    members: tuple[EtcdMember, ...] = ()
    replicas: Annotated[Int32, says("members that exist")] = 0
    ready_replicas: Annotated[Int32, says("members that are ready")] = 0
    ready: Annotated[bool | None, says("whether it can be used")] = None


class Etcd(Object):
    """The etcd of a control plane."""

    spec: EtcdSpec = EtcdSpec()
    status: EtcdStatus = EtcdStatus()
