"""Structs of a Shoot's worker pools."""

from collections.abc import Mapping

from msgspec import field

from webhook.api.meta import Int32, IntOrString, Model, nothing


class MachineImage(Model):
    """The operating system of a pool's machines."""

    name: str = ""
    version: str = ""


class Machine(Model):
    """Type, image and architecture of a pool's machines."""

    type: str = ""
    image: MachineImage | None = None
    architecture: str = ""


class Volume(Model):
    """A disk of a pool's machines."""

    name: str = ""
    type: str = ""
    size: str = ""


class WorkerKubernetes(Model):
    """The Kubernetes version of a pool, where it differs from the control plane's."""

    version: str = ""


class WorkerSystemComponents(Model):
    """Whether a pool may run system components."""

    allow: bool = True


class ContainerRuntime(Model):
    """A container runtime beside the default one."""

    type: str = ""


class ContainerRuntimes(Model):
    """The container runtime interface of a pool."""

    name: str = ""
    container_runtimes: tuple[ContainerRuntime, ...] = ()


class NodeTaint(Model):
    """A taint of a pool's nodes."""

    key: str = ""
    value: str = ""
    effect: str = ""


class Worker(Model):
    """One pool of machines."""

    name: str = ""
    minimum: Int32 = 0
    maximum: Int32 = 0
    max_surge: IntOrString | None = None
    max_unavailable: IntOrString | None = None
    zones: tuple[str, ...] = ()
    machine: Machine = Machine()
    volume: Volume | None = None
    data_volumes: tuple[Volume, ...] = ()
    labels: Mapping[str, str] = field(default_factory=nothing)
    annotations: Mapping[str, str] = field(default_factory=nothing)
    taints: tuple[NodeTaint, ...] = ()
    cri: ContainerRuntimes | None = None
    kubernetes: WorkerKubernetes | None = None
    system_components: WorkerSystemComponents | None = None
    priority: Int32 | None = None
    update_strategy: str = ""
