"""Content negotiation and the encoding of responses."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, NamedTuple

import orjson
from aiohttp import web

from webhook.dev.apiserver.endpoints import tables
from webhook.dev.apiserver.registry import conversion
from webhook.dev.apiserver.registry.resources import Resource
from webhook.dev.apiserver.storage.entries import Entry
from webhook.dev.apiserver.verbs.reads import Page
from webhook.kube import status
from webhook.kube.meta import Draft
from webhook.kube.status import StatusError

_WARNINGS_LIMIT: Final = 4096
"""Characters of all warnings of a response."""
_WARNING_LIMIT: Final = 256
"""Characters of each warning, if all together exceed the limit."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
JSON: Final = "application/json"
YAML: Final = "application/yaml"
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
_REPRESENTATIONS: Final = (
    JSON, YAML, _PROTOBUF, f"{JSON};stream=watch", f"{_PROTOBUF};stream=watch",
)  # fmt: skip
"""The media types of kube-apiserver, listed in a 406."""
_WILD: Final = ("*/*", "application/*", "")


class OutputFormat(NamedTuple):
    """The negotiated format: plain objects, a Table, or metadata only."""

    shape: str = ""
    version: str = tables.META_VERSION
    include: str = ""
    media: str = JSON


def negotiate(accept: str, query_include: str) -> OutputFormat:
    """Return the first accepted format that is supported; raise a 406 if there is none."""
    if not accept or accept in (JSON, "*/*"):
        return OutputFormat(include=query_include)
    for offer in accept.split(","):
        media, *parameters = (part.strip() for part in offer.split(";"))
        if media not in (JSON, YAML) and media not in _WILD:
            continue
        options = dict(part.split("=", 1) for part in parameters if "=" in part)
        shape = options.get("as", "")
        version = f"{options.get('g', 'meta.k8s.io')}/{options.get('v', 'v1')}"
        if not shape or (
            shape in ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")
            and version in ("meta.k8s.io/v1", "meta.k8s.io/v1beta1")
        ):
            return OutputFormat(shape, version, query_include, YAML if media == YAML else JSON)
    raise status.not_acceptable(_REPRESENTATIONS)


def entry_bytes(resource: Resource, entry: Entry, output: OutputFormat, now: datetime) -> bytes:
    """Encode one object in the negotiated format."""
    if output.shape == "Table":
        page = Page([entry], entry.rv)
        return tables.table(resource, page, output.include, now, version=output.version)
    if output.shape == "PartialObjectMetadata":
        return tables.partial_metadata(entry.decode(), output.version)
    return conversion.to_version(resource, entry).as_version(resource.api_version_bytes)


def page_bytes(resource: Resource, page: Page, output: OutputFormat, now: datetime) -> bytes:
    """Encode a list in the negotiated format; plain items are the stored bytes, joined."""
    if output.shape == "Table":
        return tables.table(resource, page, output.include, now, version=output.version)
    metadata: Draft = {"resourceVersion": str(page.rv)}
    if page.token:
        metadata["continue"] = page.token
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    kind, version = resource.list_kind, resource.api_version
    items: Iterable[bytes]
    if output.shape.startswith("PartialObjectMetadata"):
        kind, version = "PartialObjectMetadataList", output.version
        items = (tables.partial_metadata(entry.decode(), version) for entry in page.entries)
    elif resource.is_custom:
        version_bytes = resource.api_version_bytes
        items = (
            conversion.to_version(resource, entry).as_version(version_bytes)
            for entry in page.entries
        )
    else:
        items = (
            conversion.to_version(resource, entry).without_type_meta() for entry in page.entries
        )
    header = orjson.dumps({"kind": kind, "apiVersion": version, "metadata": metadata})
    return header[:-1] + b',"items":[' + b",".join(items) + b"]}"


def warning_headers(warnings: Iterable[str]) -> list[tuple[str, str]]:
    """Return the Warning headers: each text once, truncated if they are too long together."""
    # A header cannot hold control characters; Kubernetes drops such warnings.
    texts = [text for text in dict.fromkeys(warnings) if text and not _CONTROL.search(text)]
    if sum(map(len, texts)) > _WARNINGS_LIMIT:
        texts = list(_truncate(texts))
    return [("Warning", f"299 - {_quote(text)}") for text in texts]


def _truncate(texts: Iterable[str]) -> Iterator[str]:
    written = 0
    for text in texts:
        if written >= _WARNINGS_LIMIT:
            return
        yield text[:_WARNING_LIMIT]
        written += min(len(text), _WARNING_LIMIT)


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def json_response(body: bytes, code: int = 200, warnings: Iterable[str] = ()) -> web.Response:
    """Return a JSON response."""
    response = web.Response(body=body, status=code, content_type=JSON)
    response.headers["Cache-Control"] = "no-cache, private"
    for name, value in warning_headers(warnings):
        response.headers.add(name, value)
    return response


def error_response(error: StatusError, warnings: Iterable[str] = ()) -> web.Response:
    """Return the response to an error."""
    response = json_response(orjson.dumps(error.status), error.code, warnings)
    retry = (error.status.get("details") or {}).get("retryAfterSeconds")
    if retry:
        response.headers["Retry-After"] = str(retry)
    return response
