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

    api_group: str = ""
    kind: str = ""
    name: str = ""


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
    provider_id: str = field(name="providerID", default="")
    node_template: NodeTemplate = NodeTemplate()


class MachineTemplate(Model):
    """The machines that a set makes."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: MachineSpec = MachineSpec()


class MachineOperation(Model):
    """What happened last to a machine."""

    type: str = ""
    state: str = ""
    description: str = ""
    error_code: str = ""
    last_update_time: str | None = None


class FailedMachine(Model):
    """A machine that failed, and why."""

    name: str = ""
    provider_id: str = field(name="providerID", default="")
    owner_ref: str = ""
    last_operation: MachineOperation = MachineOperation()


class MachineRollingUpdate(Model):
    """How many machines may be too many or too few during an update."""

    max_surge: IntOrString | None = None
    max_unavailable: IntOrString | None = None


class MachineStrategy(Model):
    """How machines get a changed template."""

    type: str = ""
    rolling_update: MachineRollingUpdate | None = None
    in_place_update: MachineRollingUpdate | None = None


class MachineDeploymentSpec(Model):
    """How many machines of one zone, and how they are updated."""

    replicas: Annotated[Int32, says("the number of machines wanted", minimum=0)] = 0
    selector: Selector = Selector()
    template: MachineTemplate = MachineTemplate()
    strategy: MachineStrategy = MachineStrategy()
    min_ready_seconds: Int32 = 0
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

    observed_generation: Int64 = 0
    replicas: Int32 = 0
    updated_replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    unavailable_replicas: Int32 = 0
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
    min_ready_seconds: Int32 = 0


class MachineSetStatus(Model):
    """How many machines of a template there are."""

    observed_generation: Int64 = 0
    replicas: Int32 = 0
    ready_replicas: Int32 = 0
    available_replicas: Int32 = 0
    conditions: tuple[Condition, ...] = ()
    failed_machines: tuple[FailedMachine, ...] = ()


class MachineSet(Object):
    """Machines of one template, kept at a number."""

    spec: MachineSetSpec = MachineSetSpec()
    status: MachineSetStatus = MachineSetStatus()


class CurrentStatus(Model):
    """Where a machine is in its life."""

    phase: str = ""
    last_update_time: str | None = None


class MachineStatus(Model):
    """What is known of a machine."""

    node: str = ""
    current_status: CurrentStatus = CurrentStatus()
    last_operation: MachineOperation = MachineOperation()
    conditions: tuple[Condition, ...] = ()


class Machine(Object):
    """One machine, and the Node that it becomes."""

    spec: MachineSpec = MachineSpec()
    status: MachineStatus = MachineStatus()


class ClassNodeTemplate(Model):
    """The Node that a machine of this class becomes."""

    capacity: Mapping[str, Quantity] = field(default_factory=nothing)
    virtual_capacity: Mapping[str, Quantity] = field(default_factory=nothing)
    instance_type: str = ""
    region: str = ""
    zone: str = ""
    architecture: str | None = None


class MachineClass(Object):
    """What machines are made of; the provider's part is not looked into."""

    provider: Annotated[str, says("the provider whose driver makes these machines")] = ""
    provider_spec: Annotated[Any, says("what the provider's driver needs to know")] = None
    secret_ref: NamespacedReference | None = None
    credentials_secret_ref: NamespacedReference | None = None
    node_template: ClassNodeTemplate | None = None
