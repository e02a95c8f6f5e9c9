"""Objections to Events: those of events.k8s.io are looked at more strictly.

Either is judged in the shape that is stored, the core group's.
"""

from typing import Final

from webhook.api import fielderrors, identifiers
from webhook.apiserver.builtin.validation import checks
from webhook.apiserver.builtin.validation.checks import Errors, Object

_TEXT_LIMIT: Final = 128
_NOTE_LIMIT: Final = 1024
_TYPES: Final = ("Normal", "Warning")
_DEPRECATED: Final = ("firstTimestamp", "lastTimestamp", "count", "source")
#: In the order in which they are looked at, one of them twice.
_IMMUTABLE: Final = (
    "involvedObject", "reason", "message", "source", "firstTimestamp", "lastTimestamp", "count",
    "reason", "type", "eventTime", "action", "related", "reportingComponent", "reportingInstance",
)  # fmt: skip


def core_event(obj: Object) -> Errors:
    """Judge an Event of the core group."""
    return _event(obj, "reportingComponent")


def new_event(obj: Object) -> Errors:
    """Judge an Event of events.k8s.io."""
    return _event(obj, "reportingController")


def _event(obj: Object, controller_name: str) -> Errors:
    if not _is_beside(obj):
        about = (obj.get("involvedObject") or {}).get("namespace", "")
        detail = "does not match event.namespace"
        yield fielderrors.invalid("involvedObject.namespace", about, detail)
    if not obj.get("eventTime"):
        return
    controller = obj.get("reportingComponent") or ""
    yield from checks.required(controller_name, controller)
    yield from checks.worded(controller_name, controller, identifiers.label_key_errors(controller))
    for name in ("reportingInstance", "action", "reason"):
        yield from checks.required(name, obj.get(name))
        yield from _short(name, obj.get(name) or "", _TEXT_LIMIT)
    yield from _short("message", obj.get("message") or "", _NOTE_LIMIT)


def _is_beside(obj: Object) -> bool:
    """Tell whether an Event lives beside what it is about, as far as its kind has to."""
    about = (obj.get("involvedObject") or {}).get("namespace", "")
    own = obj["metadata"].get("namespace", "")
    if obj.get("eventTime"):
        return bool(about) or own in ("default", "kube-system")
    return bool(about == own) if about else own in ("", "default")


def _short(path: str, value: str, limit: int) -> Errors:
    if len(value.encode()) > limit:
        yield fielderrors.invalid(path, "", f"can have at most {limit} characters")


def new_event_create(obj: Object) -> Errors:
    """Judge what only a new Event of events.k8s.io has to be."""
    yield from _series(obj)
    yield from checks.required("eventTime", obj.get("eventTime"))
    if obj.get("type") not in _TYPES:
        yield fielderrors.invalid("type", "", f"has invalid value: {obj.get('type') or ''}")
    for name in _DEPRECATED:
        if obj.get(name):
            yield fielderrors.invalid(name, "", "needs to be unset")


def _series(obj: Object) -> Errors:
    series = obj.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        yield fielderrors.invalid("series.count", "", "should be at least 2")
    yield from checks.required("series.lastObservedTime", series.get("lastObservedTime"))


def new_event_update(obj: Object, old: Object) -> Errors:
    """Judge a change of an Event of events.k8s.io: only its series goes on."""
    if obj.get("series") != old.get("series"):
        yield from _series(obj)
    for name in _IMMUTABLE:
        if (obj.get(name) or None) != (old.get(name) or None):
            path = "reportingController" if name == "reportingComponent" else name
            yield fielderrors.invalid(path, obj.get(name), checks.IMMUTABLE)
