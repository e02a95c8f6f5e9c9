"""Watches on the wire: one JSON document a line, flushed as things happen."""

import asyncio

import orjson
from aiohttp import web

from webhook.apiserver import conversion, responses, tables
from webhook.apiserver.calls import Call
from webhook.apiserver.core import Core
from webhook.apiserver.reading import Page
from webhook.apiserver.responses import Form
from webhook.apiserver.watching import BOOKMARK, Event, Watch, bookmark, watch_options


async def stream(
    core: Core, call: Call, form: Form, request: web.BaseRequest
) -> web.StreamResponse:
    """Answer a watch until its time is over or the client has gone."""
    options = watch_options(core, call)
    watch = Watch(core, core.collection(call.resource), options)
    response = web.StreamResponse(headers={"Content-Type": "application/json"})
    response.headers["Cache-Control"] = "no-cache, private"
    for name, value in responses.warning_headers(call.warnings):
        response.headers.add(name, value)
    response.enable_chunked_encoding()
    await response.prepare(request)
    writer = _Writer(core, call, form)
    try:
        async for batch in watch.batches():
            await response.write(b"".join(map(writer.line, batch)))
        await response.write_eof()
    except (ConnectionError, asyncio.CancelledError):
        # The client went away, or the server is going down: nobody is left to tell.
        if isinstance(task := asyncio.current_task(), asyncio.Task) and task.cancelling():
            raise
    return response


class _Writer:
    """Writes events in the form that the client asked for."""

    def __init__(self, core: Core, call: Call, form: Form) -> None:
        self._core = core
        self._resource = call.resource
        self._form = form
        self._has_header = False

    def line(self, event: Event) -> bytes:
        """Write one event."""
        return b'{"type":"' + event.type.encode() + b'","object":' + self._object(event) + b"}\n"

    def _object(self, event: Event) -> bytes:
        if event.error is not None:
            return orjson.dumps(event.error)
        if self._form.shape == "Table":
            return self._table(event)
        resource = self._resource
        if event.entry is None:
            return bookmark(resource.api_version, resource.kind, event)
        if self._form.shape.startswith("PartialObjectMetadata"):
            return tables.partial_metadata(event.entry.decode(), self._form.version)
        return conversion.shown(resource, event.entry).at(resource.api_version_bytes)

    def _table(self, event: Event) -> bytes:
        entries = [] if event.type == BOOKMARK or event.entry is None else [event.entry]
        rv = event.rv if event.entry is None else event.entry.rv
        with_header, self._has_header = not self._has_header, True
        return tables.table(
            self._resource,
            Page(entries, rv),
            self._form.include,
            self._core.now(),
            with_header=with_header,
            version=self._form.version,
        )
