"""Structs of SeedAutoscaler."""

from typing import Annotated

from webhook.kube.conditions import Condition
from webhook.kube.meta import Int32, Model, Object, ObjectReference, Quantity, describe


class MetricTarget(Model):
    """The target value of a metric."""

    type: Annotated[str, describe("Utilization or AverageValue", required=True)] = ""
    average_utilization: Annotated[
        Int32 | None, describe("percent of what is allocatable, 1 to 100")
    ] = None
    average_value: Annotated[Quantity | None, describe("amount for each seed")] = None


class ResourceMetric(Model):
    """A resource of seeds, such as `shoots`."""

    name: Annotated[str, describe("a resource of Seed.status.allocatable", required=True)] = ""
    target: MetricTarget = MetricTarget()


class Metric(Model):
    """One reason to scale."""

    type: Annotated[str, describe("Resource", required=True)] = ""
    resource: ResourceMetric | None = None


class ScalingPolicy(Model):
    """How much may change in how many seconds."""

    type: Annotated[str, describe("Replicas or Percent; Seeds and Pods mean Replicas")] = ""
    value: Annotated[Int32, describe("how much")] = 0
    period_seconds: Annotated[Int32, describe("in how many seconds")] = 0


class ScalingRules(Model):
    """How fast a set may be scaled in one direction."""

    stabilization_window_seconds: Annotated[
        Int32 | None, describe("how far back recommendations count")
    ] = None
    select_policy: Annotated[str | None, describe("Max, Min or Disabled")] = None
    policies: tuple[ScalingPolicy, ...] = ()
    tolerance: Annotated[Quantity | None, describe("tolerated deviation, default 0.1")] = None


class ScaleDownRules(ScalingRules):
    """How fast a set may shrink, and whether seeds are drained for it."""

    cordon: Annotated[bool, describe("whether the emptiest seeds are cordoned first")] = False


class ScalingBehavior(Model):
    """How fast a set may be scaled."""

    scale_up: ScalingRules | None = None
    scale_down: ScaleDownRules | None = None


class SeedAutoscalerSpec(Model):
    """What is scaled, within which bounds, by which metrics."""

    scale_target_ref: Annotated[
        ObjectReference, describe("the ManagedSeedSet to scale", required=True)
    ] = ObjectReference()
    min_replicas: Annotated[Int32 | None, describe("the fewest seeds; default 1", default=1)] = None
    max_replicas: Annotated[Int32, describe("the most seeds", required=True)] = 0
    metrics: tuple[Metric, ...] = ()
    behavior: ScalingBehavior | None = None
    mode: Annotated[
        str,
        describe(
            "Auto, or Recommend to fill the status only",
            enum=["Auto", "Recommend"],
            default="Auto",
        ),
    ] = "Auto"


class CurrentResource(Model):
    """The present value of a resource metric."""

    name: Annotated[str, describe("the resource")] = ""
    average_utilization: Annotated[Int32 | None, describe("percent of what is allocatable")] = None
    average_value: Annotated[Quantity | None, describe("amount for each seed")] = None


class CurrentMetric(Model):
    """The present value of a metric."""

    type: Annotated[str, describe("Resource")] = ""
    resource: CurrentResource | None = None


class PastRecommendation(Model):
    """A number of seeds that the metrics required, and the last time of it."""

    at: Annotated[str, describe("when")] = ""
    replicas: Annotated[Int32, describe("how many seeds")] = 0


class PastChange(Model):
    """A change that was made to the set."""

    at: Annotated[str, describe("when")] = ""
    by: Annotated[Int32, describe("by how many seeds")] = 0


class SeedAutoscalerStatus(Model):
    """What the autoscaler observed and recommends."""

    observed_generation: Annotated[int, describe("the generation that was acted on")] = 0
    current_replicas: Annotated[Int32, describe("seeds that exist")] = 0
    desired_replicas: Annotated[Int32, describe("seeds that are wanted")] = 0
    pending_shoots: Annotated[Int32, describe("shoots that wait for such a seed")] = 0
    waiting_for: Annotated[
        str, describe("seeds that block scale-in; the condition AbleToScale has the reasons")
    ] = ""
    last_scale_time: Annotated[str | None, describe("when the set was last scaled")] = None
    current_metrics: tuple[CurrentMetric, ...] = ()
    recent_recommendations: Annotated[
        tuple[PastRecommendation, ...], describe("past recommendations, for stabilization windows")
    ] = ()
    recent_changes: Annotated[
        tuple[PastChange, ...], describe("past changes, for rate policies")
    ] = ()
    conditions: tuple[Condition, ...] = ()


class SeedAutoscaler(Object):
    """Scales a ManagedSeedSet by how full its seeds are."""

    spec: SeedAutoscalerSpec = SeedAutoscalerSpec()
    status: SeedAutoscalerStatus = SeedAutoscalerStatus()
