"""Write Kubernetes Events in the background, so that nobody ever waits for one."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from webhook.api.core import Event
from webhook.api.kinds import Kind, kind_of_model
from webhook.api.meta import Draft, ObjectKey, Raw
from webhook.api.timestamps import format_time
from webhook.cluster.errors import AlreadyExistsError, ApiError, NotFoundError
from webhook.runtime import rights
from webhook.runtime.actions import Emit
from webhook.runtime.clock import Clock
from webhook.runtime.events import Aggregator, Series
from webhook.runtime.metrics import Metrics

logger = logging.getLogger(__name__)

COMPONENT = "espalier"

_MOST_WAITING = 1000
_LONGEST_MESSAGE = 1024


class EventApi(Protocol):
    """The part of the client that Events need."""

    async def create(self, kind: Kind, key: ObjectKey, draft: Raw) -> Draft: ...

    async def patch(self, kind: Kind, key: ObjectKey, change: Raw | Sequence[Raw]) -> Draft: ...


class Recorder:
    """Takes Events at once and writes them soon, one write for all that are alike meanwhile."""

    def __init__(self, api: EventApi, instance: str, clock: Clock, metrics: Metrics) -> None:
        self._api = api
        self._instance = instance
        self._clock = clock
        self._metrics = metrics
        self._kind = kind_of_model(Event)
        self._aggregator = Aggregator(clock)
        self._waiting: dict[ObjectKey, tuple[Series, Emit]] = {}
        self._wake = asyncio.Event()

    def emit(self, emit: Emit) -> None:
        """Take an Event; never waits and never fails."""
        series = self._aggregator.take(emit)
        if series is None or len(self._waiting) >= _MOST_WAITING:
            self._metrics.events.labels(emit.type, "dropped").inc()
            return
        self._waiting[series.key] = (series, emit)
        self._wake.set()

    async def run(self) -> None:
        """Write what was taken, for ever."""
        while True:
            await self._wake.wait()
            await self.flush()

    async def flush(self) -> None:
        """Write all that waits now."""
        self._wake.clear()
        while self._waiting:
            key = next(iter(self._waiting))
            await self._write(*self._waiting.pop(key))

    async def _write(self, series: Series, emit: Emit) -> None:
        try:
            await self._send(series, emit)
        except ApiError as error:
            # An Event tells people; nothing depends on it, so it is not worth a second attempt.
            self._metrics.events.labels(emit.type, "failed").inc()
            about = {"reason": emit.reason, "object": str(emit.regarding.key)}
            if not rights.complain(self._metrics, error):
                logger.warning("could not write an event", extra={**about, "error": str(error)})
            return
        series.written = True
        self._metrics.events.labels(emit.type, "written").inc()

    async def _send(self, series: Series, emit: Emit) -> None:
        last = format_time(self._clock.now())
        message = series.message[:_LONGEST_MESSAGE]
        change = {"count": series.count, "lastTimestamp": last, "message": message}
        body = {**self._body(series, emit), **change}
        try:
            if series.written:
                await self._api.patch(self._kind, series.key, change)
            else:
                await self._api.create(self._kind, series.key, body)
        except NotFoundError:
            # The API server forgets Events after an hour or so.
            await self._api.create(self._kind, series.key, body)
        except AlreadyExistsError:
            await self._api.patch(self._kind, series.key, change)

    def _body(self, series: Series, emit: Emit) -> Mapping[str, Any]:
        regarding = emit.regarding
        return {
            "apiVersion": self._kind.api_version,
            "kind": self._kind.name,
            "metadata": {"namespace": series.key.namespace, "name": series.key.name},
            "involvedObject": {
                "apiVersion": emit.kind.api_version,
                "kind": emit.kind.name,
                "namespace": regarding.namespace,
                "name": regarding.name,
                "uid": regarding.uid,
                "resourceVersion": regarding.resource_version,
            },
            "type": emit.type,
            "reason": emit.reason,
            "firstTimestamp": series.first,
            "source": {"component": COMPONENT, "host": self._instance},
            "reportingComponent": COMPONENT,
            "reportingInstance": self._instance,
        }
