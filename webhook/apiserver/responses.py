"""Answers on the wire: which form a client accepts, and the bytes of it."""

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final, NamedTuple

import orjson
from aiohttp import web

from webhook.api import status
from webhook.api.status import StatusError
from webhook.apiserver import conversion, tables
from webhook.apiserver.entries import Entry
from webhook.apiserver.reading import Page
from webhook.apiserver.resources import Resource

#: In characters: what all warnings of an answer may hold, and what each is then cut to.
_WARNINGS_LIMIT: Final = 4096
_WARNING_LIMIT: Final = 256
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
JSON: Final = "application/json"
YAML: Final = "application/yaml"
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
#: What a real server offers; it is only named to those who want none of it.
_REPRESENTATIONS: Final = (
    JSON, YAML, _PROTOBUF, f"{JSON};stream=watch", f"{_PROTOBUF};stream=watch",
)  # fmt: skip
_WILD: Final = ("*/*", "application/*", "")


class Form(NamedTuple):
    """The shape of an answer: plain, a Table, or metadata only."""

    shape: str = ""
    version: str = tables.META_VERSION
    include: str = ""
    media: str = JSON


def negotiate(accept: str, query_include: str) -> Form:
    """Choose the first form that a client accepts and we can write."""
    if not accept or accept in (JSON, "*/*"):
        return Form(include=query_include)
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
            return Form(shape, version, query_include, YAML if media == YAML else JSON)
    raise status.not_acceptable(_REPRESENTATIONS)


def entry_bytes(resource: Resource, entry: Entry, form: Form, now: datetime) -> bytes:
    """Write one object in the form asked for."""
    if form.shape == "Table":
        page = Page([entry], entry.rv)
        return tables.table(resource, page, form.include, now, version=form.version)
    if form.shape == "PartialObjectMetadata":
        return tables.partial_metadata(entry.decode(), form.version)
    return conversion.shown(resource, entry).at(resource.api_version_bytes)


def page_bytes(resource: Resource, page: Page, form: Form, now: datetime) -> bytes:
    """Write a list in the form asked for; plain items are the stored bytes, joined."""
    if form.shape == "Table":
        return tables.table(resource, page, form.include, now, version=form.version)
    metadata: dict[str, Any] = {"resourceVersion": str(page.rv)}
    if page.token:
        metadata["continue"] = page.token
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    kind, version = resource.list_kind, resource.api_version
    items: Iterable[bytes]
    if form.shape.startswith("PartialObjectMetadata"):
        kind, version = "PartialObjectMetadataList", form.version
        items = (tables.partial_metadata(entry.decode(), version) for entry in page.entries)
    elif resource.is_custom:
        version_bytes = resource.api_version_bytes
        items = (conversion.shown(resource, entry).at(version_bytes) for entry in page.entries)
    else:
        items = (conversion.shown(resource, entry).untyped() for entry in page.entries)
    header = orjson.dumps({"kind": kind, "apiVersion": version, "metadata": metadata})
    return header[:-1] + b',"items":[' + b",".join(items) + b"]}"


def warning_headers(warnings: Iterable[str]) -> list[tuple[str, str]]:
    """Write warnings as HTTP headers: each once, and cut short where there are too many."""
    # A header cannot hold control characters; Kubernetes drops such warnings.
    texts = [text for text in dict.fromkeys(warnings) if text and not _CONTROL.search(text)]
    if sum(map(len, texts)) > _WARNINGS_LIMIT:
        texts = list(_cut(texts))
    return [("Warning", f"299 - {_quoted(text)}") for text in texts]


def _cut(texts: Iterable[str]) -> Iterator[str]:
    written = 0
    for text in texts:
        if written >= _WARNINGS_LIMIT:
            return
        yield text[:_WARNING_LIMIT]
        written += min(len(text), _WARNING_LIMIT)


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def json_response(body: bytes, code: int = 200, warnings: Iterable[str] = ()) -> web.Response:
    """Answer JSON."""
    response = web.Response(body=body, status=code, content_type=JSON)
    response.headers["Cache-Control"] = "no-cache, private"
    for name, value in warning_headers(warnings):
        response.headers.add(name, value)
    return response


def error_response(error: StatusError, warnings: Iterable[str] = ()) -> web.Response:
    """Answer a failure."""
    response = json_response(orjson.dumps(error.status), error.code, warnings)
    retry = (error.status.get("details") or {}).get("retryAfterSeconds")
    if retry:
        response.headers["Retry-After"] = str(retry)
    return response
