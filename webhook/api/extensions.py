"""Structs of the extension kinds, through which Gardener and its providers communicate."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import field

from webhook.api.shoots import Shoot
from webhook.api.workers import NodeTaint
from webhook.kube.conditions import Condition
from webhook.kube.meta import (
    Int32,
    Int64,
    IntOrString,
    LastError,
    LastOperation,
    Model,
    NamespacedReference,
    Object,
    ObjectReference,
    Quantity,
    describe,
    empty_map,
)


class Leadership(Model):
    """The DNS record that names the seed that may act on an object during a migration."""

    record: Annotated[str, describe("the TXT record to look up")] = ""
    value: Annotated[str, describe("the value that allows to act")] = ""
    lease_seconds: Annotated[Int32, describe("how long a response may be cached")] = 0


class ExtensionSpec(Model):
    """What every extension object has."""

    type: Annotated[str, describe("the type of the extension; cannot be changed")] = ""
    class_: Annotated[str, describe("garden, seed or shoot; cannot be changed")] = field(
        name="class", default=""
    )
    region: Annotated[str, describe("the region of the infrastructure")] = ""
    secret_ref: NamespacedReference | None = None
    provider_config: Annotated[Any, describe("configuration that only the provider reads")] = None
    leadership: Leadership | None = None


class ResourceName(Model):
    """An object that the state of an extension object refers to."""

    name: Annotated[str, describe("the name that the state uses")] = ""
    resource_ref: ObjectReference = ObjectReference()


class ExtensionStatus(Model):
    """What every extension controller reports."""

    observed_generation: Annotated[Int64, describe("the generation that was acted on")] = 0
    state: Annotated[Any, describe("what is needed to rebuild the object on another seed")] = None
    resources: tuple[ResourceName, ...] = ()
    provider_status: Annotated[Any, describe("what only other parts of the provider read")] = None
    conditions: tuple[Condition, ...] = ()
    last_error: LastError | None = None
    last_operation: LastOperation | None = None


class ExtensionObject(Object):
    """The base of the extension kinds."""

    status: ExtensionStatus = ExtensionStatus()


class InfrastructureDNS(Model):
    """The DNS names of the control plane."""

    apiserver: Annotated[str, describe("the name of the API server")] = ""


class InfrastructureSpec(ExtensionSpec):
    """The networks and roles that a Shoot needs."""

    ssh_public_key: Annotated[str, describe("the key for access to machines")] = ""
    dns: InfrastructureDNS | None = None


class Infrastructure(ExtensionObject):
    """The infrastructure of a Shoot."""

    spec: InfrastructureSpec = InfrastructureSpec()


class BackupInfrastructureSpec(ExtensionSpec):
    """The bucket for a Shoot's backups."""

    storage_container_name: Annotated[str, describe("the name of the bucket")] = ""


class BackupInfrastructure(ExtensionObject):
    """The backup storage of a Shoot, in its seed."""

    spec: BackupInfrastructureSpec = BackupInfrastructureSpec()


class DropIn(Model):
    """An addition to a unit."""

    name: Annotated[str, describe("its name")] = ""
    content: Annotated[str, describe("its text")] = ""


class Unit(Model):
    """A systemd unit."""

    name: Annotated[str, describe("its name")] = ""
    command: Annotated[str, describe("start, restart or stop")] = ""
    enable: Annotated[bool | None, describe("whether it starts with the machine")] = None
    content: Annotated[str, describe("its text")] = ""
    drop_ins: tuple[DropIn, ...] = field(name="drop-ins", default=())


class SecretKey(Model):
    """A value in a Secret."""

    name: Annotated[str, describe("the Secret")] = ""
    data_key: Annotated[str, describe("the key in it")] = ""


class InlineContent(Model):
    """Content as text, or base64 with encoding `b64`."""

    encoding: Annotated[str, describe("empty, or b64")] = ""
    data: Annotated[str, describe("the content")] = ""


class FileContent(Model):
    """Where a file's content comes from."""

    secret_ref: SecretKey | None = None
    inline: InlineContent | None = None


class File(Model):
    """A file on a machine."""

    path: Annotated[str, describe("its path")] = ""
    permissions: Annotated[Int32 | None, describe("mode bits as a number, 0644 in YAML")] = None
    content: FileContent = FileContent()


class MachineCloudConfigSpec(ExtensionSpec):
    """Units and files that a machine starts with."""

    units: tuple[Unit, ...] = ()
    files: tuple[File, ...] = ()


class MachineCloudConfigStatus(ExtensionStatus):
    """The configuration in the operating system's own language."""

    cloud_config: Annotated[str, describe("the rendered configuration, base64")] = ""


class MachineCloudConfig(ExtensionObject):
    """The configuration of a pool's machines."""

    spec: MachineCloudConfigSpec = MachineCloudConfigSpec()
    status: MachineCloudConfigStatus = MachineCloudConfigStatus()


class WorkerPoolSpec(ExtensionSpec):
    """One pool of machines, as its provider gets it."""

    cloud_config: Annotated[str, describe("the configuration of the machines, base64")] = ""
    infrastructure_provider_status: Annotated[Any, describe("the status of the Infrastructure")] = (
        None
    )
    minimum: Annotated[Int32, describe("the smallest number of nodes, over all zones")] = 0
    maximum: Annotated[Int32, describe("the largest number of nodes, at least one a zone")] = 0
    max_surge: Annotated[IntOrString | None, describe("nodes too many during an update")] = None
    max_unavailable: Annotated[IntOrString | None, describe("nodes missing during an update")] = (
        None
    )
    zones: Annotated[tuple[str, ...], describe("zones that the nodes are spread over")] = ()


class WorkerPool(ExtensionObject):
    """One pool of a Shoot's machines."""

    spec: WorkerPoolSpec = WorkerPoolSpec()


class GenericSpec(ExtensionSpec):
    """The spec of the Shoot, for any purpose of a provider."""

    shoot_spec: Annotated[Any, describe("a copy of the spec of the Shoot")] = None


class Generic(ExtensionObject):
    """Anything that a provider adds to a Shoot."""

    spec: GenericSpec = GenericSpec()


class PoolNodeTemplate(Model):
    """The nodes of a pool."""

    capacity: Annotated[Mapping[str, Quantity], describe("what a node can carry")] = field(
        default_factory=empty_map
    )
    virtual_capacity: Annotated[
        Mapping[str, Quantity], describe("further resources that it has by name only")
    ] = field(default_factory=empty_map)


class ExtensionPool(Model):
    """One pool in a Worker."""

    name: Annotated[str, describe("the name of the pool")] = ""
    machine_type: Annotated[str, describe("the machine type")] = ""
    minimum: Annotated[Int32, describe("the smallest number of nodes, over all zones")] = 0
    maximum: Annotated[Int32, describe("the largest number of nodes, over all zones")] = 0
    max_surge: Annotated[IntOrString | None, describe("nodes too many during an update")] = None
    max_unavailable: Annotated[IntOrString | None, describe("nodes missing during an update")] = (
        None
    )
    zones: Annotated[tuple[str, ...], describe("zones in the order of the definition")] = ()
    labels: Annotated[Mapping[str, str], describe("labels of the nodes")] = field(
        default_factory=empty_map
    )
    annotations: Annotated[Mapping[str, str], describe("annotations of the nodes")] = field(
        default_factory=empty_map
    )
    taints: tuple[NodeTaint, ...] = ()
    node_template: PoolNodeTemplate | None = None
    priority: Annotated[Int32 | None, describe("which pool grows first")] = None
    update_strategy: Annotated[str, describe("how nodes are updated")] = ""
    architecture: Annotated[str | None, describe("amd64 or arm64")] = None


class WorkerSpec(ExtensionSpec):
    """All pools of a Shoot."""

    pools: tuple[ExtensionPool, ...] = ()


class PoolDeployment(Model):
    """A MachineDeployment of a Worker."""

    name: Annotated[str, describe("the MachineDeployment")] = ""
    minimum: Annotated[Int32, describe("its smallest number of machines")] = 0
    maximum: Annotated[Int32, describe("its largest number of machines")] = 0


class WorkerStatus(ExtensionStatus):
    """The MachineDeployments behind the pools."""

    machine_deployments: tuple[PoolDeployment, ...] = ()


class Worker(ExtensionObject):
    """The machines of a Shoot; Gardener's present kind for WorkerPool."""

    spec: WorkerSpec = WorkerSpec()
    status: WorkerStatus = WorkerStatus()


class ClusterSpec(Model):
    """Copies of the objects around a Shoot, for extensions that cannot read the garden."""

    shoot: Annotated[Shoot | None, describe("the Shoot")] = None


class Cluster(Object):
    """The objects of a Shoot, for the extensions in its seed."""

    spec: ClusterSpec = ClusterSpec()
