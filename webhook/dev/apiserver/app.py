"""The routes of the server, and the responses to exceptions."""

import logging
from collections.abc import Awaitable, Callable
from typing import Final

import orjson
from aiohttp import web

from webhook.dev.apiserver.core import Core
from webhook.dev.apiserver.endpoints import discovery, openapi, responses
from webhook.dev.apiserver.endpoints.calls import User
from webhook.dev.apiserver.endpoints.handlers import Handlers, not_found_page
from webhook.dev.apiserver.storage.store import StorageError
from webhook.dev.apiserver.verbs.virtual import VirtualResources
from webhook.dev.apiserver.version import version
from webhook.kube import status

logger = logging.getLogger(__name__)

_TOO_DEEP: Final = "the object provided is nested too deeply for this API server"
"""The message for objects that decoders accept but that exceed this process's stack."""
_PROBES: Final = ("/livez", "/readyz", "/healthz")


class App:
    """Handles every HTTP request."""

    def __init__(
        self,
        core: Core,
        authorize: Callable[[web.BaseRequest], Awaitable[User]],
        virtual: VirtualResources,
    ) -> None:
        self._core = core
        self._handlers = Handlers(core, virtual)
        self._authorize = authorize
        self._documents: dict[str, tuple[int, bytes]] = {}

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Handle a request; exceptions become Status responses."""
        try:
            if request.path in _PROBES:
                return web.Response(text="ok")
            return await self._route(request, await self._authorize(request))
        except status.StatusError as error:
            return responses.error_response(error)
        except RecursionError:
            return responses.error_response(status.bad_request(_TOO_DEEP))
        except StorageError as error:
            return responses.error_response(status.internal_error(error))
        except Exception:  # a bug must not close the connection
            logger.exception("request failed", extra={"path": request.path})
            return responses.error_response(status.internal_error("see the server's log"))

    async def _route(self, request: web.BaseRequest, user: User) -> web.StreamResponse:
        path = request.path.rstrip("/")
        parts = path.split("/")[1:]
        if path == "/version":
            return responses.json_response(orjson.dumps(version()))
        if parts[:2] == ["openapi", "v3"]:
            return self._openapi(parts[2:])
        if path == "/openapi/v2":
            return web.Response(body=openapi.EMPTY_V2, content_type=openapi.V2_TYPE)
        if (parts[0] == "api" and len(parts) <= 2) or (parts[0] == "apis" and len(parts) <= 3):
            return self._discovery(request, parts)
        if parts[0] in ("api", "apis"):
            return await self._handlers.handle(request, user)
        return not_found_page()

    def _cached(self, key: str, make: Callable[[], bytes | None]) -> bytes | None:
        """Return a document that is cached until the registry changes."""
        generation = self._core.registry.generation
        cached = self._documents.get(key)
        if cached is not None and cached[0] == generation:
            return cached[1]
        document = make()
        if document is not None:
            self._documents[key] = (generation, document)
        return document

    def _openapi(self, parts: list[str]) -> web.Response:
        registry = self._core.registry
        if not parts:
            body = self._cached("openapi", lambda: orjson.dumps(openapi.index(registry)))
        else:
            group = parts[1] if parts[0] == "apis" and len(parts) == 3 else ""
            body = self._cached(
                "openapi/" + "/".join(parts),
                lambda: openapi.document(registry, group, parts[-1]),
            )
        return not_found_page() if body is None else responses.json_response(body)

    def _discovery(self, request: web.BaseRequest, parts: list[str]) -> web.Response:
        accept = request.headers.get("Accept", "")
        registry = self._core.registry
        aggregated = discovery.AGGREGATED in accept and len(parts) == 1
        wanted = "v2" if "v=v2;" in f"{accept};".replace(",", ";") else "v2beta1"
        key = f"{request.path}#{wanted if aggregated else ''}"

        def make() -> bytes | None:
            if aggregated:
                found: object = discovery.aggregated(registry, wanted, core=parts[0] == "api")
            elif parts == ["api"]:
                found = discovery.api_versions(request.host)
            elif parts == ["apis"]:
                found = discovery.group_list(registry)
            elif parts[0] == "apis" and len(parts) == 2:
                found = discovery.group(registry, parts[1])
            else:
                group = parts[1] if parts[0] == "apis" else ""
                found = discovery.resource_list(registry, group, parts[-1])
            return None if found is None else orjson.dumps(found)

        body = self._cached(key, make)
        if body is None:
            return not_found_page()
        response = responses.json_response(body)
        if aggregated:
            response.headers["Content-Type"] = (
                f"application/json;g={discovery.AGGREGATED};v={wanted};as=APIGroupDiscoveryList"
            )
        response.headers["Vary"] = "Accept"
        return response
