"""Structs of ScheduledScaling and Tortoise."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import field

from webhook.api.conditions import Condition
from webhook.api.meta import Int32, Int64, Model, Object, ObjectReference, Quantity, nothing, says


class ContainerFloor(Model):
    """The least that a container gets."""

    container_name: Annotated[str, says("the container's name", required=True)] = ""
    resources: Annotated[
        Mapping[str, Quantity],
        says("the smallest requests, by resource: cpu, memory", required=True),
    ] = field(default_factory=nothing)


class StaticStrategy(Model):
    """Floors that hold as long as a window is open."""

    minimum_min_replicas: Annotated[
        Int32 | None, says("the least that the autoscaler's minimum may be", minimum=1)
    ] = None
    min_allocated_resources: Annotated[
        tuple[ContainerFloor, ...], says("the least that containers get, one entry a container")
    ] = ()


class ScalingStrategy(Model):
    """What a schedule does."""

    static: Annotated[StaticStrategy | None, says("floors of fixed size", required=True)] = None


class Schedule(Model):
    """When a schedule does it: once, or again and again."""

    start_at: Annotated[
        str | None,
        says("RFC 3339 time at which the window opens; absent: at creation", format="date-time"),
    ] = None
    finish_at: Annotated[
        str | None,
        says("RFC 3339 time at which it closes; required unless recurring", format="date-time"),
    ] = None
    cron: Annotated[str, says("when recurring windows open: minute hour day month weekday")] = ""
    cron_expression: Annotated[str, says("another name of `cron`")] = ""
    duration: Annotated[str, says("how long a recurring window is open, 1m to 24h, e.g. 90m")] = ""
    time_zone: Annotated[str, says("IANA time zone that `cron` is read in; default UTC")] = ""


class TortoiseReference(Model):
    """Whom a schedule is for."""

    tortoise_name: Annotated[
        str, says("the Tortoise in the same namespace", required=True, minLength=1)
    ] = ""


class ScheduledScalingSpec(Model):
    """Which Tortoise is kept above which floors, and when."""

    target_refs: Annotated[TortoiseReference, says("whom the schedule is for", required=True)] = (
        TortoiseReference()
    )
    strategy: Annotated[ScalingStrategy, says("what the schedule does", required=True)] = (
        ScalingStrategy()
    )
    schedule: Annotated[Schedule, says("when it does it", required=True)] = Schedule()
    suspend: Annotated[bool, says("ends the effect at once while true")] = False


class ScalingWindow(Model):
    """One window, from its start up to but not including its finish."""

    start: Annotated[str, says("when it opens")] = ""
    finish: Annotated[str, says("when it closes")] = ""


class ScheduledScalingStatus(Model):
    """Where a schedule stands."""

    observed_generation: Annotated[Int64, says("the generation that was acted on")] = 0
    phase: Annotated[
        str,
        says("Pending, Active, Completed or Failed"),
    ] = ""
    message: Annotated[str, says("why the phase is what it is")] = ""
    conditions: tuple[Condition, ...] = ()
    window: Annotated[ScalingWindow | None, says("the open window, or the next one")] = None
    floors: Annotated[StaticStrategy | None, says("the floors that hold now")] = None


class ScheduledScaling(Object):
    """Keeps a Tortoise above given floors while a window is open."""

    spec: Annotated[ScheduledScalingSpec, says("what to do, and when", required=True)] = (
        ScheduledScalingSpec()
    )
    status: ScheduledScalingStatus = ScheduledScalingStatus()


class TortoiseTargets(Model):
    """What a Tortoise scales."""

    scale_target_ref: ObjectReference = ObjectReference()
    horizontal_pod_autoscaler_name: Annotated[
        str | None, says("the HPA, where it is not made by Tortoise")
    ] = None


class ContainerResourcePolicy(Model):
    """Bounds on what a container gets."""

    container_name: Annotated[str, says("the container's name")] = ""
    min_allocated_resources: Annotated[Mapping[str, Quantity], says("the smallest requests")] = (
        field(default_factory=nothing)
    )
    max_allocated_resources: Annotated[Mapping[str, Quantity], says("the largest requests")] = (
        field(default_factory=nothing)
    )


class Recommender(Model):
    """Somebody who takes over a part of the recommendations."""

    name: Annotated[str, says("the recommender's name")] = ""
    responsible_for: Annotated[
        tuple[str, ...], says("what it generates: Horizontal, Vertical, Constraints")
    ] = ()


class TortoiseSpec(Model):
    """What a Tortoise scales, and within which bounds."""

    target_refs: TortoiseTargets = TortoiseTargets()
    update_mode: Annotated[str, says("Off, Auto or Emergency")] = ""
    resource_policy: tuple[ContainerResourcePolicy, ...] = ()
    deletion_policy: Annotated[str, says("DeleteAll or NoDelete")] = ""
    max_replicas: Annotated[Int32 | None, says("the most replicas")] = None
    recommenders: Annotated[
        tuple[Recommender, ...], says("recommenders that stand in for Tortoise's own")
    ] = ()


class ReplicaSlot(Model):
    """The replicas recommended for one hour of a week."""

    from_: Annotated[Int32, says("the hour it begins")] = field(name="from", default=0)
    to: Annotated[Int32, says("the hour it ends")] = 0
    week_day: Annotated[str | None, says("the day of the week")] = field(
        name="weekday", default=None
    )
    time_zone: Annotated[str, says("the time zone of the hours")] = field(
        name="timezone", default=""
    )
    value: Annotated[Int32, says("the replicas recommended")] = 0
    updated_at: Annotated[str | None, says("when it was learned")] = None


class HorizontalRecommendations(Model):
    """How many replicas are recommended, by hour."""

    min_replicas: tuple[ReplicaSlot, ...] = ()
    max_replicas: tuple[ReplicaSlot, ...] = ()


class Constraints(Model):
    """Floors that the recommendations have to keep."""

    minimum_min_replicas: Annotated[
        Int32 | None, says("the least that the autoscaler's minimum may be")
    ] = None
    min_allocated_resources: Annotated[
        tuple[ContainerResourcePolicy, ...], says("the least that containers get")
    ] = ()


class Recommendations(Model):
    """What a Tortoise recommends."""

    horizontal: HorizontalRecommendations | None = None
    constraints: Annotated[
        Constraints | None, says("floors set by a recommender responsible for Constraints")
    ] = None


class TortoiseTargetsStatus(Model):
    """What a Tortoise works with."""

    horizontal_pod_autoscaler: Annotated[str, says("the HPA it works with")] = ""
    scale_target_ref: ObjectReference = ObjectReference()


class ContainerRequests(Model):
    """The requests that a Tortoise gives to a container."""

    container_name: Annotated[str, says("the container's name")] = ""
    resource: Annotated[Mapping[str, Quantity], says("the requests")] = field(
        default_factory=nothing
    )


class TortoiseConditions(Model):
    """What a Tortoise observed."""

    tortoise_conditions: tuple[Condition, ...] = ()
    container_resource_requests: tuple[ContainerRequests, ...] = ()
    container_recommendation_from_vpa: Annotated[Any, says("what the VPA recommends")] = field(
        name="containerRecommendationFromVPA", default=None
    )


class TortoiseStatus(Model):
    """What a Tortoise knows and recommends."""

    tortoise_phase: Annotated[
        str, says("Initializing, GatheringData, Working, PartlyWorking, Emergency …")
    ] = ""
    conditions: TortoiseConditions = TortoiseConditions()
    recommendations: Recommendations = Recommendations()
    targets: TortoiseTargetsStatus = TortoiseTargetsStatus()


class Tortoise(Object):
    """Scales a workload horizontally and vertically by what it learned."""

    spec: TortoiseSpec = TortoiseSpec()
    status: TortoiseStatus = TortoiseStatus()
