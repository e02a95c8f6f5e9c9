"""Correlation of Kubernetes Events: repetitions are counted instead of written again."""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeVar

from webhook.kube.clock import Clock
from webhook.kube.meta import ObjectKey
from webhook.kube.timestamps import format_time
from webhook.runtime.actions import Emit

WINDOW: Final = 600.0
"""Equal Events within so many seconds are one series."""
MAX_MESSAGES: Final = 10
"""Beyond so many different messages for one reason, further Events are combined into one."""
BURST: Final = 25
REFILL_SECONDS: Final = 300.0
"""The rate limit of an object: a burst of Events, then one per refill time."""

_MAX_ENTRIES: Final = 4096
_COMBINED: Final = "(combined from similar events): "
_MAX_NAME: Final = 230

K = TypeVar("K")
V = TypeVar("V")


class _Group(NamedTuple):
    """Events that differ in their message only."""

    kind: str
    uid: str
    type: str
    reason: str


@dataclass(slots=True)
class EventSeries:
    """One Event object in the API, and its count."""

    key: ObjectKey
    first: str
    seen_at: float
    message: str = ""
    count: int = 0
    written: bool = False


@dataclass(slots=True)
class _Messages:
    seen_at: float
    messages: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _TokenBucket:
    at: float
    tokens: float = BURST


class EventCorrelator:
    """Counts equal Events, combines those that differ in their message only, limits the rate."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._series: OrderedDict[tuple[_Group, str], EventSeries] = OrderedDict()
        self._messages: OrderedDict[_Group, _Messages] = OrderedDict()
        self._buckets: OrderedDict[str, _TokenBucket] = OrderedDict()

    def correlate(self, emit: Emit) -> EventSeries | None:
        """Count an Event and return its series; None if the object is over its rate limit."""
        now = self._clock.monotonic()
        group = _Group(emit.kind.name, emit.regarding.uid, emit.type, emit.reason)
        combines = self._exceeds_messages(group, emit.message, now)
        if not self._take_token(f"{emit.kind.name}/{emit.regarding.uid}", now):
            return None
        key = (group, _COMBINED if combines else emit.message)
        series = self._series.get(key)
        if series is None or now - series.seen_at > WINDOW:
            now_utc = self._clock.now()
            series = EventSeries(_event_key(emit, (*key, now_utc)), format_time(now_utc), now)
        series.message = _COMBINED + emit.message if combines else emit.message
        series.count += 1
        series.seen_at = now
        _put(self._series, key, series)
        return series

    def _exceeds_messages(self, group: _Group, message: str, now: float) -> bool:
        seen = self._messages.get(group)
        if seen is None or now - seen.seen_at > WINDOW:
            seen = _Messages(now)
        _put(self._messages, group, seen)
        seen.seen_at = now
        if len(seen.messages) < MAX_MESSAGES:
            seen.messages.add(message)
        return message not in seen.messages

    def _take_token(self, subject: str, now: float) -> bool:
        bucket = self._buckets.get(subject) or _TokenBucket(now)
        _put(self._buckets, subject, bucket)
        earned = (now - bucket.at) / REFILL_SECONDS
        bucket.tokens, bucket.at = min(float(BURST), bucket.tokens + earned), now
        if bucket.tokens < 1:
            return False
        bucket.tokens -= 1
        return True


def _put(entries: "OrderedDict[K, V]", key: K, value: V) -> None:
    entries[key] = value
    entries.move_to_end(key)
    if len(entries) > _MAX_ENTRIES:
        entries.popitem(last=False)


def _event_key(emit: Emit, identity: tuple[Any, ...]) -> ObjectKey:
    digest = hashlib.sha256(repr(identity).encode()).hexdigest()[:16]
    # Events of cluster-scoped objects are in the default namespace, like those of Kubernetes.
    namespace = emit.regarding.namespace or "default"
    return ObjectKey(namespace, f"{emit.regarding.name[:_MAX_NAME]}.{digest}")
