"""High availability and region affinity of a shoot or of a shoot template."""

from collections.abc import Iterator
from typing import Final

from webhook.admission.decision import Finding
from webhook.api import names
from webhook.api.shoots import DocumentHighAvailability, Shoot, ShootTemplate
from webhook.domain.shoots import ha

_AFFINITY: Final = "spec.kubernetes.controlPlane.regionAffinity"
_AFFINITY_ANNOTATION: Final = f"metadata.annotations[{names.REGION_AFFINITY}]"


def validate(shoot: Shoot | ShootTemplate, base: str = "") -> Iterator[Finding]:
    """Reject invalid and contradicting fields; `base` ends with a dot or is empty."""
    control_plane = shoot.spec.kubernetes.control_plane
    if control_plane is not None:
        if control_plane.high_availability is not None:
            yield from _document(control_plane.high_availability, f"{base}{ha.DOCUMENT_FIELD}")
        yield from _affinity(control_plane.region_affinity, f"{base}{_AFFINITY}")
    upstream = ha.upstream_type(shoot)
    if upstream not in ha.GARDENER_TYPES and (upstream or _lacks_type(shoot)):
        yield Finding.not_supported(
            f"{base}{ha.UPSTREAM_FIELD}", upstream, tuple(ha.GARDENER_TYPES)
        )
    if shoot.metadata.annotations:
        yield from _annotations(shoot, base)
    yield from _contradictions(shoot, base)


def validate_update(
    old: Shoot | ShootTemplate, new: Shoot | ShootTemplate, base: str = ""
) -> Iterator[Finding]:
    """Reject less availability, and a change to multi-zone once the shoot has a seed."""
    before, after = ha.requested(old), ha.requested(new)
    if before == after or before.type == ha.NONE:
        return
    field = f"{base}{_field(new if after.type != ha.NONE else old)}"
    if after.type == ha.NONE:
        yield Finding.forbidden(field, f"high availability cannot be removed, keep {before.type}")
    elif before.type == ha.MULTI_ZONE and after.type == ha.SINGLE_ZONE:
        yield Finding.forbidden(field, "multi-zone cannot become single-zone, keep multi-zone")
    elif before.type != after.type and old.spec.seed_name:
        yield Finding.forbidden(
            field,
            f"single-zone cannot become multi-zone once the shoot is on seed {old.spec.seed_name}",
        )
    if after.type != ha.NONE and after.failure_tolerance < before.failure_tolerance:
        yield _lowered(old, new, base)


def validate_hibernated(old: Shoot, new: Shoot) -> Iterator[Finding]:
    """Reject high availability for a control plane that is hibernated or waking up.

    As in Gardener: such a control plane has nothing to spread yet.
    """
    hibernation = new.spec.hibernation
    is_hibernated = new.status.hibernated or (hibernation is not None and hibernation.enabled)
    if is_hibernated and ha.requested(old).type == ha.NONE and ha.requested(new).type != ha.NONE:
        yield Finding.forbidden(_field(new), "wake the shoot up first, it is hibernated")


def _lacks_type(shoot: Shoot | ShootTemplate) -> bool:
    """Return whether Gardener's field is there without its type; templates may have that."""
    control_plane = shoot.spec.control_plane
    available = control_plane.high_availability if control_plane is not None else None
    return available is not None and isinstance(shoot, Shoot)


def _document(document: DocumentHighAvailability, field: str) -> Iterator[Finding]:
    domain = document.failure_domain
    for written, path in (
        (document.type, f"{field}.type"),
        (domain.type if domain is not None else "", f"{field}.failureDomain.type"),
    ):
        if written and written not in ha.TYPES:
            yield Finding.not_supported(path, written, ha.TYPES)
    if domain is not None:
        if document.type and domain.type and document.type != domain.type:
            yield Finding.invalid(
                f"{field}.failureDomain.type",
                domain.type,
                f"must agree with {field}.type ({document.type}), or leave one of them out",
            )
        if domain.when_unsatisfied and domain.when_unsatisfied not in ha.WHEN_UNSATISFIED:
            yield Finding.not_supported(
                f"{field}.failureDomain.whenUnsatisfied",
                domain.when_unsatisfied,
                ha.WHEN_UNSATISFIED,
            )
    tolerance = document.failure_tolerance
    if tolerance is not None and tolerance not in (1, 2):
        yield Finding.invalid(f"{field}.failureTolerance", tolerance, "must be 1 or 2")
    yield from _type_and_enabled(document, field)


def _type_and_enabled(document: DocumentHighAvailability, field: str) -> Iterator[Finding]:
    has_type = bool(ha.type_of(document))
    if document.enabled and not has_type:
        yield Finding.required(
            f"{field}.type", f"set it together with enabled: true, to {' or '.join(ha.TYPES)}"
        )
    elif has_type and not document.enabled:
        yield Finding.invalid(
            f"{field}.enabled",
            bool(document.enabled),
            "a type requires high availability, set enabled: true or remove the type",
        )


def _affinity(written: str, field: str) -> Iterator[Finding]:
    if written and written not in ha.REGION_AFFINITIES:
        yield Finding.not_supported(field, written, ha.REGION_AFFINITIES)


def _annotations(shoot: Shoot | ShootTemplate, base: str) -> Iterator[Finding]:
    annotations = shoot.metadata.annotations
    annotation = annotations.get(names.HIGH_AVAILABILITY)
    if annotation is not None:
        parsed = ha.parse_annotation(annotation)
        if parsed is None:
            yield Finding.invalid(
                f"{base}{ha.ANNOTATION_FIELD}",
                annotation,
                f"must be the JSON of {ha.DOCUMENT_FIELD}, e.g. "
                '{"enabled":true,"type":"multi-zone"}',
            )
        else:
            yield from _document(parsed, f"{base}{ha.ANNOTATION_FIELD}")
    affinity = annotations.get(names.REGION_AFFINITY)
    if affinity is not None:
        field = f"{base}{_AFFINITY_ANNOTATION}"
        control_plane = shoot.spec.kubernetes.control_plane
        written = control_plane.region_affinity if control_plane is not None else ""
        if affinity not in ha.REGION_AFFINITIES:
            yield Finding.not_supported(field, affinity, ha.REGION_AFFINITIES)
        elif written and written != affinity:
            yield Finding.invalid(
                field, affinity, f"contradicts {base}{_AFFINITY}, remove the annotation"
            )


def _contradictions(shoot: Shoot | ShootTemplate, base: str) -> Iterator[Finding]:
    found = [*ha.availability_sources(shoot)]
    for other in found[1:]:
        first = found[0]
        if other.value.type != first.value.type:
            yield Finding.invalid(
                f"{base}{other.field}",
                other.value.type,
                f"contradicts {base}{first.field} ({first.value.type}), keep one of them",
            )


def _field(shoot: Shoot | ShootTemplate) -> str:
    """Return the field that sets the type."""
    found = next(iter(ha.availability_sources(shoot)), None)
    if found is None or found.field == ha.DOCUMENT_FIELD:
        return f"{ha.DOCUMENT_FIELD}.type"
    return found.field


def _lowered(old: Shoot | ShootTemplate, new: Shoot | ShootTemplate, base: str) -> Finding:
    """Return the finding at the field that sets or did set the tolerance, not Gardener's."""
    fields = [found.field for shoot in (new, old) for found in ha.availability_sources(shoot)]
    field = next((field for field in fields if field != ha.UPSTREAM_FIELD), ha.DOCUMENT_FIELD)
    return Finding.forbidden(
        f"{base}{field}.failureTolerance",
        f"cannot be lowered, keep {ha.requested(old).failure_tolerance}",
    )
