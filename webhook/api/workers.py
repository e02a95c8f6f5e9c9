"""Structs of a Shoot's worker pools."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import field

from webhook.api.meta import Int32, IntOrString, Model, nothing, says


class MachineImage(Model):
    """The operating system of a pool's machines."""

    name: Annotated[str, says("the name of the image")] = ""
    version: Annotated[str, says("its version; absent: the newest")] = ""


class Machine(Model):
    """Type, image and architecture of a pool's machines."""

    type: Annotated[str, says("the machine type")] = ""
    image: MachineImage | None = None
    architecture: Annotated[str, says("amd64 or arm64")] = ""


class Volume(Model):
    """A disk of a pool's machines."""

    name: Annotated[str, says("its name")] = ""
    type: Annotated[str, says("the volume type")] = ""
    size: Annotated[str, says("its size, e.g. 50Gi")] = ""


class WorkerKubernetes(Model):
    """The Kubernetes version of a pool, where it differs from the control plane's."""

    version: Annotated[str, says("at most the version of the control plane")] = ""


class WorkerSystemComponents(Model):
    """Whether a pool may run system components."""

    allow: Annotated[bool, says("whether they may run here; absent: no")] = False


class ContainerRuntime(Model):
    """A container runtime beside the default one."""

    type: Annotated[str, says("the runtime, e.g. gvisor")] = ""


class ContainerRuntimes(Model):
    """The container runtime interface of a pool."""

    name: Annotated[str, says("the interface, e.g. containerd")] = ""
    container_runtimes: tuple[ContainerRuntime, ...] = ()


class NodeTaint(Model):
    """A taint of a pool's nodes."""

    key: Annotated[str, says("the key")] = ""
    value: Annotated[str, says("the value")] = ""
    effect: Annotated[str, says("NoSchedule, PreferNoSchedule or NoExecute")] = ""


class WorkerControlPlane(Model):
    """Says by being there that the pool runs the Shoot's own control plane."""


class Worker(Model):
    """One pool of machines."""

    name: Annotated[str, says("the name of the pool, at most 15 characters")] = ""
    minimum: Annotated[Int32, says("the smallest number of nodes, over all zones")] = 0
    maximum: Annotated[Int32, says("the largest number of nodes, at least one a zone")] = 0
    max_surge: Annotated[IntOrString | None, says("nodes too many during an update")] = None
    max_unavailable: Annotated[IntOrString | None, says("nodes missing during an update")] = None
    zones: Annotated[tuple[str, ...], says("zones that the nodes are spread over")] = ()
    control_plane: WorkerControlPlane | None = None
    machine: Machine = Machine()
    volume: Volume | None = None
    data_volumes: tuple[Volume, ...] = ()
    labels: Annotated[Mapping[str, str], says("labels of the nodes")] = field(
        default_factory=nothing
    )
    annotations: Annotated[Mapping[str, str], says("annotations of the nodes")] = field(
        default_factory=nothing
    )
    taints: tuple[NodeTaint, ...] = ()
    cri: ContainerRuntimes | None = None
    kubernetes: WorkerKubernetes | None = None
    system_components: WorkerSystemComponents | None = None
    priority: Annotated[Int32 | None, says("which pool grows first")] = None
    update_strategy: Annotated[
        str, says("AutoRollingUpdate, AutoInPlaceUpdate or ManualInPlaceUpdate")
    ] = ""
