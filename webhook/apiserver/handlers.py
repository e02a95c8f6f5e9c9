"""From an HTTP request for a resource to its answer: find it, ask who may, do it, write it."""

from typing import Final

import orjson
from aiohttp import web

from webhook.api import status
from webhook.apiserver import (
    bodies,
    deleting,
    patching,
    reading,
    responses,
    scaling,
    streaming,
    writing,
)
from webhook.apiserver.calls import Call, User
from webhook.apiserver.core import Core
from webhook.apiserver.entries import Entry, encode
from webhook.apiserver.requests import Target, parse_path, verb_of
from webhook.apiserver.resources import SCALE, Resource
from webhook.apiserver.responses import Form
from webhook.apiserver.virtual import Virtual, is_virtual

_NAMED: Final = frozenset({"get", "update", "patch", "delete"})
_WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})


class Handlers:
    """Answers every request below /api and /apis that names a resource."""

    def __init__(self, core: Core, virtual: Virtual) -> None:
        self._core = core
        self._virtual = virtual

    async def handle(self, request: web.BaseRequest, user: User) -> web.StreamResponse:
        """Answer one request."""
        target = parse_path([part for part in request.path.split("/") if part])
        resource = None
        if target is not None:
            resource = self._core.registry.get(target.group, target.version, target.resource)
        if target is None or resource is None:
            if target is not None and self._core.registry.serves(target.group, target.version):
                raise status.no_such_resource()
            return not_found_page()
        verb = verb_of(request.method, target, request.query)
        self._check_served(resource, target, verb)
        call = Call(resource, target, verb, user, request.query)
        call.user_agent = request.headers.get("User-Agent", "")
        call.content_type = request.headers.get("Content-Type", "")
        if resource.warning:
            call.warn(resource.warning)
        try:
            if verb in _WRITES:
                call.body = await read_body(request)
            return await self._answer(request, call)
        except status.StatusError as error:
            return responses.error_response(error, call.warnings)

    def _check_served(self, resource: Resource, target: Target, verb: str) -> None:
        verbs = resource.verbs
        if target.subresource:
            part = resource.subresources.get(target.subresource)
            if part is None and resource.is_custom:
                raise status.not_found(resource.qualified, target.name)
            if part is None:
                raise status.no_such_resource()
            verbs = part.verbs
        if verb not in verbs or not (target.subresource or _fits(target, verb)):
            raise _method_not_allowed()

    async def _answer(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        form = responses.negotiate(
            request.headers.get("Accept", ""), call.query.get("includeObject", "")
        )
        if call.verb == "watch":
            return await streaming.stream(self._core, call, form, request)
        if call.target.subresource == SCALE:
            return await self._scale(call, form)
        if call.verb in ("get", "list"):
            return self._read(call, form)
        if call.verb in ("delete", "deletecollection"):
            return await self._delete(call, form)
        return await self._write(call, form)

    def _read(self, call: Call, form: Form) -> web.Response:
        now = self._core.now()
        if call.verb == "get":
            entry = reading.get(self._core, call)
            body = responses.entry_bytes(call.resource, entry, form, now)
        else:
            page = reading.list_page(self._core, call)
            body = responses.page_bytes(call.resource, page, form, now)
        return responses.json_response(body, warnings=call.warnings)

    async def _write(self, call: Call, form: Form) -> web.Response:
        if is_virtual(call):
            answer = await self._virtual.create(call)
            return responses.json_response(orjson.dumps(answer), 201, call.warnings)
        verbs = {"create": writing.create, "update": writing.update, "patch": patching.patch}
        written = await verbs[call.verb](self._core, call)
        body = responses.entry_bytes(call.resource, written.entry, form, self._core.now())
        return responses.json_response(body, 201 if written.created else 200, call.warnings)

    async def _scale(self, call: Call, form: Form) -> web.Response:
        if call.verb == "get":
            scale = scaling.get_scale(self._core, call)
        else:
            scale = await scaling.write_scale(self._core, call)
        entry = Entry(scale, encode(scale), int(scale["metadata"]["resourceVersion"]), {})
        body = responses.entry_bytes(scaling.RESOURCE, entry, form, self._core.now())
        return responses.json_response(body, warnings=call.warnings)

    async def _delete(self, call: Call, form: Form) -> web.Response:
        if call.verb == "deletecollection":
            page, deleted = await deleting.delete_collection(self._core, call)
            shown = reading.Page(deleted, page.rv)
            body = responses.page_bytes(call.resource, shown, form, self._core.now())
            return responses.json_response(body, warnings=call.warnings)
        deletion = await deleting.delete(self._core, call)
        if deletion.gone and not _returns_object(call.resource):
            body = orjson.dumps(_gone(call, deletion.entry.uid))
        else:
            body = responses.entry_bytes(call.resource, deletion.entry, form, self._core.now())
        return responses.json_response(body, warnings=call.warnings)


def _gone(call: Call, uid: str) -> dict[str, object]:
    details = {"name": call.target.name, "kind": call.resource.plural, "uid": uid}
    if call.resource.group:
        details["group"] = call.resource.group
    return status.success(details)


def _returns_object(resource: Resource) -> bool:
    """Tell whether deleting answers the object; some old kinds do."""
    return resource.storage in (
        "pods",
        "services",
        "serviceaccounts",
        "limitranges",
        "resourcequotas",
    )


def _fits(target: Target, verb: str) -> bool:
    """Tell whether a verb is one of objects or of collections, as the path is."""
    return bool(target.name) == (verb in _NAMED)


def _method_not_allowed() -> status.StatusError:
    message = "the server does not allow this method on the requested resource"
    return status.failure(405, status.METHOD_NOT_ALLOWED, message, {})


async def read_body(request: web.BaseRequest) -> bytes:
    """Read at most what a real server reads."""
    length = request.content_length
    if length is not None and length > bodies.BODY_LIMIT:
        raise status.too_large(f"limit is {bodies.BODY_LIMIT}")
    body = await request.content.read(bodies.BODY_LIMIT + 1)
    while len(body) <= bodies.BODY_LIMIT:
        more = await request.content.read(bodies.BODY_LIMIT + 1 - len(body))
        if not more:
            return body
        body += more
    raise status.too_large(f"limit is {bodies.BODY_LIMIT}")


def not_found_page() -> web.Response:
    """Answer a path that leads nowhere, as a real server does: in plain text."""
    return web.Response(
        text="404 page not found\n", status=404, headers={"X-Content-Type-Options": "nosniff"}
    )
