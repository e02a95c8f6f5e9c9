"""Writes Kubernetes Events in the background."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from webhook.api.core import Event
from webhook.api.kinds import Kind, kind_of_model
from webhook.cluster.errors import AlreadyExistsError, ApiError, NotFoundError
from webhook.kube.clock import Clock
from webhook.kube.meta import Draft, ObjectKey, Raw
from webhook.kube.timestamps import format_time
from webhook.runtime import permissions
from webhook.runtime.actions import Emit
from webhook.runtime.event_correlator import EventCorrelator, EventSeries
from webhook.runtime.metrics import Metrics

logger = logging.getLogger(__name__)

COMPONENT: Final = "espalier"

_MAX_PENDING: Final = 1000
_MAX_MESSAGE: Final = 1024


class EventApi(Protocol):
    """The methods of the client that Events need."""

    async def create(self, kind: Kind, key: ObjectKey, draft: Raw) -> Draft: ...

    async def patch(self, kind: Kind, key: ObjectKey, change: Raw | Sequence[Raw]) -> Draft: ...


class EventRecorder:
    """Accepts Events without waiting and writes them later, equal ones in one write."""

    def __init__(self, api: EventApi, instance: str, clock: Clock, metrics: Metrics) -> None:
        self._api = api
        self._instance = instance
        self._clock = clock
        self._metrics = metrics
        self._kind = kind_of_model(Event)
        self._correlator = EventCorrelator(clock)
        self._pending: dict[ObjectKey, tuple[EventSeries, Emit]] = {}
        self._wake = asyncio.Event()

    def emit(self, emit: Emit) -> None:
        """Accept an Event; never waits and never fails."""
        series = self._correlator.correlate(emit)
        if series is None or len(self._pending) >= _MAX_PENDING:
            self._metrics.events.labels(emit.type, "dropped").inc()
            return
        self._pending[series.key] = (series, emit)
        self._wake.set()

    async def run(self) -> None:
        """Write accepted Events until cancelled."""
        while True:
            await self._wake.wait()
            await self.flush()

    async def flush(self) -> None:
        """Write all pending Events now."""
        self._wake.clear()
        while self._pending:
            key = next(iter(self._pending))
            await self._write(*self._pending.pop(key))

    async def _write(self, series: EventSeries, emit: Emit) -> None:
        try:
            await self._send(series, emit)
        except ApiError as error:
            # Nothing depends on an Event, so it is not retried.
            self._metrics.events.labels(emit.type, "failed").inc()
            fields = {"reason": emit.reason, "object": str(emit.regarding.key)}
            if not permissions.report_missing(self._metrics, error):
                logger.warning("could not write an event", extra={**fields, "error": str(error)})
            return
        series.written = True
        self._metrics.events.labels(emit.type, "written").inc()

    async def _send(self, series: EventSeries, emit: Emit) -> None:
        last = format_time(self._clock.now())
        message = series.message[:_MAX_MESSAGE]
        change = {"count": series.count, "lastTimestamp": last, "message": message}
        body = {**self._body(series, emit), **change}
        try:
            if series.written:
                await self._api.patch(self._kind, series.key, change)
            else:
                await self._api.create(self._kind, series.key, body)
        except NotFoundError:
            # The API server deletes Events after about an hour.
            await self._api.create(self._kind, series.key, body)
        except AlreadyExistsError:
            await self._api.patch(self._kind, series.key, change)

    def _body(self, series: EventSeries, emit: Emit) -> Mapping[str, Any]:
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
