"""Validation of Events, which is stricter for those of events.k8s.io.

Events of both groups are validated in the stored form, which is that of the core group.
"""

from typing import Final

from webhook.dev.apiserver.builtin.validation import checks
from webhook.dev.apiserver.builtin.validation.checks import Errors
from webhook.kube import fielderrors, identifiers
from webhook.kube.meta import Raw

_TEXT_LIMIT: Final = 128
_NOTE_LIMIT: Final = 1024
_TYPES: Final = ("Normal", "Warning")
_DEPRECATED: Final = ("firstTimestamp", "lastTimestamp", "count", "source")
_IMMUTABLE: Final = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count",
    "reason", "type", "eventTime", "action", "related", "reportingComponent", "reportingInstance",
)  # fmt: skip
"""The immutable fields in the order in which Kubernetes checks them, `reason` twice."""


def validate_core_event(obj: Raw) -> Errors:
    """Validate an Event of the core group."""
    return _event(obj, "reportingComponent")


def validate_events_v1_event(obj: Raw) -> Errors:
    """Validate an Event of events.k8s.io."""
    return _event(obj, "reportingController")


def _event(obj: Raw, controller_name: str) -> Errors:
    if not _namespace_matches(obj):
        involved_namespace = (obj.get("involvedObject") or {}).get("namespace", "")
        detail = "does not match event.namespace"
        yield fielderrors.invalid("involvedObject.namespace", involved_namespace, detail)
    if not obj.get("eventTime"):
        return
    controller = obj.get("reportingComponent") or ""
    yield from checks.required(controller_name, controller)
    yield from checks.invalid_each(
        controller_name, controller, identifiers.label_key_errors(controller)
    )
    for name in ("reportingInstance", "action", "reason"):
        yield from checks.required(name, obj.get(name))
        yield from _max_length(name, obj.get(name) or "", _TEXT_LIMIT)
    yield from _max_length("message", obj.get("message") or "", _NOTE_LIMIT)


def _namespace_matches(obj: Raw) -> bool:
    """Whether an Event is in the namespace that its involvedObject requires."""
    involved_namespace = (obj.get("involvedObject") or {}).get("namespace", "")
    namespace = obj["metadata"].get("namespace", "")
    if obj.get("eventTime"):
        return bool(involved_namespace) or namespace in ("default", "kube-system")
    return (
        bool(involved_namespace == namespace)
        if involved_namespace
        else namespace in ("", "default")
    )


def _max_length(path: str, value: str, limit: int) -> Errors:
    if len(value.encode()) > limit:
        yield fielderrors.invalid(path, "", f"can have at most {limit} characters")


def validate_events_v1_event_create(obj: Raw) -> Errors:
    """Validate the requirements for new Events of events.k8s.io."""
    yield from _series(obj)
    yield from checks.required("eventTime", obj.get("eventTime"))
    if obj.get("type") not in _TYPES:
        yield fielderrors.invalid("type", "", f"has invalid value: {obj.get('type') or ''}")
    for name in _DEPRECATED:
        if obj.get(name):
            yield fielderrors.invalid(name, "", "needs to be unset")


def _series(obj: Raw) -> Errors:
    series = obj.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        yield fielderrors.invalid("series.count", "", "should be at least 2")
    yield from checks.required("series.lastObservedTime", series.get("lastObservedTime"))


def validate_events_v1_event_update(obj: Raw, old: Raw) -> Errors:
    """Validate an update of an Event of events.k8s.io; only its series may change."""
    if obj.get("series") != old.get("series"):
        yield from _series(obj)
    for name in _IMMUTABLE:
        if (obj.get(name) or None) != (old.get(name) or None):
            path = "reportingController" if name == "reportingComponent" else name
            yield fielderrors.invalid(path, obj.get(name), checks.IMMUTABLE)
