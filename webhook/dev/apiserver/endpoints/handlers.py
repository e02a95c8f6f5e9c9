"""Handles requests for resources: parses them, runs the verb and encodes the result."""

from typing import Final

import orjson
from aiohttp import web

from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints import bodies, responses, watchstream
from webhook.dev.apiserver.endpoints.calls import Call, User
from webhook.dev.apiserver.endpoints.requestinfo import RequestInfo, parse_path, verb_of
from webhook.dev.apiserver.endpoints.responses import OutputFormat
from webhook.dev.apiserver.registry.resources import SCALE, Resource
from webhook.dev.apiserver.storage.entries import Entry, encode
from webhook.dev.apiserver.verbs import deletions, patches, reads, scale, writes
from webhook.dev.apiserver.verbs.virtual import VirtualResources, is_virtual
from webhook.kube import status
from webhook.kube.meta import Draft

_NAMED: Final = frozenset({"get", "update", "patch", "delete"})
_WRITES: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})


class Handlers:
    """Handles every request below /api and /apis that names a resource."""

    def __init__(self, core: Core, virtual: VirtualResources) -> None:
        self._core = core
        self._virtual = virtual

    async def handle(self, request: web.BaseRequest, user: User) -> web.StreamResponse:
        """Handle one request."""
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
            return await self._run(request, call)
        except status.StatusError as error:
            return responses.error_response(error, call.warnings)

    def _check_served(self, resource: Resource, target: RequestInfo, verb: str) -> None:
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

    async def _run(self, request: web.BaseRequest, call: Call) -> web.StreamResponse:
        output = responses.negotiate(
            request.headers.get("Accept", ""), call.query.get("includeObject", "")
        )
        if call.verb == "watch":
            return await watchstream.stream(self._core, call, output, request)
        if call.info.subresource == SCALE:
            return await self._scale(call, output)
        if call.verb in ("get", "list"):
            return self._read(call, output)
        if call.verb in ("delete", "deletecollection"):
            return await self._delete(call, output)
        return await self._write(call, output)

    def _read(self, call: Call, output: OutputFormat) -> web.Response:
        now = self._core.now()
        if call.verb == "get":
            entry = reads.get(self._core, call)
            body = responses.entry_bytes(call.resource, entry, output, now)
        else:
            page = reads.list_page(self._core, call)
            body = responses.page_bytes(call.resource, page, output, now)
        return responses.json_response(body, warnings=call.warnings)

    async def _write(self, call: Call, output: OutputFormat) -> web.Response:
        if is_virtual(call):
            result = await self._virtual.create(call)
            return responses.json_response(orjson.dumps(result), 201, call.warnings)
        verbs = {"create": writes.create, "update": writes.update, "patch": patches.patch}
        written = await verbs[call.verb](self._core, call)
        body = responses.entry_bytes(call.resource, written.entry, output, self._core.now())
        return responses.json_response(body, 201 if written.created else 200, call.warnings)

    async def _scale(self, call: Call, output: OutputFormat) -> web.Response:
        if call.verb == "get":
            found = scale.get_scale(self._core, call)
        else:
            found = await scale.write_scale(self._core, call)
        entry = Entry(found, encode(found), int(found["metadata"]["resourceVersion"]), {})
        body = responses.entry_bytes(scale.SCALE_RESOURCE, entry, output, self._core.now())
        return responses.json_response(body, warnings=call.warnings)

    async def _delete(self, call: Call, output: OutputFormat) -> web.Response:
        if call.verb == "deletecollection":
            page, deleted = await deletions.delete_collection(self._core, call)
            deleted_page = reads.Page(deleted, page.rv)
            body = responses.page_bytes(call.resource, deleted_page, output, self._core.now())
            return responses.json_response(body, warnings=call.warnings)
        deletion = await deletions.delete(self._core, call)
        if deletion.removed and not _returns_object(call.resource):
            body = orjson.dumps(_deleted_status(call, deletion.entry.uid))
        else:
            body = responses.entry_bytes(call.resource, deletion.entry, output, self._core.now())
        return responses.json_response(body, warnings=call.warnings)


def _deleted_status(call: Call, uid: str) -> Draft:
    details = {"name": call.info.name, "kind": call.resource.plural, "uid": uid}
    if call.resource.group:
        details["group"] = call.resource.group
    return status.success(details)


def _returns_object(resource: Resource) -> bool:
    """Return whether a deletion responds with the object instead of a Status."""
    return resource.storage in (
        "pods",
        "services",
        "serviceaccounts",
        "limitranges",
        "resourcequotas",
    )


def _fits(target: RequestInfo, verb: str) -> bool:
    """Return whether the verb fits the path: verbs of objects need a name, others have none."""
    return bool(target.name) == (verb in _NAMED)


def _method_not_allowed() -> status.StatusError:
    message = "the server does not allow this method on the requested resource"
    return status.failure(405, status.METHOD_NOT_ALLOWED, message, {})


async def read_body(request: web.BaseRequest) -> bytes:
    """Read the body, up to the limit of kube-apiserver."""
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
    """Return Kubernetes' plain-text response to an unknown path."""
    return web.Response(
        text="404 page not found\n", status=404, headers={"X-Content-Type-Options": "nosniff"}
    )
