"""Server-side printing: objects and lists as Tables."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import orjson

from webhook.dev.apiserver import durations, jsonpath
from webhook.dev.apiserver.builtin.printing.table import printer_columns
from webhook.dev.apiserver.registry import conversion
from webhook.dev.apiserver.registry.resources import Column, Resource
from webhook.dev.apiserver.storage.entries import Entry
from webhook.dev.apiserver.verbs.reads import Page
from webhook.kube import gotext, jsontext
from webhook.kube.meta import Draft

_NAME: Final = Column(
    "Name",
    "string",
    "Name must be unique within a namespace. Is required when creating resources, although some "
    "resources may allow a client to request the generation of an appropriate name automatically. "
    "Name is primarily intended for creation idempotence and configuration definition. Cannot be "
    "updated. More info: "
    "https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
    format="name",
)
META_VERSION: Final = "meta.k8s.io/v1"


def columns_of(resource: Resource) -> tuple[Column, ...]:
    """Return the columns of a resource."""
    if resource.is_custom:
        return (_NAME, *resource.columns)
    return tuple(
        Column(heading.name, heading.type, format=heading.format, priority=int(heading.wide))
        for heading in printer_columns(resource.storage)
    )


def definitions(resource: Resource) -> list[Draft]:
    """Return the column definitions of a Table."""
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            # Empty for built-in kinds: kubectl never shows it.
            "description": column.description,
            "priority": column.priority,
        }
        for column in columns_of(resource)
    ]


def table(
    resource: Resource,
    page: Page,
    include: str,
    now: datetime,
    *,
    with_header: bool = True,
    version: str = META_VERSION,
) -> bytes:
    """Encode a list, or one object, as a Table."""
    metadata: Draft = {"resourceVersion": str(page.rv)}
    if page.token:
        metadata["continue"] = page.token
    if page.remaining is not None:
        metadata["remainingItemCount"] = page.remaining
    header = orjson.dumps(
        {
            "kind": "Table",
            "apiVersion": version,
            "metadata": metadata,
            "columnDefinitions": definitions(resource) if with_header else None,
        }
    )
    rows = b",".join(_rows(resource, page.entries, include, now))
    return header[:-1] + b',"rows":[' + rows + b"]}"


def _rows(
    resource: Resource, entries: Iterable[Entry], include: str, now: datetime
) -> Iterable[bytes]:
    for entry in entries:
        # Built-in kinds are printed from the stored version, whatever the requested one.
        obj = (conversion.to_version(resource, entry) if resource.is_custom else entry).decode()
        cells = orjson.dumps(_cells(resource, obj, now))
        yield (
            b'{"cells":' + cells + b',"object":' + _row_object(resource, entry, obj, include) + b"}"
        )


def _row_object(resource: Resource, entry: Entry, obj: Draft, include: str) -> bytes:
    if include == "None":
        return b"null"
    if include == "Object":
        return conversion.to_version(resource, entry).as_version(resource.api_version_bytes)
    return partial_metadata(obj)


def partial_metadata(obj: Draft, version: str = META_VERSION) -> bytes:
    """Encode an object as PartialObjectMetadata."""
    return jsontext.dumps(
        {"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": obj["metadata"]}
    )


def _cells(resource: Resource, obj: Draft, now: datetime) -> list[Any]:
    if not resource.is_custom:
        return [heading.cell(obj, now) for heading in printer_columns(resource.storage)]
    return [
        obj["metadata"].get("name", ""),
        *(_cell(column, obj, now) for column in resource.columns),
    ]


def _cell(column: Column, obj: Draft, now: datetime) -> Any:
    found = jsonpath.find(obj, column.json_path)
    if not found or found[0] is None:
        return None
    value = found[0]
    if column.type == "string":
        return _text(value)
    if column.type == "date":
        return durations.age(value, now) if isinstance(value, str) else None
    if column.type == "boolean":
        return value if isinstance(value, bool) else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return int(value) if column.type == "integer" else float(value)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return gotext.number(value)
    return gotext.to_json(value)
