"""Keep managedFields of what is written here: which endpoint, which schema, what it resets."""

import logging
from datetime import datetime
from functools import lru_cache
from typing import Any

from webhook.apiserver.builtin import encoding
from webhook.apiserver.builtin import schemas as builtin_schemas
from webhook.apiserver.builtin.generate import component
from webhook.apiserver.fieldownership import merging, schemas, sets, tracking
from webhook.apiserver.fieldownership.tracking import Application, Endpoint
from webhook.apiserver.meta import timestamp
from webhook.apiserver.registry import Registry
from webhook.apiserver.resources import STATUS, Resource

logger = logging.getLogger(__name__)

Object = dict[str, Any]


def endpoint(registry: Registry, resource: Resource, subresource: str = "") -> Endpoint:
    """Describe where an object is written."""

    def schema_of(api_version: str) -> Any:
        group, _, version = api_version.rpartition("/")
        found = registry.get(group, version, resource.plural)
        return None if found is None else raw_schema(found)

    reset = sets.of()
    if resource.has_status and subresource == "":
        reset = sets.of((STATUS,))
    elif subresource == STATUS:
        reset = _reset_by_status(resource)
    zero = {} if resource.builtin is None else encoding.zero(component(resource.builtin.model))
    return Endpoint(resource.api_version, resource.kind, schema_of, subresource, reset, zero)


def _reset_by_status(resource: Resource) -> Any:
    if resource.is_custom:
        return sets.of(("metadata",), ("spec",))
    return sets.of(("spec",))


@lru_cache(maxsize=512)
def raw_schema(resource: Resource) -> Any:
    """Return the schema by which fields are owned and merged."""
    if resource.builtin is not None:
        return builtin_schemas.expanded(component(resource.builtin.model))
    return schemas.of_custom_resource(dict(resource.raw_schema) or None)


def updated(where: Endpoint, live: Object, new: Object, manager: str, now: datetime) -> None:
    """Note what a plain write changes; what cannot be divided into fields, validation refuses."""
    if not _fits_versions(where, live, new):
        new["metadata"].pop("managedFields", None)
        return
    try:
        tracking.updated(where, live, new, manager, timestamp(now))
    except schemas.BadItemError as error:
        logger.debug("managed fields were not kept", extra={"error": str(error)})


def _fits_versions(where: Endpoint, live: Object, new: Object) -> bool:
    """Tell whether every version that somebody wrote in knows all fields.

    Kubernetes cannot compare objects in a version that lacks fields, and forgets all owners.
    """
    entries = live.get("metadata", {}).get("managedFields") or ()
    versions = {entry.get("apiVersion") for entry in entries} - {where.api_version}
    known = [schema for version in versions if (schema := where.schema_of(version)) is not None]
    return not any(
        merging.objections({**obj, "metadata": {}}, schema)
        for schema in known
        for obj in (live, new)
    )


def applied(
    where: Endpoint, live: Object, config: Object, manager: str, *, force: bool, now: datetime
) -> Object:
    """Merge a configuration into a live object."""
    return tracking.applied(where, live, Application(config, manager, force, timestamp(now)))
