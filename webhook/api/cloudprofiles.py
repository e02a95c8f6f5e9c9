"""Structs of CloudProfile and NamespacedCloudProfile: what an infrastructure offers."""

from collections.abc import Mapping
from typing import Any

from msgspec import field

from webhook.api.meta import Int32, Model, Object, Quantity, nothing
from webhook.api.shoots import AccessRestriction, SeedSelector


class ExpirableVersion(Model):
    """A version that may be a preview, deprecated, or past its end."""

    version: str = ""
    classification: str = ""
    expiration_date: str | None = None


class OfferedKubernetes(Model):
    """Kubernetes versions on offer."""

    versions: tuple[ExpirableVersion, ...] = ()


class RuntimeInterface(Model):
    """A container runtime interface that an image supports."""

    name: str = ""


class MachineImageVersion(ExpirableVersion):
    """One version of a machine image."""

    cri: tuple[RuntimeInterface, ...] = ()
    architectures: tuple[str, ...] = ()


class OfferedMachineImage(Model):
    """A machine image on offer."""

    name: str = ""
    update_strategy: str = ""
    versions: tuple[MachineImageVersion, ...] = ()


class MachineStorage(Model):
    """The disk that comes with a machine type."""

    class_: str = field(name="class", default="")
    type: str = ""
    size: Quantity | None = None


class MachineType(Model):
    """A machine type on offer."""

    name: str = ""
    cpu: Quantity = "0"
    gpu: Quantity = "0"
    memory: Quantity = "0"
    usable: bool | None = None
    architecture: str = ""
    storage: MachineStorage | None = None


class VolumeType(Model):
    """A volume type on offer."""

    name: str = ""
    class_: str = field(name="class", default="")
    usable: bool | None = None
    min_size: Quantity | None = None


class OfferedZone(Model):
    """A zone of a region, and what it lacks."""

    name: str = ""
    unavailable_machine_types: tuple[str, ...] = ()
    unavailable_volume_types: tuple[str, ...] = ()


class OfferedRegion(Model):
    """A region with its zones."""

    name: str = ""
    zones: tuple[OfferedZone, ...] = ()
    labels: Mapping[str, str] = field(default_factory=nothing)
    access_restrictions: tuple[AccessRestriction, ...] = ()


class Limits(Model):
    """Upper bounds on shoots."""

    max_nodes_total: Int32 | None = None


class ProfileControlPlane(Model):
    """What shoots may say about their control plane."""

    allow_zone_pinning: bool = False


class CloudProfileSpec(Model):
    """Everything that an infrastructure offers."""

    type: str = ""
    kubernetes: OfferedKubernetes = OfferedKubernetes()
    machine_images: tuple[OfferedMachineImage, ...] = ()
    machine_types: tuple[MachineType, ...] = ()
    volume_types: tuple[VolumeType, ...] = ()
    regions: tuple[OfferedRegion, ...] = ()
    seed_selector: SeedSelector | None = None
    limits: Limits | None = None
    control_plane: ProfileControlPlane | None = None
    provider_config: Any = None


class CloudProfile(Object):
    """What an infrastructure offers to shoots."""

    spec: CloudProfileSpec = CloudProfileSpec()


class ProfileParent(Model):
    """The CloudProfile that a namespaced one extends."""

    kind: str = "CloudProfile"
    name: str = ""


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
    observed_generation: int = 0


class NamespacedCloudProfile(Object):
    """A CloudProfile of one project, on top of a common one."""

    spec: NamespacedCloudProfileSpec = NamespacedCloudProfileSpec()
    status: NamespacedCloudProfileStatus = NamespacedCloudProfileStatus()
