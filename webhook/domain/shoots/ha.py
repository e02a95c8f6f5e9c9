"""The availability of a shoot's control plane, from every field that can define it."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from webhook.api import names
from webhook.api.shoots import DocumentHighAvailability, Shoot, ShootTemplate

FailureDomainType: TypeAlias = Literal["none", "single-zone", "multi-zone"]
WhenUnsatisfied: TypeAlias = Literal["DoNotSchedule", "ScheduleAnyway"]
RegionAffinity: TypeAlias = Literal["", "preferred", "required"]
Subject: TypeAlias = Shoot | ShootTemplate

NONE: Final = "none"
SINGLE_ZONE: Final = "single-zone"
MULTI_ZONE: Final = "multi-zone"
TYPES: Final[tuple[FailureDomainType, ...]] = (SINGLE_ZONE, MULTI_ZONE)

DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"
WHEN_UNSATISFIED: Final[tuple[WhenUnsatisfied, ...]] = (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY)

PREFERRED: Final = "preferred"
REQUIRED: Final = "required"
REGION_AFFINITIES: Final = (PREFERRED, REQUIRED)

GARDENER_TYPES: Final[dict[str, FailureDomainType]] = {"node": SINGLE_ZONE, "zone": MULTI_ZONE}
"""The failure domain for each of Gardener's failure tolerance types."""

DOCUMENT_FIELD: Final = "spec.kubernetes.controlPlane.highAvailability"
UPSTREAM_FIELD: Final = "spec.controlPlane.highAvailability.failureTolerance.type"
ANNOTATION_FIELD: Final = f"metadata.annotations[{names.HIGH_AVAILABILITY}]"


class Availability(NamedTuple):
    """How available a control plane is."""

    type: FailureDomainType = "none"
    failure_tolerance: int = 1
    when_unsatisfied: WhenUnsatisfied = "DoNotSchedule"

    @property
    def zones_needed(self) -> int:
        """The number of zones that a seed needs so that a majority of etcd's members survives."""
        return 2 * self.failure_tolerance + 1 if self.type == MULTI_ZONE else 0


class AvailabilitySource(NamedTuple):
    """One field of a shoot that defines its availability."""

    field: str
    value: Availability


NO_HIGH_AVAILABILITY: Final = Availability()


def is_mentioned(shoot: Subject) -> bool:
    """Return whether a shoot defines anything about its control plane; most do not."""
    spec, annotations = shoot.spec, shoot.metadata.annotations
    return (
        spec.kubernetes.control_plane is not None
        or spec.control_plane is not None
        or names.HIGH_AVAILABILITY in annotations
        or names.REGION_AFFINITY in annotations
    )


def requested(shoot: Subject) -> Availability:
    """Return the requested availability; of sources that contradict each other the first counts.

    Gardener's field has the type only, so another source with the same type adds the rest. Values
    that admission would refuse are ignored, so that every object that decodes has a result.
    """
    if not is_mentioned(shoot):
        return NO_HIGH_AVAILABILITY
    first: AvailabilitySource | None = None
    for source in availability_sources(shoot):
        first = first or source
        if source.field != UPSTREAM_FIELD and source.value.type == first.value.type:
            return source.value
    return NO_HIGH_AVAILABILITY if first is None else first.value


def effective(shoot: Shoot) -> Availability:
    """Return the availability of a shoot after placement, which may have reduced the request."""
    availability = requested(shoot)
    reduced_to = shoot.metadata.annotations.get(names.EFFECTIVE_FAILURE_DOMAIN)
    if reduced_to == SINGLE_ZONE and availability.type == MULTI_ZONE:
        return availability._replace(type=SINGLE_ZONE)
    return availability


def availability_sources(shoot: Subject) -> Iterator[AvailabilitySource]:
    """Yield every field that requests high availability with valid values."""
    control_plane = shoot.spec.kubernetes.control_plane
    document = control_plane.high_availability if control_plane is not None else None
    if document is not None and (value := read(document)) is not None:
        yield AvailabilitySource(DOCUMENT_FIELD, value)
    upstream = GARDENER_TYPES.get(upstream_type(shoot))
    if upstream is not None:
        yield AvailabilitySource(UPSTREAM_FIELD, Availability(upstream))
    annotation = shoot.metadata.annotations.get(names.HIGH_AVAILABILITY)
    if annotation is not None and (parsed := parse_annotation(annotation)) is not None:
        value = read(parsed)
        if value is not None:
            yield AvailabilitySource(ANNOTATION_FIELD, value)


def read(document: DocumentHighAvailability) -> Availability | None:
    """Convert document 003's field; None if it is disabled or has an unknown type."""
    domain = type_of(document)
    if not document.enabled or domain not in TYPES:
        return None
    return Availability(
        MULTI_ZONE if domain == MULTI_ZONE else SINGLE_ZONE,
        min(max(document.failure_tolerance or 1, 1), 2),
        when_unsatisfied_of(document),
    )


def type_of(document: DocumentHighAvailability) -> str:
    """Return the type from either of the two fields for it."""
    nested = document.failure_domain.type if document.failure_domain is not None else ""
    return document.type or nested


def when_unsatisfied_of(document: DocumentHighAvailability) -> WhenUnsatisfied:
    """Return what to do if no seed supports the type."""
    failure_domain = document.failure_domain
    anyway = failure_domain is not None and failure_domain.when_unsatisfied == SCHEDULE_ANYWAY
    return SCHEDULE_ANYWAY if anyway else DO_NOT_SCHEDULE


def upstream_type(shoot: Subject) -> str:
    """Return the type of Gardener's field as written; empty if there is none."""
    control_plane = shoot.spec.control_plane
    if control_plane is None or control_plane.high_availability is None:
        return ""
    tolerance = control_plane.high_availability.failure_tolerance
    return tolerance.type if tolerance is not None else ""


@lru_cache(maxsize=1024)
def parse_annotation(text: str) -> DocumentHighAvailability | None:
    """Decode the annotation that replaces document 003's field where Gardener does not serve it."""
    try:
        return msgspec.json.decode(text, type=DocumentHighAvailability)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def region_affinity(shoot: Subject) -> RegionAffinity:
    """Return whether a seed in the shoot's own region is preferred or required; empty if unset."""
    control_plane = shoot.spec.kubernetes.control_plane
    written = (control_plane.region_affinity if control_plane is not None else "") or (
        shoot.metadata.annotations.get(names.REGION_AFFINITY, "")
    )
    if written == PREFERRED:
        return PREFERRED
    return REQUIRED if written == REQUIRED else ""
