"""Structs of machine-controller-manager's kinds: deployments, sets, machines and classes."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import field

from webhook.api.core import Taint
from webhook.kube.conditions import Condition
from webhook.kube.meta import (
    Int32,
    Int64,
    IntOrString,
    Model,
    NamespacedReference,
    Object,
    Quantity,
    Selector,
    TemplateMetadata,
    describe,
    empty_map,
)


class ClassReference(Model):
    """The MachineClass that machines are made from."""

    api_group: Annotated[str, describe("the group of the class")] = ""
    kind: Annotated[str, describe("MachineClass")] = ""
    name: Annotated[str, describe("the name of the class")] = ""


class NodeTemplateSpec(Model):
    """What is set on nodes."""

    taints: tuple[Taint, ...] = ()


class NodeTemplate(Model):
    """Labels, annotations and taints of future nodes."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: NodeTemplateSpec = NodeTemplateSpec()


class MachineSpec(Model):
    """The class, ID and node template of a machine."""

    class_: ClassReference = field(name="class", default=ClassReference())
    provider_id: Annotated[str, describe("the ID of the machine at the provider")] = field(
        name="providerID", default=""
    )
    node_template: NodeTemplate = NodeTemplate()


class MachineTemplate(Model):
    """The machines that a set makes."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: MachineSpec = MachineSpec()


class MachineOperation(Model):
    """What happened last to a machine."""

    type: Annotated[str, describe("Create, Update, HealthCheck, Delete or Drain")] = ""
    state: Annotated[str, describe("Processing, Failed or Successful")] = ""
    description: Annotated[str, describe("what happened")] = ""
    error_code: Annotated[str, describe("the kind of error")] = ""
    last_update_time: Annotated[str | None, describe("when this was written")] = None


class FailedMachine(Model):
    """A machine that failed, and why."""

    name: Annotated[str, describe("the name of the machine")] = ""
    provider_id: Annotated[str, describe("its ID at the provider")] = field(
        name="providerID", default=""
    )
    owner_ref: Annotated[str, describe("the set that it belongs to")] = ""
    last_operation: MachineOperation = MachineOperation()


class MachineRollingUpdate(Model):
    """How many machines may be too many or too few during an update."""

    max_surge: Annotated[IntOrString | None, describe("machines that may be too many")] = None
    max_unavailable: Annotated[IntOrString | None, describe("machines that may be missing")] = None


class MachineStrategy(Model):
    """How machines get a changed template."""

    type: Annotated[str, describe("RollingUpdate, Recreate or InPlaceUpdate")] = ""
    rolling_update: MachineRollingUpdate | None = None
    in_place_update: MachineRollingUpdate | None = None


class MachineDeploymentSpec(Model):
    """How many machines of one zone, and how they are updated."""

    replicas: Annotated[Int32, describe("the number of machines wanted", minimum=0)] = 0
    selector: Selector = Selector()
    template: MachineTemplate = MachineTemplate()
    strategy: MachineStrategy = MachineStrategy()
    min_ready_seconds: Annotated[
        Int32, describe("seconds until a ready machine counts as available")
    ] = 0
    paused: Annotated[bool, describe("whether updates are paused")] = False
    pool_minimum: Annotated[
        Int32 | None, describe("the smallest number of nodes of the whole pool, over all zones")
    ] = None
    pool_maximum: Annotated[
        Int32 | None, describe("the largest number of nodes of the whole pool, over all zones")
    ] = None
    pool_max_surge: Annotated[
        IntOrString | None,
        describe("how many machines of the pool may be too many during an update"),
    ] = None
    pool_max_unavailable: Annotated[
        IntOrString | None,
        describe("how many machines of the pool may be missing during an update"),
    ] = None
    zone_index: Annotated[
        Int32 | None, describe("the place of this zone in the pool's definition, from 0")
    ] = None
    zone_count: Annotated[Int32 | None, describe("how many zones the pool's definition has")] = None
    sizing_strategy: Annotated[
        str, describe("how the pool's bounds are spread: Adaptive or Backward-Compatible")
    ] = ""


class MachineDeploymentStatus(Model):
    """How many machines there are."""

    observed_generation: Annotated[Int64, describe("the generation that was acted on")] = 0
    replicas: Annotated[Int32, describe("machines that exist")] = 0
    updated_replicas: Annotated[Int32, describe("machines of the present template")] = 0
    ready_replicas: Annotated[Int32, describe("machines that are ready")] = 0
    available_replicas: Annotated[Int32, describe("machines that are available")] = 0
    unavailable_replicas: Annotated[Int32, describe("machines that are missing")] = 0
    conditions: tuple[Condition, ...] = ()
    failed_machines: tuple[FailedMachine, ...] = ()


class MachineDeployment(Object):
    """The machines of one pool in one zone."""

    spec: MachineDeploymentSpec = MachineDeploymentSpec()
    status: MachineDeploymentStatus = MachineDeploymentStatus()


class MachineSetSpec(Model):
    """How many machines of one template."""

    replicas: Annotated[Int32, describe("the number of machines wanted", minimum=0)] = 0
    selector: Selector = Selector()
    template: MachineTemplate = MachineTemplate()
    min_ready_seconds: Annotated[
        Int32, describe("seconds until a ready machine counts as available")
    ] = 0


class MachineSetStatus(Model):
    """How many machines of a template there are."""

    observed_generation: Annotated[Int64, describe("the generation that was acted on")] = 0
    replicas: Annotated[Int32, describe("machines that exist")] = 0
    ready_replicas: Annotated[Int32, describe("machines that are ready")] = 0
    available_replicas: Annotated[Int32, describe("machines that are available")] = 0
    conditions: tuple[Condition, ...] = ()
    failed_machines: tuple[FailedMachine, ...] = ()


class MachineSet(Object):
    """Machines of one template, kept at a number."""

    spec: MachineSetSpec = MachineSetSpec()
    status: MachineSetStatus = MachineSetStatus()


class CurrentStatus(Model):
    """The phase of a machine."""

    phase: Annotated[str, describe("Pending, Running, Unknown, Failed, Terminating …")] = ""
    last_update_time: Annotated[str | None, describe("when this was written")] = None


class MachineStatus(Model):
    """The observed state of a machine."""

    node: Annotated[str, describe("the Node that it became")] = ""
    current_status: CurrentStatus = CurrentStatus()
    last_operation: MachineOperation = MachineOperation()
    conditions: tuple[Condition, ...] = ()


class Machine(Object):
    """One machine, and the Node that it becomes."""

    spec: MachineSpec = MachineSpec()
    status: MachineStatus = MachineStatus()


class ClassNodeTemplate(Model):
    """The Node that a machine of this class becomes."""

    capacity: Annotated[Mapping[str, Quantity], describe("the capacity of the Node")] = field(
        default_factory=empty_map
    )
    virtual_capacity: Annotated[
        Mapping[str, Quantity], describe("further resources that it has by name only")
    ] = field(default_factory=empty_map)
    instance_type: Annotated[str, describe("the machine type")] = ""
    region: Annotated[str, describe("the region")] = ""
    zone: Annotated[str, describe("the zone")] = ""
    architecture: Annotated[str | None, describe("amd64 or arm64")] = None


class MachineClass(Object):
    """The configuration of machines; the part of the provider is not read."""

    provider: Annotated[str, describe("the provider whose driver makes these machines")] = ""
    provider_spec: Annotated[Any, describe("the configuration for the provider's driver")] = None
    secret_ref: NamespacedReference | None = None
    credentials_secret_ref: NamespacedReference | None = None
    node_template: ClassNodeTemplate | None = None
