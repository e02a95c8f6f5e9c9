"""Structs of ManagedSeed, ManagedSeedSet and SeedAutoscaler: seeds that manage themselves."""

from collections.abc import Mapping
from typing import Any

from msgspec import field

from webhook.api.conditions import Condition
from webhook.api.meta import (
    Int32,
    IntOrString,
    LocalReference,
    Model,
    Object,
    ObjectReference,
    Quantity,
    Selector,
    TemplateMetadata,
    nothing,
)
from webhook.api.seeds import SeedTemplate
from webhook.api.shoots import ShootTemplate


class GardenletImage(Model):
    """The image that a gardenlet runs from."""

    repository: str | None = None
    tag: str | None = None
    ref: str | None = None
    pull_policy: str | None = None


class GardenletDeployment(Model):
    """How the gardenlet is deployed into the shoot."""

    replica_count: Int32 | None = None
    revision_history_limit: Int32 | None = None
    service_account_name: str | None = None
    image: GardenletImage | None = None
    resources: Any = None
    pod_labels: Mapping[str, str] = field(default_factory=nothing)
    pod_annotations: Mapping[str, str] = field(default_factory=nothing)
    additional_volumes: tuple[Any, ...] = ()
    additional_volume_mounts: tuple[Any, ...] = ()
    env: tuple[Any, ...] = ()
    vpa: bool | None = None


class GardenClientConnection(Model):
    """How the gardenlet reaches the garden."""

    kubeconfig: str | None = None
    bootstrap_kubeconfig: Any = None
    kubeconfig_secret: Any = None


class GardenletResources(Model):
    """What a seed can carry, and what of it is kept back."""

    capacity: Mapping[str, Quantity] = field(default_factory=nothing)
    reserved: Mapping[str, Quantity] = field(default_factory=nothing)


class GardenletConfiguration(Model):
    """The parts of a gardenlet's configuration that are read here."""

    api_version: str = ""
    kind: str = ""
    seed_config: SeedTemplate | None = None
    resources: GardenletResources | None = None
    garden_client_connection: GardenClientConnection | None = None
    feature_gates: Mapping[str, bool] = field(default_factory=nothing)


class Gardenlet(Model):
    """The gardenlet that registers and runs the seed."""

    deployment: GardenletDeployment | None = None
    config: GardenletConfiguration | None = None
    bootstrap: str | None = None
    merge_with_parent: bool | None = None


class ManagedSeedSpec(Model):
    """Which Shoot becomes a seed, and what kind of seed."""

    shoot: LocalReference | None = None
    seed_template: SeedTemplate | None = None
    gardenlet: Gardenlet | None = None


class ManagedSeedStatus(Model):
    """How far the registration has come."""

    conditions: tuple[Condition, ...] = ()
    observed_generation: int = 0


class ManagedSeed(Object):
    """A Shoot that is registered as a Seed."""

    spec: ManagedSeedSpec = ManagedSeedSpec()
    status: ManagedSeedStatus = ManagedSeedStatus()

    @property
    def seed_template(self) -> SeedTemplate | None:
        """The template of the Seed, wherever it is given."""
        return seed_template_of(self.spec)


def seed_template_of(spec: ManagedSeedSpec) -> SeedTemplate | None:
    """Return the Seed template of either variant of a ManagedSeed."""
    if spec.seed_template is not None:
        return spec.seed_template
    if spec.gardenlet is not None and spec.gardenlet.config is not None:
        return spec.gardenlet.config.seed_config
    return None


class ManagedSeedTemplate(Model):
    """The ManagedSeed that a set makes for each of its replicas."""

    metadata: TemplateMetadata = TemplateMetadata()
    spec: ManagedSeedSpec = ManagedSeedSpec()


class RollingUpdate(Model):
    """How careful a rolling update is."""

    partition: Int32 | None = None
    max_unready_shoots: IntOrString | None = None


class UpdateStrategy(Model):
    """How replicas get a changed template."""

    type: str | None = None
    rolling_update: RollingUpdate | None = None


class ManagedSeedSetSpec(Model):
    """How many seeds, and made from what."""

    replicas: Int32 | None = None
    selector: Selector = Selector()
    template: ManagedSeedTemplate = ManagedSeedTemplate()
    shoot_template: ShootTemplate = ShootTemplate()
    update_strategy: UpdateStrategy | None = None
    revision_history_limit: Int32 | None = None
    max_parallel: Int32 | None = None
    paused: bool = False


class PendingReplica(Model):
    """The replica that a set is waiting for."""

    name: str = ""
    reason: str = ""
    since: str | None = None
    retries: Int32 | None = None


class ManagedSeedSetStatus(Model):
    """How many replicas there are, and of which revision."""

    observed_generation: int = 0
    replicas: Int32 = 0
    ready_replicas: Int32 = 0
    next_replica_number: Int32 = 0
    current_replicas: Int32 = 0
    updated_replicas: Int32 = 0
    current_revision: str = ""
    update_revision: str = ""
    collision_count: Int32 | None = None
    selector: str = ""
    conditions: tuple[Condition, ...] = ()
    pending_replica: PendingReplica | None = None


class ManagedSeedSet(Object):
    """A number of like seeds that are made, updated and removed together."""

    spec: ManagedSeedSetSpec = ManagedSeedSetSpec()
    status: ManagedSeedSetStatus = ManagedSeedSetStatus()


class MetricTarget(Model):
    """The value that a metric is held at."""

    type: str = ""
    average_utilization: Int32 | None = None
    average_value: Quantity | None = None


class ResourceMetric(Model):
    """A resource of seeds, such as `shoots`."""

    name: str = ""
    target: MetricTarget = MetricTarget()


class Metric(Model):
    """One reason to scale."""

    type: str = ""
    resource: ResourceMetric | None = None


class ScalingPolicy(Model):
    """How much may change in how many seconds."""

    type: str = ""
    value: Int32 = 0
    period_seconds: Int32 = 0


class ScalingRules(Model):
    """How fast a set may be scaled in one direction."""

    stabilization_window_seconds: Int32 | None = None
    select_policy: str | None = None
    policies: tuple[ScalingPolicy, ...] = ()
    tolerance: Quantity | None = None


class ScaleDownRules(ScalingRules):
    """How fast a set may shrink, and whether seeds are emptied for it."""

    cordon: bool = False


class ScalingBehavior(Model):
    """How fast a set may be scaled."""

    scale_up: ScalingRules | None = None
    scale_down: ScaleDownRules | None = None


class SeedAutoscalerSpec(Model):
    """What is scaled, within which bounds, by which metrics."""

    scale_target_ref: ObjectReference = ObjectReference()
    min_replicas: Int32 | None = None
    max_replicas: Int32 = 0
    metrics: tuple[Metric, ...] = ()
    behavior: ScalingBehavior | None = None
    mode: str = "Auto"


class CurrentResource(Model):
    """The present value of a resource metric."""

    name: str = ""
    average_utilization: Int32 | None = None
    average_value: Quantity | None = None


class CurrentMetric(Model):
    """The present value of a metric."""

    type: str = ""
    resource: CurrentResource | None = None


class SeedAutoscalerStatus(Model):
    """What the autoscaler saw and wants."""

    observed_generation: int = 0
    current_replicas: Int32 = 0
    desired_replicas: Int32 = 0
    pending_shoots: Int32 = 0
    last_scale_time: str | None = None
    current_metrics: tuple[CurrentMetric, ...] = ()
    conditions: tuple[Condition, ...] = ()


class SeedAutoscaler(Object):
    """Scales a ManagedSeedSet by how full its seeds are."""

    spec: SeedAutoscalerSpec = SeedAutoscalerSpec()
    status: SeedAutoscalerStatus = SeedAutoscalerStatus()
