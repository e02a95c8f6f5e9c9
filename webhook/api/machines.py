"""Structs of machine-controller-manager's kinds: deployments, sets, machines, classes."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import field

from webhook.api.conditions import Condition
from webhook.api.core import Taint
from webhook.api.meta import (
    Int32,
    Int64,
    IntOrString,
    Model,
    NamespacedReference,
    Object,
    Quantity,
    Selector,
    TemplateMetadata,
    nothing,
    says,
)


class ClassReference(Model):
    """The MachineClass that machines are made from."""

    api_group: Annotated[str, says("the group of the class")] = ""
    kind: Annotated[str, says("MachineClass")] = ""
    name: Annotated[str, says("the name of the class")] = ""


class NodeTemplateSpec(Model):
    """What is set on nodes."""

    taints: tuple[Taint, ...] = ()


class NodeTemplate(Model):
    """Labels, annotations and taints of the nodes to come."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: NodeTemplateSpec = NodeTemplateSpec()


class MachineSpec(Model):
    """What a machine is made from, and what became of it."""

    class_: ClassReference = field(name="class", default=ClassReference())
    provider_id: Annotated[str, says("how the infrastructure knows the machine")] = field(
        name="providerID", default=""
    )
    node_template: NodeTemplate = NodeTemplate()


class MachineTemplate(Model):
    """The machines that a set makes."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: MachineSpec = MachineSpec()


class MachineOperation(Model):
    """What happened last to a machine."""

    type: Annotated[str, says("Create, Update, HealthCheck, Delete or Drain")] = ""
    state: Annotated[str, says("Processing, Failed or Successful")] = ""
    description: Annotated[str, says("what happened")] = ""
    error_code: Annotated[str, says("the kind of error")] = ""
    last_update_time: Annotated[str | None, says("when this was written")] = None


class FailedMachine(Model):
    """A machine that failed, and why."""

    name: Annotated[str, says("the name of the machine")] = ""
    provider_id: Annotated[str, says("how the infrastructure knows it")] = field(
        name="providerID", default=""
    )
    owner_ref: Annotated[str, says("the set that it belongs to")] = ""
    last_operation: MachineOperation = MachineOperation()


class MachineRollingUpdate(Model):
    """How many machines may be too many or too few during an update."""

    max_surge: Annotated[IntOrString | None, says("machines that may be too many")] = None
    max_unavailable: Annotated[IntOrString | None, says("machines that may be missing")] = None


class MachineStrategy(Model):
    """How machines get a changed template."""

    type: Annotated[str, says("RollingUpdate, Recreate or InPlaceUpdate")] = ""
    rolling_update: MachineRollingUpdate | None = None
    in_place_update: MachineRollingUpdate | None = None


class MachineDeploymentSpec(Model):
    """How many machines of one zone, and how they are updated."""

    replicas: Annotated[Int32, says("the number of machines wanted", minimum=0)] = 0
    selector: Selector = Selector()
    template: MachineTemplate = MachineTemplate()
    strategy: MachineStrategy = MachineStrategy()
    min_ready_seconds: Annotated[
        Int32, says("seconds until a ready machine counts as available")
    ] = 0
    paused: Annotated[bool, says("whether updates are held back")] = False
    pool_minimum: Annotated[
        Int32 | None, says("the smallest number of nodes of the whole pool, over all zones")
    ] = None
    pool_maximum: Annotated[
        Int32 | None, says("the largest number of nodes of the whole pool, over all zones")
    ] = None
    pool_max_surge: Annotated[
        IntOrString | None, says("how many machines of the pool may be too many during an update")
    ] = None
    pool_max_unavailable: Annotated[
        IntOrString | None, says("how many machines of the pool may be missing during an update")
    ] = None
    zone_index: Annotated[
        Int32 | None, says("the place of this zone in the pool's definition, from 0")
    ] = None
    zone_count: Annotated[Int32 | None, says("how many zones the pool's definition has")] = None
    sizing_strategy: Annotated[
        str, says("how the pool's bounds are spread: Adaptive or Backward-Compatible")
    ] = ""


class MachineDeploymentStatus(Model):
    """How many machines there are."""

    observed_generation: Annotated[Int64, says("the generation that was acted on")] = 0
    replicas: Annotated[Int32, says("machines that exist")] = 0
    updated_replicas: Annotated[Int32, says("machines of the present template")] = 0
    ready_replicas: Annotated[Int32, says("machines that are ready")] = 0
    available_replicas: Annotated[Int32, says("machines that are available")] = 0
    unavailable_replicas: Annotated[Int32, says("machines that are missing")] = 0
    conditions: tuple[Condition, ...] = ()
    failed_machines: tuple[FailedMachine, ...] = ()


class MachineDeployment(Object):
    """The machines of one pool in one zone."""

    spec: MachineDeploymentSpec = MachineDeploymentSpec()
    status: MachineDeploymentStatus = MachineDeploymentStatus()


class MachineSetSpec(Model):
    """How many machines of one template."""

    replicas: Annotated[Int32, says("the number of machines wanted", minimum=0)] = 0
    selector: Selector = Selector()
    template: MachineTemplate = MachineTemplate()
    min_ready_seconds: Annotated[
        Int32, says("seconds until a ready machine counts as available")
    ] = 0


class MachineSetStatus(Model):
    """How many machines of a template there are."""

    observed_generation: Annotated[Int64, says("the generation that was acted on")] = 0
    replicas: Annotated[Int32, says("machines that exist")] = 0
    ready_replicas: Annotated[Int32, says("machines that are ready")] = 0
    available_replicas: Annotated[Int32, says("machines that are available")] = 0
    conditions: tuple[Condition, ...] = ()
    failed_machines: tuple[FailedMachine, ...] = ()


class MachineSet(Object):
    """Machines of one template, kept at a number."""

    spec: MachineSetSpec = MachineSetSpec()
    status: MachineSetStatus = MachineSetStatus()


class CurrentStatus(Model):
    """Where a machine is in its life."""

    phase: Annotated[str, says("Pending, Running, Unknown, Failed, Terminating …")] = ""
    last_update_time: Annotated[str | None, says("when this was written")] = None


class MachineStatus(Model):
    """What is known of a machine."""

    node: Annotated[str, says("the Node that it became")] = ""
    current_status: CurrentStatus = CurrentStatus()
    last_operation: MachineOperation = MachineOperation()
    conditions: tuple[Condition, ...] = ()


class Machine(Object):
    """One machine, and the Node that it becomes."""

    spec: MachineSpec = MachineSpec()
    status: MachineStatus = MachineStatus()


class ClassNodeTemplate(Model):
    """The Node that a machine of this class becomes."""

    capacity: Annotated[Mapping[str, Quantity], says("what the Node can carry")] = field(
        default_factory=nothing
    )
    virtual_capacity: Annotated[
        Mapping[str, Quantity], says("further resources that it has by name only")
    ] = field(default_factory=nothing)
    instance_type: Annotated[str, says("the machine type")] = ""
    region: Annotated[str, says("the region")] = ""
    zone: Annotated[str, says("the zone")] = ""
    architecture: Annotated[str | None, says("amd64 or arm64")] = None


class MachineClass(Object):
    """What machines are made of; the provider's part is not looked into."""

    provider: Annotated[str, says("the provider whose driver makes these machines")] = ""
    provider_spec: Annotated[Any, says("what the provider's driver needs to know")] = None
    secret_ref: NamespacedReference | None = None
    credentials_secret_ref: NamespacedReference | None = None
    node_template: ClassNodeTemplate | None = None
