"""Structs of ScheduledScaling and Tortoise."""

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import field

from webhook.kube.conditions import Condition
from webhook.kube.meta import (
    Int32,
    Int64,
    Model,
    Object,
    ObjectReference,
    Quantity,
    describe,
    empty_map,
)


class ContainerFloor(Model):
    """The minimum requests of a container."""

    container_name: Annotated[str, describe("the container's name", required=True)] = ""
    resources: Annotated[
        Mapping[str, Quantity],
        describe("the smallest requests, by resource: cpu, memory", required=True),
    ] = field(default_factory=empty_map)


class StaticStrategy(Model):
    """Floors that apply while a window is open."""

    minimum_min_replicas: Annotated[
        Int32 | None, describe("the least that the autoscaler's minimum may be", minimum=1)
    ] = None
    min_allocated_resources: Annotated[
        tuple[ContainerFloor, ...], describe("the least that containers get, one entry a container")
    ] = ()


class ScalingStrategy(Model):
    """The effect of a schedule."""

    static: Annotated[StaticStrategy | None, describe("floors of fixed size", required=True)] = None


class Schedule(Model):
    """When the windows of a schedule open: once, or repeatedly."""

    start_at: Annotated[
        str | None,
        describe(
            "RFC 3339 time at which the window opens; absent: at creation", format="date-time"
        ),
    ] = None
    finish_at: Annotated[
        str | None,
        describe("RFC 3339 time at which it closes; required unless recurring", format="date-time"),
    ] = None
    cron: Annotated[str, describe("when recurring windows open: minute hour day month weekday")] = (
        ""
    )
    cron_expression: Annotated[str, describe("another name of `cron`")] = ""
    duration: Annotated[
        str, describe("how long a recurring window is open, 1m to 24h, e.g. 90m")
    ] = ""
    time_zone: Annotated[str, describe("IANA time zone that `cron` is read in; default UTC")] = ""


class TortoiseReference(Model):
    """The Tortoise of a schedule."""

    tortoise_name: Annotated[
        str, describe("the Tortoise in the same namespace", required=True, minLength=1)
    ] = ""


class ScheduledScalingSpec(Model):
    """Which Tortoise is kept above which floors, and when."""

    target_refs: Annotated[
        TortoiseReference, describe("the target of the schedule", required=True)
    ] = TortoiseReference()
    strategy: Annotated[ScalingStrategy, describe("the effect of the schedule", required=True)] = (
        ScalingStrategy()
    )
    schedule: Annotated[Schedule, describe("when its windows open", required=True)] = Schedule()
    suspend: Annotated[bool, describe("ends the effect at once while true")] = False


class ScalingWindow(Model):
    """One window, from its start up to but not including its finish."""

    start: Annotated[str, describe("when it opens")] = ""
    finish: Annotated[str, describe("when it closes")] = ""


class ScheduledScalingStatus(Model):
    """The observed state of a schedule."""

    observed_generation: Annotated[Int64, describe("the generation that was acted on")] = 0
    phase: Annotated[
        str,
        describe("Pending, Active, Completed or Failed"),
    ] = ""
    message: Annotated[str, describe("the reason for the phase")] = ""
    conditions: tuple[Condition, ...] = ()
    window: Annotated[ScalingWindow | None, describe("the open window, or the next one")] = None
    floors: Annotated[StaticStrategy | None, describe("the floors that apply now")] = None


class ScheduledScaling(Object):
    """Keeps a Tortoise above given floors while a window is open."""

    spec: Annotated[ScheduledScalingSpec, describe("what to do, and when", required=True)] = (
        ScheduledScalingSpec()
    )
    status: ScheduledScalingStatus = ScheduledScalingStatus()


class TortoiseTargets(Model):
    """What a Tortoise scales."""

    scale_target_ref: ObjectReference = ObjectReference()
    horizontal_pod_autoscaler_name: Annotated[
        str | None, describe("the HPA, where it is not made by Tortoise")
    ] = None


class ContainerResourcePolicy(Model):
    """Bounds on what a container gets."""

    container_name: Annotated[str, describe("the container's name")] = ""
    min_allocated_resources: Annotated[
        Mapping[str, Quantity], describe("the smallest requests")
    ] = field(default_factory=empty_map)
    max_allocated_resources: Annotated[Mapping[str, Quantity], describe("the largest requests")] = (
        field(default_factory=empty_map)
    )


class Recommender(Model):
    """A controller that is responsible for a part of the recommendations."""

    name: Annotated[str, describe("the recommender's name")] = ""
    responsible_for: Annotated[
        tuple[str, ...], describe("what it generates: Horizontal, Vertical, Constraints")
    ] = ()


class TortoiseSpec(Model):
    """What a Tortoise scales, and within which bounds."""

    target_refs: TortoiseTargets = TortoiseTargets()
    update_mode: Annotated[str, describe("Off, Auto or Emergency")] = ""
    resource_policy: tuple[ContainerResourcePolicy, ...] = ()
    deletion_policy: Annotated[str, describe("DeleteAll or NoDelete")] = ""
    max_replicas: Annotated[Int32 | None, describe("the most replicas")] = None
    recommenders: Annotated[
        tuple[Recommender, ...], describe("recommenders that replace Tortoise's own")
    ] = ()


class ReplicaSlot(Model):
    """The replicas recommended for one hour of a week."""

    from_: Annotated[Int32, describe("the hour it begins")] = field(name="from", default=0)
    to: Annotated[Int32, describe("the hour it ends")] = 0
    week_day: Annotated[str | None, describe("the day of the week")] = field(
        name="weekday", default=None
    )
    time_zone: Annotated[str, describe("the time zone of the hours")] = field(
        name="timezone", default=""
    )
    value: Annotated[Int32, describe("the replicas recommended")] = 0
    updated_at: Annotated[str | None, describe("when it was last updated")] = None


class HorizontalRecommendations(Model):
    """How many replicas are recommended, by hour."""

    min_replicas: tuple[ReplicaSlot, ...] = ()
    max_replicas: tuple[ReplicaSlot, ...] = ()


class Constraints(Model):
    """Floors that the recommendations must respect."""

    minimum_min_replicas: Annotated[
        Int32 | None, describe("the least that the autoscaler's minimum may be")
    ] = None
    min_allocated_resources: Annotated[
        tuple[ContainerResourcePolicy, ...], describe("the least that containers get")
    ] = ()


class Recommendations(Model):
    """What a Tortoise recommends."""

    horizontal: HorizontalRecommendations | None = None
    constraints: Annotated[
        Constraints | None, describe("floors set by a recommender responsible for Constraints")
    ] = None


class TortoiseTargetsStatus(Model):
    """The objects that a Tortoise manages."""

    horizontal_pod_autoscaler: Annotated[str, describe("the HPA it works with")] = ""
    scale_target_ref: ObjectReference = ObjectReference()


class ContainerRequests(Model):
    """The requests that a Tortoise gives to a container."""

    container_name: Annotated[str, describe("the container's name")] = ""
    resource: Annotated[Mapping[str, Quantity], describe("the requests")] = field(
        default_factory=empty_map
    )


class TortoiseConditions(Model):
    """What a Tortoise observed."""

    tortoise_conditions: tuple[Condition, ...] = ()
    container_resource_requests: tuple[ContainerRequests, ...] = ()
    container_recommendation_from_vpa: Annotated[Any, describe("what the VPA recommends")] = field(
        name="containerRecommendationFromVPA", default=None
    )


class TortoiseStatus(Model):
    """The observed state of a Tortoise, and its recommendations."""

    tortoise_phase: Annotated[
        str, describe("Initializing, GatheringData, Working, PartlyWorking, Emergency …")
    ] = ""
    conditions: TortoiseConditions = TortoiseConditions()
    recommendations: Recommendations = Recommendations()
    targets: TortoiseTargetsStatus = TortoiseTargetsStatus()


class Tortoise(Object):
    """Scales a workload horizontally and vertically by its past use."""

    spec: TortoiseSpec = TortoiseSpec()
    status: TortoiseStatus = TortoiseStatus()
