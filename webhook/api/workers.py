"""Structs of a Shoot's worker pools."""

from collections.abc import Mapping
from typing import Annotated

from msgspec import field

from webhook.kube.meta import Int32, IntOrString, Model, describe, empty_map


class MachineImage(Model):
    """The operating system of a pool's machines."""

    name: Annotated[str, describe("the name of the image")] = ""
    version: Annotated[str, describe("its version; absent: the newest")] = ""


class WorkerMachine(Model):
    """Type, image and architecture of a pool's machines."""

    type: Annotated[str, describe("the machine type")] = ""
    image: MachineImage | None = None
    architecture: Annotated[str, describe("amd64 or arm64")] = ""


class Volume(Model):
    """A disk of a pool's machines."""

    name: Annotated[str, describe("its name")] = ""
    type: Annotated[str, describe("the volume type")] = ""
    size: Annotated[str, describe("its size, e.g. 50Gi")] = ""


class WorkerKubernetes(Model):
    """The Kubernetes version of a pool, where it differs from the control plane's."""

    version: Annotated[str, describe("at most the version of the control plane")] = ""


class WorkerSystemComponents(Model):
    """Whether a pool may run system components."""

    allow: Annotated[bool, describe("whether they may run here; absent: no")] = False


class ContainerRuntime(Model):
    """A container runtime beside the default one."""

    type: Annotated[str, describe("the runtime, e.g. gvisor")] = ""


class ContainerRuntimes(Model):
    """The container runtime interface of a pool."""

    name: Annotated[str, describe("the interface, e.g. containerd")] = ""
    container_runtimes: tuple[ContainerRuntime, ...] = ()


class NodeTaint(Model):
    """A taint of a pool's nodes."""

    key: Annotated[str, describe("the key")] = ""
    value: Annotated[str, describe("the value")] = ""
    effect: Annotated[str, describe("NoSchedule, PreferNoSchedule or NoExecute")] = ""


class WorkerControlPlane(Model):
    """Marks a pool that runs the Shoot's own control plane."""


class ShootWorker(Model):
    """One pool of machines."""

    name: Annotated[str, describe("the name of the pool, at most 15 characters")] = ""
    minimum: Annotated[Int32, describe("the smallest number of nodes, over all zones")] = 0
    maximum: Annotated[Int32, describe("the largest number of nodes, at least one a zone")] = 0
    max_surge: Annotated[IntOrString | None, describe("nodes too many during an update")] = None
    max_unavailable: Annotated[IntOrString | None, describe("nodes missing during an update")] = (
        None
    )
    zones: Annotated[tuple[str, ...], describe("zones that the nodes are spread over")] = ()
    control_plane: WorkerControlPlane | None = None
    machine: WorkerMachine = WorkerMachine()
    volume: Volume | None = None
    data_volumes: tuple[Volume, ...] = ()
    labels: Annotated[Mapping[str, str], describe("labels of the nodes")] = field(
        default_factory=empty_map
    )
    annotations: Annotated[Mapping[str, str], describe("annotations of the nodes")] = field(
        default_factory=empty_map
    )
    taints: tuple[NodeTaint, ...] = ()
    cri: ContainerRuntimes | None = None
    kubernetes: WorkerKubernetes | None = None
    system_components: WorkerSystemComponents | None = None
    priority: Annotated[Int32 | None, describe("which pool grows first")] = None
    update_strategy: Annotated[
        str, describe("AutoRollingUpdate, AutoInPlaceUpdate or ManualInPlaceUpdate")
    ] = ""
