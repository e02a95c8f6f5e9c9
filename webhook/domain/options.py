"""The operator's settings that decisions read, by room."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal, TypeAlias, get_args

from webhook.api import names
from webhook.api.meta import Quantity

Mode: TypeAlias = Literal["deny", "warn", "off"]
Failure: TypeAlias = Literal["Fail", "Ignore"]
WorkerRule: TypeAlias = Literal["every-pool", "system-components"]
Strategy: TypeAlias = Literal["SameRegion", "MinimalDistance"]
Engine: TypeAlias = Literal["built-in", "kube-scheduler"]
Effect: TypeAlias = Literal["tortoise", "none"]

STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)
ENGINES: Final[tuple[Engine, ...]] = get_args(Engine)
LIKE_GARDENER: Final = "gardener"
"""The profile that places shoots as gardener-scheduler does."""


@dataclass(frozen=True, slots=True)
class AdmissionOptions:
    """How strict admission is, for whom."""

    modes: Mapping[str, Mode] = field(default_factory=dict)
    """A policy's mode; a policy that is not named keeps the mode of its table row."""
    exceptions: Mapping[str, Mapping[str, Mode]] = field(default_factory=dict)
    """By namespace, modes that differ from those above."""
    garden_namespace: str = "garden"
    worker_rule: WorkerRule = "every-pool"
    label_multi_zonal: bool = True
    strict_seeds: bool = False
    failure: Failure | None = None
    """What an API server does when we do not answer; without it each policy's own choice, and
    Ignore beside a Gardener."""
    failures: Mapping[str, Failure] = field(default_factory=dict)
    """The same for single policies, by name, before all others."""

    @property
    def is_usual(self) -> bool:
        """Tell whether every policy has the mode of its table row."""
        return not self.modes and not self.exceptions

    def mode(self, policy: str, namespace: str, default: Mode) -> Mode:
        """Tell how strict a policy is in a namespace."""
        here = self.exceptions.get(namespace)
        if here is not None and policy in here:
            return here[policy]
        return self.modes.get(policy, default)


@dataclass(frozen=True, slots=True)
class UsageRule:
    """How much of a resource a control plane uses, by what may fail without hurting it."""

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
    """What shoots use of a seed's resources beside the built-in ones."""

    rules: tuple[tuple[str, UsageRule], ...] = ()
    """By resource; one that seeds offer and no rule names counts 0."""


@dataclass(frozen=True, slots=True)
class SeedCapacity:
    """What a seed has, and what of it is kept back."""

    capacity: Mapping[str, Quantity]
    reserved: Mapping[str, Quantity] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CapacityOptions:
    """How many shoots a seed takes where its gardenlet does not say."""

    default: int = 250
    seeds: Mapping[str, SeedCapacity] = field(default_factory=dict)
    """Seeds without a ManagedSeed whose capacity is ours to write; others are left alone."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each rule counts in the profile `weighted`."""

    minimal_distance: int = 5
    high_availability: int = 3
    least_allocated: int = 2


@dataclass(frozen=True, slots=True)
class SchedulingOptions:
    """How shoots get their seeds."""

    profile: str = "default"
    """The profile behind the scheduler name `espalier`."""
    strategy: Strategy = "SameRegion"
    weights: Weights = field(default_factory=Weights)
    headroom: int = 0
    """Shoots that are kept free on every seed, for those that others place there."""
    engine: Engine = "built-in"
    garden_namespace: str = "garden"

    def is_gardeners(self, scheduler: str) -> bool:
        """Tell whether a scheduler's name stands for what gardener-scheduler does."""
        chosen = self.profile if scheduler == names.SCHEDULER_NAME else scheduler
        return chosen == LIKE_GARDENER


@dataclass(frozen=True, slots=True)
class ScalingOptions:
    """How scheduled scaling takes effect; the bounds are those of the Tortoise beside us."""

    effect: Effect = "tortoise"
    """`none` leaves it to a Tortoise that reads constraints itself."""
    minimum_min_replicas: int = 3
    maximum_max_replicas: int = 100
    minimum_resources: Mapping[str, str] = field(
        default_factory=lambda: {"cpu": "50m", "memory": "50Mi"}
    )
    maximum_resources: Mapping[str, str] = field(
        default_factory=lambda: {"cpu": "10", "memory": "10Gi"}
    )
    unlearn: bool = True
    """Whether a window is kept from raising what Tortoise recommends for its hours."""
    resources_deadline_seconds: float = 600
    """After this long in a window, pods that are still below a floor are reported."""


@dataclass(frozen=True, slots=True)
class SeedsOptions:
    """How managed seeds and sets of them are looked after."""

    owns_managed_seeds: bool = False
    """Whether ManagedSeeds are ours although a Gardener is there; without one they always are."""
    owns_managed_seed_sets: bool = False
    """The same for the scaling of ManagedSeedSets."""
    settle_seconds: float = 5.0
    """How long a seed that is chosen for scale-in stays hidden before it is seen empty again."""
    retry_limit: int = 3
    """How often a failed operation on a replica's Shoot is tried again."""
    retry_seconds: float = 30.0
    """How long the first retry waits; each further one waits twice as long."""
    garden_server: str = ""
    """The address under which gardenlets in shoots reach the garden, as in a kubeconfig."""
    garden_ca: str = ""
    """The authority behind it, PEM; empty where the system's authorities do."""
    parent_gardenlet: Mapping[str, Any] = field(default_factory=dict)
    """The `config` and `deployment` of gardenlets that no ManagedSeed tells of: what those in
    shoots on their seeds merge with."""
    autoscaler_seconds: float = 15.0
    """How often a SeedAutoscaler is looked at without being woken."""
    prometheus: str = ""
    """The address of a Prometheus that knows how much of a resource seeds use."""
    queries: Mapping[str, str] = field(default_factory=dict)
    """By resource, the query that tells it, one value for each value of the label `seed`."""


@dataclass(frozen=True, slots=True)
class NodeGroupsOptions:
    """How worker pools are found and looked after."""

    discovery: tuple[str, ...] = ()
    """Where MachineDeployments are looked for, `mcm:KEY[=VALUE]`; without any, by pool label."""
    actuators: tuple[str, ...] = ("system:serviceaccount:extension-*",)
    """Users, with `*` as a wildcard, whose writes of a MachineDeployment's size are not taken at
    their word: they know each zone's static share only."""
    capacity_quotas: bool = True
    """Whether a CapacityQuota is kept in shoots whose kubeconfig is given."""
    roll_seconds: float = 900.0
    """How long a new machine of an update may take to serve before its permit is taken back; keep
    it below machine-controller-manager's creation timeout, after which machines are replaced."""
    backoff_seconds: float = 300.0
    """How long a zone without resources is avoided at first; each time in a row twice as long."""
    longest_backoff_seconds: float = 1800.0
    """How long it is avoided at most."""
    takeover_seconds: float = 60.0
    """How long a zone is bad before others are raised for its share of the minimum."""
    kubeconfig_secret: str = "espalier-shoot"  # noqa: S105 - a name
    """Secret beside a shoot's MachineDeployments whose key `kubeconfig` leads into the shoot."""


@dataclass(frozen=True, slots=True)
class RolloutOptions:
    """How sets of seeds are rolled beside a Gardener."""

    respect_window: bool = False
    """Whether Shoots that confine changes to their maintenance window are left to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The operator's settings, one section for each family of rules, all with defaults.

    `settings` builds it; decisions find it at `snapshot.options`. A section is a frozen dataclass
    beside the rules that read it or, where several read it, in this module.
    """

    namespace: str = "espalier-system"
    """The namespace that Espalier itself lives in, with its ledgers and certificates."""
    user: str = ""
    """The name that the API server knows our own writes by."""
    beside_gardener: bool = False
    """Whether a real Gardener serves its own kinds here."""
    admission: AdmissionOptions = field(default_factory=AdmissionOptions)
    scheduling: SchedulingOptions = field(default_factory=SchedulingOptions)
    usage: UsageOptions = field(default_factory=UsageOptions)
    capacity: CapacityOptions = field(default_factory=CapacityOptions)
    scaling: ScalingOptions = field(default_factory=ScalingOptions)
    seeds: SeedsOptions = field(default_factory=SeedsOptions)
    rollout: RolloutOptions = field(default_factory=RolloutOptions)
    nodegroups: NodeGroupsOptions = field(default_factory=NodeGroupsOptions)

    @property
    def keeps_managed_seeds(self) -> bool:
        """Whether ManagedSeeds are ours to reconcile."""
        return not self.beside_gardener or self.seeds.owns_managed_seeds

    @property
    def keeps_managed_seed_sets(self) -> bool:
        """Whether ManagedSeedSets are ours to scale."""
        return not self.beside_gardener or self.seeds.owns_managed_seed_sets
