"""A shoot as placement reads it: parsed once for each decision."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.shoots import Shoot
from webhook.domain.options import Options
from webhook.domain.placement import region_config
from webhook.domain.seeds import usage, zones
from webhook.domain.shoots import ha
from webhook.domain.shoots.ha import Availability
from webhook.kube.meta import ObjectKey
from webhook.state.indexes import PROJECTS_BY_NAMESPACE, REGION_CONFIGS_BY_PROFILE
from webhook.state.snapshot import Snapshot

TESTING: Final = "testing"
_NAMESPACED: Final = "NamespacedCloudProfile"


class ShootInfo:
    """A shoot to be placed, with the objects that it refers to."""

    __slots__ = (
        "affinity",
        "availability",
        "cloud_profile",
        "is_testing",
        "options",
        "own_seeds",
        "profile_name",
        "provider",
        "region",
        "request",
        "shoot",
        "snapshot",
    )

    def __init__(
        self, shoot: Shoot, snapshot: Snapshot, availability: Availability | None = None
    ) -> None:
        self.shoot = shoot
        self.snapshot = snapshot
        self.options: Options = snapshot.options
        self.provider = shoot.spec.provider.type
        self.region = shoot.spec.region
        self.is_testing = shoot.spec.purpose == TESTING
        self.affinity = ha.region_affinity(shoot)
        self.availability = availability or ha.effective(shoot)
        self.request: Mapping[str, Decimal] = usage.usage_for(self.availability, self.options.usage)
        self.own_seeds = usage.seeds_of(shoot)
        self.profile_name = cloud_profile_name(shoot, snapshot)
        self.cloud_profile = snapshot.get_counting_stale(
            CloudProfile, ObjectKey("", self.profile_name)
        )

    @property
    def is_multi_zone(self) -> bool:
        return self.availability.type == ha.MULTI_ZONE

    @property
    def worker_zones(self) -> frozenset[str]:
        return frozenset(zones.shoot_zones(self.shoot))

    @property
    def project(self) -> str | None:
        """The name of the project that the shoot's namespace belongs to."""
        found = self.snapshot.by_index(PROJECTS_BY_NAMESPACE, self.shoot.namespace)
        return found[0].name if found else None

    @property
    def distances(self) -> Mapping[str, int] | None:
        """Distances from the shoot's region by the operator's region table, if it lists the region.

        Raises RegionConfigError for a table that cannot be read.
        """
        tables = self.snapshot.by_index(REGION_CONFIGS_BY_PROFILE, self.profile_name)
        if not tables:
            return None
        first = min(tables, key=lambda table: table.name)
        return region_config.distances(first.data, self.region)

    def as_single_zone(self) -> "ShootInfo":
        """Return the same shoot with a control plane in one zone only."""
        availability = self.availability._replace(type=ha.SINGLE_ZONE)
        return ShootInfo(self.shoot, self.snapshot, availability)


def cloud_profile_name(shoot: Shoot, snapshot: Snapshot) -> str:
    """Return the name of a shoot's CloudProfile, or of its NamespacedCloudProfile's parent."""
    reference = shoot.spec.cloud_profile
    if reference is None:
        return shoot.spec.cloud_profile_name
    if reference.kind != _NAMESPACED:
        return reference.name
    own = snapshot.get_counting_stale(
        NamespacedCloudProfile, ObjectKey(shoot.namespace, reference.name)
    )
    return own.spec.parent.name if own is not None else ""
