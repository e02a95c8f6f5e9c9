"""Which Events are one and the same: what repeats is counted and not said again."""

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from webhook.api.meta import ObjectKey
from webhook.api.timestamps import format_time
from webhook.runtime.actions import Emit
from webhook.runtime.clock import Clock

WINDOW = 600.0
"""Events alike within so many seconds are one."""
MOST_MESSAGES = 10
"""Beyond so many different messages for one reason they become one that says so."""
BURST = 25
REFILL_SECONDS = 300.0
"""An object may have so many Events at once, and one more after each such time."""

_REMEMBERED = 4096
_COMBINED = "(combined from similar events): "
_LONGEST_NAME = 230

K = TypeVar("K")
V = TypeVar("V")


class _Group(NamedTuple):
    """What makes Events alike apart from their text."""

    kind: str
    uid: str
    type: str
    reason: str


@dataclass(slots=True)
class Series:
    """One Event in the API, and how often it happened."""

    key: ObjectKey
    first: str
    seen_at: float
    message: str = ""
    count: int = 0
    written: bool = False


@dataclass(slots=True)
class _Texts:
    seen_at: float
    messages: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _Allowance:
    at: float
    tokens: float = BURST


class Aggregator:
    """Counts Events that are alike, combines those that differ in their text only, limits all."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._series: OrderedDict[tuple[_Group, str], Series] = OrderedDict()
        self._texts: OrderedDict[_Group, _Texts] = OrderedDict()
        self._allowances: OrderedDict[str, _Allowance] = OrderedDict()

    def take(self, emit: Emit) -> Series | None:
        """Count an Event and say which one it is now; None if its object has had too many."""
        now = self._clock.monotonic()
        group = _Group(emit.kind.name, emit.regarding.uid, emit.type, emit.reason)
        combines = self._is_spread(group, emit.message, now)
        if not self._spend(f"{emit.kind.name}/{emit.regarding.uid}", now):
            return None
        key = (group, _COMBINED if combines else emit.message)
        series = self._series.get(key)
        if series is None or now - series.seen_at > WINDOW:
            moment = self._clock.now()
            series = Series(_event_key(emit, (*key, moment)), format_time(moment), now)
        series.message = _COMBINED + emit.message if combines else emit.message
        series.count += 1
        series.seen_at = now
        _remember(self._series, key, series)
        return series

    def _is_spread(self, group: _Group, message: str, now: float) -> bool:
        texts = self._texts.get(group)
        if texts is None or now - texts.seen_at > WINDOW:
            texts = _Texts(now)
        _remember(self._texts, group, texts)
        texts.seen_at = now
        if len(texts.messages) < MOST_MESSAGES:
            texts.messages.add(message)
        return message not in texts.messages

    def _spend(self, subject: str, now: float) -> bool:
        allowance = self._allowances.get(subject) or _Allowance(now)
        _remember(self._allowances, subject, allowance)
        earned = (now - allowance.at) / REFILL_SECONDS
        allowance.tokens, allowance.at = min(float(BURST), allowance.tokens + earned), now
        if allowance.tokens < 1:
            return False
        allowance.tokens -= 1
        return True


def _remember(memory: "OrderedDict[K, V]", key: K, value: V) -> None:
    memory[key] = value
    memory.move_to_end(key)
    if len(memory) > _REMEMBERED:
        memory.popitem(last=False)


def _event_key(emit: Emit, identity: tuple[Any, ...]) -> ObjectKey:
    digest = hashlib.sha256(repr(identity).encode()).hexdigest()[:16]
    # Events about what has no namespace live in the default one, as Kubernetes' own do.
    namespace = emit.regarding.namespace or "default"
    return ObjectKey(namespace, f"{emit.regarding.name[:_LONGEST_NAME]}.{digest}")
