"""The operator's settings that decisions read, by subject."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias, get_args

from webhook.api import names
from webhook.domain.features import ALL_FEATURES, Feature
from webhook.kube.meta import Quantity

Mode: TypeAlias = Literal["deny", "warn", "off"]
FailurePolicy: TypeAlias = Literal["Fail", "Ignore"]
WorkerRule: TypeAlias = Literal["every-pool", "system-components"]
RegionStrategy: TypeAlias = Literal["SameRegion", "MinimalDistance"]
SchedulingEngine: TypeAlias = Literal["built-in", "kube-scheduler"]
ScalingEffect: TypeAlias = Literal["tortoise", "none"]

STRATEGIES: Final[tuple[RegionStrategy, ...]] = get_args(RegionStrategy)
ENGINES: Final[tuple[SchedulingEngine, ...]] = get_args(SchedulingEngine)
GARDENER_PROFILE: Final = "gardener"
"""The profile that places shoots as gardener-scheduler does."""


@dataclass(frozen=True, slots=True)
class AdmissionOptions:
    """How strict admission is, and for which namespaces."""

    modes: Mapping[str, Mode] = field(default_factory=dict)
    """Modes by policy; a policy that is not listed has its default mode."""
    exceptions: Mapping[str, Mapping[str, Mode]] = field(default_factory=dict)
    """Modes by namespace and policy, where they differ from `modes`."""
    worker_rule: WorkerRule = "every-pool"
    """Whether every worker pool needs a node for each of its zones, or, as in Gardener, only those
    that may run system components."""
    label_multi_zonal: bool = True
    """Whether new seeds with three zones get the label `seed.gardener.cloud/multi-zonal`."""
    strict_seeds: bool = False
    """Whether seeds must be as complete as Gardener demands, instead of a warning."""
    failure: FailurePolicy | None = None
    """The failure policy of all webhooks; by default each policy has its own, and Ignore beside a
    Gardener."""
    failures: Mapping[str, FailurePolicy] = field(default_factory=dict)
    """Failure policies by policy, which take precedence."""

    @property
    def has_default_modes(self) -> bool:
        """Whether every policy has its default mode."""
        return not self.modes and not self.exceptions

    def mode(self, policy: str, namespace: str, default: Mode) -> Mode:
        """Return the mode of a policy in a namespace."""
        here = self.exceptions.get(namespace)
        if here is not None and policy in here:
            return here[policy]
        return self.modes.get(policy, default)


@dataclass(frozen=True, slots=True)
class UsageRule:
    """How much of a resource a control plane uses, by its failure domain."""

    none: Decimal = Decimal(0)
    single_zone: Decimal = Decimal(0)
    multi_zone: Decimal = Decimal(0)

    def amount(self, failure_domain: str) -> Decimal:
        """Return what a control plane with that failure domain uses."""
        if failure_domain == "multi-zone":
            return self.multi_zone
        return self.single_zone if failure_domain == "single-zone" else self.none


@dataclass(frozen=True, slots=True)
class UsageOptions:
    """What shoots use of a seed's resources besides the built-in ones."""

    rules: tuple[tuple[str, UsageRule], ...] = ()
    """Rules by resource; a resource of seeds without a rule counts 0."""


@dataclass(frozen=True, slots=True)
class SeedCapacity:
    """The capacity of a seed, and the reserved part of it."""

    capacity: Mapping[str, Quantity]
    reserved: Mapping[str, Quantity] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CapacityOptions:
    """The capacity of seeds whose gardenlet does not define it."""

    default: int = 250
    """The number of shoots of a seed whose gardenlet does not define a capacity."""
    seeds: Mapping[str, SeedCapacity] = field(default_factory=dict)
    """Seeds without a ManagedSeed whose capacity Espalier writes; others are not written."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each rule counts in the profile `weighted`."""

    minimal_distance: int = 5
    """The weight of a short distance to the seed's region."""
    high_availability: int = 3
    """The weight of keeping multi-zonal seeds for shoots that need them."""
    least_allocated: int = 2
    """The weight of seeds with more room left."""


@dataclass(frozen=True, slots=True)
class SchedulingOptions:
    """How shoots are placed."""

    profile: str = "default"
    """The profile behind the scheduler name `espalier`."""
    strategy: RegionStrategy = "SameRegion"
    """Which regions are candidates: the shoot's own, or the nearest ones as well."""
    weights: Weights = field(default_factory=Weights)
    headroom: int = 0
    """The number of shoots that is kept free on every seed, for other schedulers."""
    engine: SchedulingEngine = "built-in"
    """Who places shoots: our own scheduler, or a kube-scheduler that calls the extender."""

    def is_gardener_profile(self, scheduler: str) -> bool:
        """Return whether shoots of a scheduler name are placed as gardener-scheduler does."""
        chosen = self.profile if scheduler == names.SCHEDULER_NAME else scheduler
        return chosen == GARDENER_PROFILE


@dataclass(frozen=True, slots=True)
class ScalingOptions:
    """How scheduled scaling takes effect; the bounds are those of Tortoise's own settings."""

    effect: ScalingEffect = "tortoise"
    """Who applies floors: `tortoise` for Espalier, through the Tortoise's objects; `none` for a
    Tortoise that reads constraints itself."""
    minimum_min_replicas: int = 3
    """Tortoise's own minimum of replicas; floors up to it have no effect."""
    maximum_max_replicas: int = 100
    """Tortoise's own maximum of replicas; higher floors are lowered to it."""
    minimum_resources: Mapping[str, str] = field(
        default_factory=lambda: {"cpu": "50m", "memory": "50Mi"}
    )
    """Tortoise's own minimum of requests, by resource; floors up to it have no effect."""
    maximum_resources: Mapping[str, str] = field(
        default_factory=lambda: {"cpu": "10", "memory": "10Gi"}
    )
    """Tortoise's own maximum of requests, by resource; higher floors are lowered to it."""
    unlearn: bool = True
    """Whether the replicas of a window are kept out of Tortoise's recommendations."""
    resources_deadline_seconds: float = 600
    """After this long in a window, pods that are still below a floor are reported."""


@dataclass(frozen=True, slots=True)
class SeedsOptions:
    """How ManagedSeeds, ManagedSeedSets and SeedAutoscalers are reconciled."""

    owns_managed_seeds: bool = False
    """Whether Espalier reconciles ManagedSeeds beside a Gardener; without one it always does."""
    owns_managed_seed_sets: bool = False
    """Whether Espalier scales ManagedSeedSets beside a Gardener; without one it always does."""
    settle_seconds: float = 5.0
    """How long a seed that is chosen for scale-in is invisible before shoots are counted again."""
    retry_limit: int = 3
    """How often a failed operation on a replica's Shoot is tried again."""
    retry_seconds: float = 30.0
    """How long the first retry waits; each further one waits twice as long."""
    garden_server: str = ""
    """The address under which gardenlets in shoots reach the garden, as in a kubeconfig."""
    garden_ca: str = ""
    """The CA certificate of that address, PEM; empty for the system's certificates."""
    parent_gardenlet: Mapping[str, Any] = field(default_factory=dict)
    """The `config` and `deployment` of gardenlets without a ManagedSeed, which the gardenlets in
    shoots on their seeds are merged with."""
    autoscaler_seconds: float = 15.0
    """How often a SeedAutoscaler is reconciled without a change."""
    prometheus: str = ""
    """The address of a Prometheus with the usage of resources by seed."""
    queries: Mapping[str, str] = field(default_factory=dict)
    """Queries by resource; each returns one value for each value of the label `seed`."""


@dataclass(frozen=True, slots=True)
class NodeGroupsOptions:
    """How worker pools are discovered and managed."""

    discovery: tuple[str, ...] = ()
    """How MachineDeployments are discovered, `mcm:KEY[=VALUE]`; by default by the pool label."""
    actuators: tuple[str, ...] = ("system:serviceaccount:extension-*",)
    """Users, with `*` as a wildcard, whose writes of a MachineDeployment's size are replaced: they
    write only each zone's static share."""
    capacity_quotas: bool = True
    """Whether a CapacityQuota is written into shoots with a kubeconfig."""
    roll_seconds: float = 900.0
    """How long a new machine of an update may take to become available before its permit is
    revoked; less than machine-controller-manager's creation timeout, which replaces machines."""
    backoff_seconds: float = 300.0
    """How long a zone without resources is avoided at first; doubled with each failure in a row."""
    longest_backoff_seconds: float = 1800.0
    """The longest time for which a zone is avoided."""
    takeover_seconds: float = 60.0
    """How long a zone is avoided before other zones take over its share of the minimum."""
    kubeconfig_secret: str = "espalier-shoot"  # noqa: S105 - a name
    """The Secret beside a shoot's MachineDeployments with its kubeconfig, key `kubeconfig`."""


@dataclass(frozen=True, slots=True)
class RolloutOptions:
    """How the replicas of ManagedSeedSets are updated beside a Gardener."""

    respect_window: bool = False
    """Whether Shoots that confine changes to their maintenance window are updated only there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The operator's settings, one section for each subject, all with defaults.

    `webhook.settings` builds it; decisions read it at `snapshot.options`.
    """

    namespace: str = "espalier-system"
    """The namespace of Espalier itself, with its ledgers and certificates."""
    garden_namespace: str = names.GARDEN_NAMESPACE
    """The namespace of ManagedSeeds, ManagedSeedSets, region distances and the garden's Secrets."""
    user: str = ""
    """The username of our own requests to the API server."""
    beside_gardener: bool = False
    """Whether a Gardener serves its own kinds here."""
    features: frozenset[Feature] = ALL_FEATURES
    """The features in use, with those that they require."""
    admission: AdmissionOptions = field(default_factory=AdmissionOptions)
    scheduling: SchedulingOptions = field(default_factory=SchedulingOptions)
    usage: UsageOptions = field(default_factory=UsageOptions)
    capacity: CapacityOptions = field(default_factory=CapacityOptions)
    scaling: ScalingOptions = field(default_factory=ScalingOptions)
    seeds: SeedsOptions = field(default_factory=SeedsOptions)
    rollout: RolloutOptions = field(default_factory=RolloutOptions)
    nodegroups: NodeGroupsOptions = field(default_factory=NodeGroupsOptions)

    @property
    def reconciles_managed_seeds(self) -> bool:
        """Whether Espalier reconciles ManagedSeeds."""
        return not self.beside_gardener or self.seeds.owns_managed_seeds

    @property
    def reconciles_managed_seed_sets(self) -> bool:
        """Whether Espalier scales ManagedSeedSets."""
        return not self.beside_gardener or self.seeds.owns_managed_seed_sets
