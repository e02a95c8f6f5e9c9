"""What placement wants to know of a shoot, read once for each decision."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from webhook.api.cloudprofiles import CloudProfile, NamespacedCloudProfile
from webhook.api.meta import ObjectKey
from webhook.api.shoots import Shoot
from webhook.domain import ha, regions, usage, zones
from webhook.domain.ha import HighAvailability
from webhook.domain.options import Options
from webhook.state.indexes import PROJECTS_BY_NAMESPACE, REGION_CONFIGS_BY_PROFILE
from webhook.state.snapshot import Snapshot

TESTING: Final = "testing"
_NAMESPACED: Final = "NamespacedCloudProfile"


class Subject:
    """A shoot that wants a seed, and what it refers to."""

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
        self, shoot: Shoot, snapshot: Snapshot, availability: HighAvailability | None = None
    ) -> None:
        self.shoot = shoot
        self.snapshot = snapshot
        self.options: Options = snapshot.options
        self.provider = shoot.spec.provider.type
        self.region = shoot.spec.region
        self.is_testing = shoot.spec.purpose == TESTING
        self.affinity = ha.region_affinity(shoot)
        self.availability = availability or ha.effective(shoot)
        self.request: Mapping[str, Decimal] = usage.request(self.availability, self.options.usage)
        self.own_seeds = usage.seeds(shoot)
        self.profile_name = cloud_profile_name(shoot, snapshot)
        self.cloud_profile = snapshot.rely_on(CloudProfile, ObjectKey("", self.profile_name))

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
        """How far regions are from the shoot's by the operator's table, if it knows the region.

        Raises RegionConfigError for a table that cannot be read.
        """
        tables = self.snapshot.by_index(REGION_CONFIGS_BY_PROFILE, self.profile_name)
        if not tables:
            return None
        first = min(tables, key=lambda table: table.name)
        return regions.distances(first.data, self.region)

    def weaken(self) -> "Subject":
        """Return the same wish with a control plane in one zone only."""
        weaker = self.availability._replace(type=ha.SINGLE_ZONE)
        return Subject(self.shoot, self.snapshot, weaker)


def cloud_profile_name(shoot: Shoot, snapshot: Snapshot) -> str:
    """Name the CloudProfile of a shoot, also behind a NamespacedCloudProfile."""
    reference = shoot.spec.cloud_profile
    if reference is None:
        return shoot.spec.cloud_profile_name
    if reference.kind != _NAMESPACED:
        return reference.name
    own = snapshot.rely_on(NamespacedCloudProfile, ObjectKey(shoot.namespace, reference.name))
    return own.spec.parent.name if own is not None else ""
