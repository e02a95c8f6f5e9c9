"""Structs of CloudProfile and NamespacedCloudProfile: what an infrastructure offers."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import field

from webhook.api.meta import Int32, Model, Object, Quantity, nothing, says
from webhook.api.shoots import AccessRestriction, SeedSelector


class ExpirableVersion(Model):
    """A version that may be a preview, deprecated, or past its end."""

    version: Annotated[str, says("the version")] = ""
    classification: Annotated[str, says("preview, supported or deprecated")] = ""
    expiration_date: Annotated[str | None, says("when it ends")] = None


class OfferedKubernetes(Model):
    """Kubernetes versions on offer."""

    versions: tuple[ExpirableVersion, ...] = ()


class RuntimeInterface(Model):
    """A container runtime interface that an image supports."""

    name: Annotated[str, says("the interface, e.g. containerd")] = ""


class MachineImageVersion(ExpirableVersion):
    """One version of a machine image."""

    cri: tuple[RuntimeInterface, ...] = ()
    architectures: Annotated[tuple[str, ...], says("amd64, arm64")] = ()


class OfferedMachineImage(Model):
    """A machine image on offer."""

    name: Annotated[str, says("the name of the image")] = ""
    update_strategy: Annotated[str, says("patch, minor or major")] = ""
    versions: tuple[MachineImageVersion, ...] = ()


class MachineStorage(Model):
    """The disk that comes with a machine type."""

    class_: Annotated[str, says("standard or premium")] = field(name="class", default="")
    type: Annotated[str, says("the volume type")] = ""
    size: Annotated[Quantity | None, says("its size")] = None


class MachineType(Model):
    """A machine type on offer."""

    name: Annotated[str, says("the name of the type")] = ""
    cpu: Annotated[Quantity, says("processors")] = "0"
    gpu: Annotated[Quantity, says("graphics processors")] = "0"
    memory: Annotated[Quantity, says("memory")] = "0"
    usable: Annotated[bool | None, says("whether shoots may use it; default true")] = None
    architecture: Annotated[str, says("amd64 or arm64")] = ""
    storage: MachineStorage | None = None


class VolumeType(Model):
    """A volume type on offer."""

    name: Annotated[str, says("the name of the type")] = ""
    class_: Annotated[str, says("standard or premium")] = field(name="class", default="")
    usable: Annotated[bool | None, says("whether shoots may use it; default true")] = None
    min_size: Annotated[Quantity | None, says("the smallest size")] = None


class OfferedZone(Model):
    """A zone of a region, and what it lacks."""

    name: Annotated[str, says("the name of the zone")] = ""
    unavailable_machine_types: Annotated[tuple[str, ...], says("machine types that it lacks")] = ()
    unavailable_volume_types: Annotated[tuple[str, ...], says("volume types that it lacks")] = ()


class OfferedRegion(Model):
    """A region with its zones."""

    name: Annotated[str, says("the name of the region")] = ""
    zones: tuple[OfferedZone, ...] = ()
    labels: Annotated[Mapping[str, str], says("labels of the region")] = field(
        default_factory=nothing
    )
    access_restrictions: tuple[AccessRestriction, ...] = ()


class Limits(Model):
    """Upper bounds on shoots."""

    max_nodes_total: Annotated[Int32 | None, says("the largest number of nodes of a Shoot")] = None


class ProfileControlPlane(Model):
    """What shoots may say about their control plane."""

    allow_zone_pinning: Annotated[bool, says("whether shoots may choose zones of the seed")] = False


# Weak references are there for what domain.quota works out of it; msgspec wants gc beside them.
class CloudProfileSpec(Model, gc=True, weakref=True):
    """Everything that an infrastructure offers."""

    type: Annotated[str, says("the infrastructure, e.g. aws")] = ""
    kubernetes: OfferedKubernetes = OfferedKubernetes()
    machine_images: tuple[OfferedMachineImage, ...] = ()
    machine_types: tuple[MachineType, ...] = ()
    volume_types: tuple[VolumeType, ...] = ()
    regions: tuple[OfferedRegion, ...] = ()
    seed_selector: SeedSelector | None = None
    limits: Limits | None = None
    control_plane: ProfileControlPlane | None = None
    provider_config: Annotated[Any, says("configuration that only the provider reads")] = None


class CloudProfile(Object):
    """What an infrastructure offers to shoots."""

    spec: CloudProfileSpec = CloudProfileSpec()


class ProfileParent(Model):
    """The CloudProfile that a namespaced one extends."""

    kind: Annotated[str, says("CloudProfile")] = "CloudProfile"
    name: Annotated[str, says("its name")] = ""


class NamespacedCloudProfileSpec(Model):
    """What a project adds to a CloudProfile."""

    parent: ProfileParent = ProfileParent()
    kubernetes: OfferedKubernetes | None = None
    machine_images: tuple[OfferedMachineImage, ...] = ()
    machine_types: tuple[MachineType, ...] = ()
    volume_types: tuple[VolumeType, ...] = ()
    limits: Limits | None = None


class NamespacedCloudProfileStatus(Model):
    """The CloudProfile as it is after the project's additions."""

    cloud_profile_spec: CloudProfileSpec = CloudProfileSpec()
    observed_generation: Annotated[int, says("the generation that was acted on")] = 0


class NamespacedCloudProfile(Object):
    """A CloudProfile of one project, on top of a common one."""

    spec: NamespacedCloudProfileSpec = NamespacedCloudProfileSpec()
    status: NamespacedCloudProfileStatus = NamespacedCloudProfileStatus()
