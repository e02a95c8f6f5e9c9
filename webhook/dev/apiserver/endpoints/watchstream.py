"""Watch responses: one JSON document per line, flushed with each event."""

import asyncio

import orjson
from aiohttp import web

from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints import responses, tables
from webhook.dev.apiserver.endpoints.calls import Call
from webhook.dev.apiserver.endpoints.responses import OutputFormat
from webhook.dev.apiserver.registry import conversion
from webhook.dev.apiserver.verbs.reads import Page
from webhook.dev.apiserver.verbs.watches import BOOKMARK, Watch, WatchEvent, bookmark, watch_options


async def stream(
    core: Core, call: Call, output: OutputFormat, request: web.BaseRequest
) -> web.StreamResponse:
    """Stream the events of a watch until its timeout or until the client disconnects."""
    options = watch_options(core, call)
    watch = Watch(core, core.collection(call.resource), options)
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.headers["Cache-Control"] = "no-cache, private"
    for name, value in responses.warning_headers(call.warnings):
        response.headers.add(name, value)
    response.enable_chunked_encoding()
    await response.prepare(request)
    encoder = _EventEncoder(core, call, output)
    try:
        async for batch in watch.batches():
            await response.write(b"".join(map(encoder.line, batch)))
        await response.write_eof()
    except (ConnectionError, asyncio.CancelledError):
        # The client disconnected, or the server stops: there is nothing left to send.
        if isinstance(task := asyncio.current_task(), asyncio.Task) and task.cancelling():
            raise
    return response


class _EventEncoder:
    """Encodes events in the negotiated format."""

    def __init__(self, core: Core, call: Call, output: OutputFormat) -> None:
        self._core = core
        self._resource = call.resource
        self._output = output
        self._has_header = False

    def line(self, event: WatchEvent) -> bytes:
        """Encode one event as a line."""
        return b'{"type":"' + event.type.encode() + b'","object":' + self._object(event) + b"}\n"

    def _object(self, event: WatchEvent) -> bytes:
        if event.error is not None:
            return orjson.dumps(event.error)
        if self._output.shape == "Table":
            return self._table(event)
        resource = self._resource
        if event.entry is None:
            return bookmark(resource.api_version, resource.kind, event)
        if self._output.shape.startswith("PartialObjectMetadata"):
            return tables.partial_metadata(event.entry.decode(), self._output.version)
        return conversion.to_version(resource, event.entry).as_version(resource.api_version_bytes)

    def _table(self, event: WatchEvent) -> bytes:
        entries = [] if event.type == BOOKMARK or event.entry is None else [event.entry]
        rv = event.rv if event.entry is None else event.entry.rv
        with_header, self._has_header = not self._has_header, True
        return tables.table(
            self._resource,
            Page(entries, rv),
            self._output.include,
            self._core.now(),
            with_header=with_header,
            version=self._output.version,
        )
