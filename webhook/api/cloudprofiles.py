"""Structs of CloudProfile and NamespacedCloudProfile."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import field

from webhook.api.shoots import AccessRestriction, SeedSelector
from webhook.kube.meta import Int32, Model, Object, Quantity, describe, empty_map


class ExpirableVersion(Model):
    """A version that may be a preview, deprecated, or past its end."""

    version: Annotated[str, describe("the version")] = ""
    classification: Annotated[str, describe("preview, supported or deprecated")] = ""
    expiration_date: Annotated[str | None, describe("when it ends")] = None


class OfferedKubernetes(Model):
    """Kubernetes versions on offer."""

    versions: tuple[ExpirableVersion, ...] = ()


class RuntimeInterface(Model):
    """A container runtime interface that an image supports."""

    name: Annotated[str, describe("the interface, e.g. containerd")] = ""


class MachineImageVersion(ExpirableVersion):
    """One version of a machine image."""

    cri: tuple[RuntimeInterface, ...] = ()
    architectures: Annotated[tuple[str, ...], describe("amd64, arm64")] = ()


class OfferedMachineImage(Model):
    """A machine image on offer."""

    name: Annotated[str, describe("the name of the image")] = ""
    update_strategy: Annotated[str, describe("patch, minor or major")] = ""
    versions: tuple[MachineImageVersion, ...] = ()


class MachineStorage(Model):
    """The disk that comes with a machine type."""

    class_: Annotated[str, describe("standard or premium")] = field(name="class", default="")
    type: Annotated[str, describe("the volume type")] = ""
    size: Annotated[Quantity | None, describe("its size")] = None


class MachineType(Model):
    """A machine type on offer."""

    name: Annotated[str, describe("the name of the type")] = ""
    cpu: Annotated[Quantity, describe("processors")] = "0"
    gpu: Annotated[Quantity, describe("graphics processors")] = "0"
    memory: Annotated[Quantity, describe("memory")] = "0"
    usable: Annotated[bool | None, describe("whether shoots may use it; default true")] = None
    architecture: Annotated[str, describe("amd64 or arm64")] = ""
    storage: MachineStorage | None = None


class VolumeType(Model):
    """A volume type on offer."""

    name: Annotated[str, describe("the name of the type")] = ""
    class_: Annotated[str, describe("standard or premium")] = field(name="class", default="")
    usable: Annotated[bool | None, describe("whether shoots may use it; default true")] = None
    min_size: Annotated[Quantity | None, describe("the smallest size")] = None


class OfferedZone(Model):
    """A zone of a region, and what it lacks."""

    name: Annotated[str, describe("the name of the zone")] = ""
    unavailable_machine_types: Annotated[
        tuple[str, ...], describe("machine types that it lacks")
    ] = ()
    unavailable_volume_types: Annotated[
        tuple[str, ...], describe("volume types that it lacks")
    ] = ()


class OfferedRegion(Model):
    """A region with its zones."""

    name: Annotated[str, describe("the name of the region")] = ""
    zones: tuple[OfferedZone, ...] = ()
    labels: Annotated[Mapping[str, str], describe("labels of the region")] = field(
        default_factory=empty_map
    )
    access_restrictions: tuple[AccessRestriction, ...] = ()


class Limits(Model):
    """Upper bounds on shoots."""

    max_nodes_total: Annotated[Int32 | None, describe("the largest number of nodes of a Shoot")] = (
        None
    )


class ProfileControlPlane(Model):
    """What shoots may configure about their control plane."""

    allow_zone_pinning: Annotated[bool, describe("whether shoots may choose zones of the seed")] = (
        False
    )


# `domain.shoots.quota` caches what it derives from it by weak reference, which msgspec allows
# only for Structs that the garbage collector tracks.
class CloudProfileSpec(Model, gc=True, weakref=True):
    """Everything that an infrastructure offers."""

    type: Annotated[str, describe("the infrastructure, e.g. aws")] = ""
    kubernetes: OfferedKubernetes = OfferedKubernetes()
    machine_images: tuple[OfferedMachineImage, ...] = ()
    machine_types: tuple[MachineType, ...] = ()
    volume_types: tuple[VolumeType, ...] = ()
    regions: tuple[OfferedRegion, ...] = ()
    seed_selector: SeedSelector | None = None
    limits: Limits | None = None
    control_plane: ProfileControlPlane | None = None
    provider_config: Annotated[Any, describe("configuration that only the provider reads")] = None


class CloudProfile(Object):
    """What an infrastructure offers to shoots."""

    spec: CloudProfileSpec = CloudProfileSpec()


class ProfileParent(Model):
    """The CloudProfile that a namespaced one extends."""

    kind: Annotated[str, describe("CloudProfile")] = "CloudProfile"
    name: Annotated[str, describe("its name")] = ""


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
    observed_generation: Annotated[int, describe("the generation that was acted on")] = 0


class NamespacedCloudProfile(Object):
    """A CloudProfile of one project, on top of a common one."""

    spec: NamespacedCloudProfileSpec = NamespacedCloudProfileSpec()
    status: NamespacedCloudProfileStatus = NamespacedCloudProfileStatus()
