"""How available a control plane is to be: every spelling, read as one value."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias

import msgspec

from webhook.api import names
from webhook.api.shoots import DocumentHighAvailability, Shoot, ShootTemplate

FailureDomain: TypeAlias = Literal["none", "single-zone", "multi-zone"]
WhenUnsatisfied: TypeAlias = Literal["DoNotSchedule", "ScheduleAnyway"]
RegionAffinity: TypeAlias = Literal["", "preferred", "required"]
Subject: TypeAlias = Shoot | ShootTemplate

NONE: Final = "none"
SINGLE_ZONE: Final = "single-zone"
MULTI_ZONE: Final = "multi-zone"
TYPES: Final[tuple[FailureDomain, ...]] = (SINGLE_ZONE, MULTI_ZONE)

DO_NOT_SCHEDULE: Final = "DoNotSchedule"
SCHEDULE_ANYWAY: Final = "ScheduleAnyway"
WHEN_UNSATISFIED: Final[tuple[WhenUnsatisfied, ...]] = (DO_NOT_SCHEDULE, SCHEDULE_ANYWAY)

PREFERRED: Final = "preferred"
REQUIRED: Final = "required"
REGION_AFFINITIES: Final = (PREFERRED, REQUIRED)

UPSTREAM: Final[dict[str, FailureDomain]] = {"node": SINGLE_ZONE, "zone": MULTI_ZONE}
"""Gardener's words for the two types."""

DOCUMENT_FIELD: Final = "spec.kubernetes.controlPlane.highAvailability"
UPSTREAM_FIELD: Final = "spec.controlPlane.highAvailability.failureTolerance.type"
TWIN_FIELD: Final = f"metadata.annotations[{names.HIGH_AVAILABILITY}]"


class HighAvailability(NamedTuple):
    """The one value behind all spellings."""

    type: FailureDomain = "none"
    failure_tolerance: int = 1
    when_unsatisfied: WhenUnsatisfied = "DoNotSchedule"

    @property
    def zones_needed(self) -> int:
        """How many zones a seed must have so that a majority of members survives."""
        return 2 * self.failure_tolerance + 1 if self.type == MULTI_ZONE else 0


class Spelling(NamedTuple):
    """One place where a shoot says how available it shall be."""

    field: str
    value: HighAvailability


NOT_AVAILABLE: Final = HighAvailability()


def is_mentioned(shoot: Subject) -> bool:
    """Tell whether a shoot says anything about its control plane at all; most do not."""
    spec, annotations = shoot.spec, shoot.metadata.annotations
    return (
        spec.kubernetes.control_plane is not None
        or spec.control_plane is not None
        or names.HIGH_AVAILABILITY in annotations
        or names.REGION_AFFINITY in annotations
    )


def wanted(shoot: Subject) -> HighAvailability:
    """Read what a shoot asks for; of spellings that contradict each other the first counts.

    Gardener's field tells the type and nothing else, so that another spelling of the same type
    says the rest. It answers for every object that decodes: admission refuses what makes no sense,
    and what got past it is read as if it said nothing.
    """
    if not is_mentioned(shoot):
        return NOT_AVAILABLE
    first: Spelling | None = None
    for spelling in spellings(shoot):
        first = first or spelling
        if spelling.field != UPSTREAM_FIELD and spelling.value.type == first.value.type:
            return spelling.value
    return NOT_AVAILABLE if first is None else first.value


def effective(shoot: Shoot) -> HighAvailability:
    """Read how available a shoot really is: the scheduler may have had to weaken the wish."""
    asked = wanted(shoot)
    weakened = shoot.metadata.annotations.get(names.EFFECTIVE_FAILURE_DOMAIN)
    if weakened == SINGLE_ZONE and asked.type == MULTI_ZONE:
        return asked._replace(type=SINGLE_ZONE)
    return asked


def spellings(shoot: Subject) -> Iterator[Spelling]:
    """Yield every place that asks for high availability in a way that makes sense."""
    control_plane = shoot.spec.kubernetes.control_plane
    document = control_plane.high_availability if control_plane is not None else None
    if document is not None and (value := read(document)) is not None:
        yield Spelling(DOCUMENT_FIELD, value)
    upstream = UPSTREAM.get(upstream_type(shoot))
    if upstream is not None:
        yield Spelling(UPSTREAM_FIELD, HighAvailability(upstream))
    twin = shoot.metadata.annotations.get(names.HIGH_AVAILABILITY)
    if twin is not None and (parsed := parse_twin(twin)) is not None:
        value = read(parsed)
        if value is not None:
            yield Spelling(TWIN_FIELD, value)


def read(document: DocumentHighAvailability) -> HighAvailability | None:
    """Read document 003's spelling; None where it asks for nothing, or for nothing known."""
    domain = type_of(document)
    if not document.enabled or domain not in TYPES:
        return None
    return HighAvailability(
        MULTI_ZONE if domain == MULTI_ZONE else SINGLE_ZONE,
        min(max(document.failure_tolerance or 1, 1), 2),
        when_unsatisfied_of(document),
    )


def type_of(document: DocumentHighAvailability) -> str:
    """Return the type from either of its two places."""
    nested = document.failure_domain.type if document.failure_domain is not None else ""
    return document.type or nested


def when_unsatisfied_of(document: DocumentHighAvailability) -> WhenUnsatisfied:
    """Return what happens where no seed can offer the type."""
    failure_domain = document.failure_domain
    anyway = failure_domain is not None and failure_domain.when_unsatisfied == SCHEDULE_ANYWAY
    return SCHEDULE_ANYWAY if anyway else DO_NOT_SCHEDULE


def upstream_type(shoot: Subject) -> str:
    """Return Gardener's failure tolerance type as written, empty where there is none."""
    control_plane = shoot.spec.control_plane
    if control_plane is None or control_plane.high_availability is None:
        return ""
    tolerance = control_plane.high_availability.failure_tolerance
    return tolerance.type if tolerance is not None else ""


@lru_cache(maxsize=1024)
def parse_twin(text: str) -> DocumentHighAvailability | None:
    """Read the annotation that stands in for the field where Gardener does not serve it."""
    try:
        return msgspec.json.decode(text, type=DocumentHighAvailability)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None


def region_affinity(shoot: Subject) -> RegionAffinity:
    """Return how much the shoot wants a seed in its own region; empty if it does not say."""
    control_plane = shoot.spec.kubernetes.control_plane
    written = (control_plane.region_affinity if control_plane is not None else "") or (
        shoot.metadata.annotations.get(names.REGION_AFFINITY, "")
    )
    if written == PREFERRED:
        return PREFERRED
    return REQUIRED if written == REQUIRED else ""
